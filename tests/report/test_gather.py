from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from trace.errors import ConfigError, DataError
from trace.report.gather import find, gather
from trace.report.run_folder import read

Make = Callable[..., Path]


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def rewrite(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def edit(file: Path, **changes: Any) -> None:
    content = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(content | changes), "utf-8")


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a small run directory: two safe and two unsafe samples, one of them unscored."""

    def run(
        model: str = "judge",
        protocol: str = "schema",
        *,
        condition: str = "plain",
        parser: str = "strict",
        variant: str = "plain",
        epochs: int = 1,
        data: str = "abc",
        prompt: str = "p",
        samples: int = 4,
        task: str = "evaluate",
        benchmark: str = "tracesafe",
        answer: str = "generate",
        does: dict[str, Any] | None = None,
        sampling: dict[str, Any] | None = None,
        source: str | None = None,
        normalise: str = "sum",
    ) -> Path:
        made_of = (protocol, data, prompt, epochs, samples, parser, variant, answer, does, sampling)
        name = hashlib.sha256(repr((*made_of, source, normalise)).encode()).hexdigest()[:12]
        folder = tmp_path / "outputs" / "runs" / benchmark / model / condition / name
        folder.mkdir(parents=True)
        records, counts = [], [[0, 0, 0], [0, 0, 0]]
        for i in range(samples):
            unsafe = i % 2
            for epoch in range(epochs):
                ok = i != 3
                counts[unsafe][0 if ok else 2] += 1
                verdict = {"status": "ok" if ok else "unparsable", "label": "Safe" if ok else None}
                records.append(
                    {
                        "id": f"s{i}",
                        "gold": {
                            "label": "unsafe" if unsafe else "safe",
                            "domain": "PrivacyLeakage" if unsafe else "Benign",
                            "class": "DataLeak" if unsafe else "Benign",
                        },
                        "epoch": epoch,
                        "verdict": verdict | {"score": None, "evidence": None, "rationale": None},
                        "completion": {"key": f"{model}{i}{epoch}", "text": "Safe"},
                        "sample": {"cluster": f"c{i}", "class_number": 5 * unsafe},
                    }
                )
        rewrite(folder / "records.jsonl", records)
        config = {
            "task": {"name": task},
            "benchmark": {"name": benchmark, "view": "clean"},
            "condition": {"name": condition} | (does or {}),
            "protocol": {
                "name": protocol,
                "answers": "binary",
                "answer": answer,
                "normalise": normalise,
                "variant": variant,
            },
            "model": {"name": model, "kind": "general", "family": "F", "parameters": 1.0},
            "sampling": {"temperature": 0.0, "top_p": 1.0, "max_new_tokens": 1024, "seed": 42}
            | (sampling or {}),
            "scoring": {"parser": parser},
            "epochs": epochs,
        }
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        run_id = hashlib.sha256(str(folder).encode()).hexdigest()
        manifest = {"run": run_id, "data": {"f": data}, "prompt": prompt, "ended": "now"}
        manifest["model"] = {"source": source}
        (folder / "manifest.json").write_text(json.dumps(manifest))
        shown = {"labels": ["Safe", "Unsafe"], "counts": counts}
        metrics = {"metrics": {}, "breakdowns": {"confusion": shown}}
        (folder / "metrics.json").write_text(json.dumps(metrics))
        return folder

    return run


def everything(tmp_path: Path) -> str:
    return f"{tmp_path}/outputs/runs/**"


def test_a_run_is_read_back(make: Make) -> None:
    run = read(make("judge", epochs=2))
    assert run is not None
    assert (run.model, run.protocol, run.negative, run.family) == ("judge", "schema", "Safe", "F")
    assert len(run.observations) == 8
    assert [o.id for o in run.once] == ["s0", "s1", "s2", "s3"]
    safe, missed, _, unscored = run.once
    assert (safe.gold, safe.right, missed.gold, missed.right) == ("Safe", True, "Unsafe", False)
    assert not unscored.scored
    assert not unscored.right
    assert run.name == "judge"


def test_globs_find_finished_runs_and_name_the_others(make: Make, tmp_path: Path) -> None:
    done, other = make("a"), make("b")
    going_on, torn, older = make("c"), make("d"), make("d2")
    shutil.rmtree(going_on)
    going_on.mkdir()
    (going_on / ".lock").touch()
    (torn / "records.jsonl").unlink()
    edit(older / "manifest.json", ended=None)
    make("e", task="probe")
    built = tmp_path / "outputs/runs/tracesafe/build/abc"
    built.mkdir(parents=True)
    shutil.copy(done / "manifest.json", built)
    (built / "dataset.jsonl").touch()
    gathered = gather(everything(tmp_path))
    assert [run.path for run in gathered.runs] == [done, other]
    assert gathered.unfinished == (going_on, torn, older)
    assert [note for note in gathered.notes if "not finished" in note and str(torn) in note]
    assert find(f"{done} {other.parent}/*") == [done, other]
    spaced = tmp_path / "a folder"
    shutil.copytree(done, spaced / "run")
    assert find(f"'{spaced}/*'") == [spaced / "run"]


def test_nothing_matches(make: Make, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no finished run matches") as caught:
        gather(f"{tmp_path}/outputs/runs/**")
    assert "holds no folder" in str(caught.value)
    folder = make("judge")
    with pytest.raises(DataError, match="tracesafe"):
        gather(f"{tmp_path}/outputs/runs/evidence/**")
    edit(folder / "manifest.json", ended=None)
    with pytest.raises(DataError, match="1 match, but are not finished"):
        gather(everything(tmp_path))
    with pytest.raises(ConfigError, match="quotation"):
        gather("'outputs")
    with pytest.raises(ConfigError, match="is empty"):
        gather("  ")


def twice(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*rows, rows[0]]


def without_one(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return rows[:-1]


def another_answer(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows[0]["verdict"]["label"] = "Unsafe"
    return rows


def strange_label(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows[0]["verdict"]["label"] = "Perhaps"
    return rows


def unscored_with_label(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows[-1]["verdict"]["label"] = "Safe"
    return rows


def no_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    del rows[0]["id"]
    return rows


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (twice, "s0 stand twice in one epoch"),
        (without_one, "do not agree|lack one of 2 epochs"),
        (another_answer, "do not agree"),
        (strange_label, "Perhaps are no labels"),
        (unscored_with_label, "another version"),
        (no_id, "another version"),
        (lambda _: [], "empty"),
    ],
)
@pytest.mark.parametrize("epochs", [1, 2])
def test_damaged_records_are_refused(
    make: Make, tmp_path: Path, damage: Any, problem: str, epochs: int
) -> None:
    folder = make("judge", epochs=epochs)
    rewrite(folder / "records.jsonl", damage(lines(folder / "records.jsonl")))
    with pytest.raises(DataError, match=problem) as caught:
        gather(everything(tmp_path))
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("name", ["config.yaml", "manifest.json", "metrics.json"])
@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_damaged_files_are_refused(make: Make, tmp_path: Path, name: str, content: str) -> None:
    folder = make("judge")
    (folder / name).write_text(content)
    with pytest.raises(DataError, match="judge"):
        gather(everything(tmp_path))


@pytest.mark.parametrize(
    ("other", "problem", "sides", "mark"),
    [
        ({"data": "xyz"}, "differ in their data", ("f (abc)", "f (xyz)"), "other data"),
        ({"prompt": "q"}, "differ in their prompt under schema", ("p", "q"), "other prompt"),
        ({"samples": 2}, "differ in their samples under schema",
         ("4 samples, 2 of them everywhere,", "2 samples, 2 of them everywhere,"),
         "other samples"),
        ({"benchmark": "evidence"}, "differ in their benchmark", ("tracesafe", "evidence"),
         "other benchmark"),
        ({"sampling": {"temperature": 1.0}}, "sampling under schema",
         ('"temperature":0.0}', '"top_p":1.0}'), "other sampling"),
        ({"sampling": {"max_new_tokens": 5}}, "sampling under schema",
         ('{"max_new_tokens":1024,"temperature":0.0}', '{"max_new_tokens":5,"temperature":0.0}'),
         "other sampling"),
    ],
)  # fmt: skip
def test_runs_that_are_not_comparable(
    make: Make,
    tmp_path: Path,
    other: dict[str, Any],
    problem: str,
    sides: tuple[str, str],
    mark: str,
) -> None:
    same = [make("a"), make("b")]
    strange = make("c", **other)
    with pytest.raises(DataError, match=problem) as caught:
        gather(everything(tmp_path))
    for side, path in zip(sides, (same[0], strange), strict=True):
        assert f"{side} in {path}" in str(caught.value)
    assert str(same[1]) in str(caught.value)
    gathered = gather(everything(tmp_path), mixed=True)
    assert {run.path: run.marks for run in gathered.runs} == {
        same[0]: (), same[1]: (), strange: (mark,)
    }  # fmt: skip
    assert any(problem in note for note in gathered.notes)


def test_what_is_comparable(make: Make, tmp_path: Path) -> None:
    """Another protocol has another prompt; another condition has other samples, too."""
    make("a")
    make("a", protocol="binary", prompt="q")
    make("a", condition="needle_6k", prompt="r", samples=2)
    make("a", parser="released")
    make("a", variant="reversed", prompt="s")
    make("a", condition="needle_6k", variant="reversed", prompt="t", samples=2)
    gathered = gather(everything(tmp_path))
    names = {(run.protocol, run.name) for run in gathered.runs}
    assert names == {
        ("schema", "a"), ("binary", "a"), ("schema", "a (needle_6k)"),
        ("schema", "a (released parser)"), ("schema", "a (reversed)"),
        ("schema", "a (needle_6k, reversed)"),
    }  # fmt: skip
    one_way = {run.name for run in gathered.runs if run.name_without_wording == "a (needle_6k)"}
    assert one_way == {"a (needle_6k)", "a (needle_6k, reversed)"}
    assert gathered.notes == ()


def test_one_judge_twice_under_a_protocol(make: Make, tmp_path: Path) -> None:
    make("a")
    make("a", epochs=2)
    with pytest.raises(DataError, match=r"a stands 2 times under schema.*model\.name=NAME"):
        gather(everything(tmp_path))
    names = [run.name for run in gather(everything(tmp_path), mixed=True).runs]
    assert len(set(names)) == 2
    assert all("#" in name for name in names)


def test_what_the_sampling_does_not_change(make: Make, tmp_path: Path) -> None:
    """Greedy tokens have no seed, and where labels are scored nothing is written."""
    make("a")
    make("b", sampling={"top_p": 0.5, "seed": 1})
    make("a", answer="score")
    make("b", answer="score", sampling={"temperature": 1.0, "max_new_tokens": 5})
    make("c", normalise="mean")
    assert gather(everything(tmp_path)).notes == ()
    make("c", answer="score", normalise="mean")
    with pytest.raises(DataError, match="differ in their normalise under schema"):
        gather(everything(tmp_path))


def test_a_condition_is_named_by_what_it_does(make: Make, tmp_path: Path) -> None:
    """Neither a plain one that is not, nor two that share a name, stand with the others."""
    make("a")
    make("a", does={"tokens": 6000})
    make("a", does={"examples": 2, "reason_first": True})
    gathered = gather(everything(tmp_path))
    assert {run.name for run in gathered.runs} == {
        "a", "a (6000 tokens)", "a (reason_first, 2 examples)"
    }  # fmt: skip
    assert gathered.notes == ()
    make("a", condition="needle", does={"tokens": 6000})
    make("b", condition="needle", does={"tokens": 9000})
    with pytest.raises(DataError, match=r"condition under schema \(needle\)"):
        gather(everything(tmp_path))


def test_two_models_of_one_name(make: Make, tmp_path: Path) -> None:
    make("hf", source="x/small")
    make("hf", "binary", source="x/large")
    with pytest.raises(DataError, match=r"weights under the name hf.*model\.name=NAME"):
        gather(everything(tmp_path))


def test_other_data_of_a_model_is_no_second_run(make: Make, tmp_path: Path) -> None:
    make("a")
    make("b")
    make("a", data="xyz")
    runs = gather(everything(tmp_path), mixed=True).runs
    assert {run.name for run in runs} == {"a", "b", "a (other data)"}
