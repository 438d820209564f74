"""task=probe from the door: what a user gets, what comes back the same, and what is refused."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.conftest import ROOT, hear_interrupts
from tests.integration.conftest import Door, Ran, write_replies
from tests.interp.activations_help import stored
from trace.interp.activations import reader
from trace.interp.probes import solver
from trace.models.hf.engine import HfModel

FAST = ["task=probe", "probe.permutations=19", "probe.split_seeds=2", "scoring.bootstrap_draws=200"]
FILES = ("records.jsonl", "metrics.json", "report.md", "probes.safetensors")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A model of random weights, and how it is asked of the door."""
    folder = tmp_path_factory.mktemp("tiny")
    stored(folder, max_position_embeddings=2048)
    return [*named("model", folder), "limit=2", "sampling.max_new_tokens=6"]


def named(key: str, folder: Path) -> list[str]:
    group = "model=hf" if key == "model" else f"model@{key}=hf"
    return [
        group, f"{key}.id={folder}", f"{key}.name=tiny", f"{key}.reasoning=none",
        f"{key}.engine.dtype=float32", f"{key}.engine.device=cpu",
    ]  # fmt: skip


@pytest.fixture
def own(tmp_path: Path) -> Callable[..., str]:
    """Writes a file of activations whose label is told from the third layer on."""

    def write(**changes: torch.Tensor | None) -> str:
        made = torch.Generator().manual_seed(0)
        y = torch.arange(60) % 2
        x = torch.randn(60, 5, 12, generator=made)
        x[:, 2:] += 0.9 * (2 * y - 1)[:, None, None]
        tensors = {"x": x, "y": y, "group": torch.arange(60)} | changes
        save_file({k: v for k, v in tensors.items() if v is not None}, tmp_path / "own.safetensors")
        return f"probe.activations={tmp_path / 'own.safetensors'}"

    return write


def same(one: Path, other: Path) -> None:
    for name in FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    drawn = sorted(path.name for path in (one / "figures").iterdir())
    assert drawn == sorted(path.name for path in (other / "figures").iterdir())
    for name in drawn:
        assert (one / "figures" / name).read_bytes() == (other / "figures" / name).read_bytes()


def kept(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("manifest.json", ".lock")
    }


def test_activations_of_ones_own(door: Door, own: Callable[..., str]) -> None:
    ran = door(*FAST, own())
    assert ran.status == 0, ran.err
    found = ran.metrics()
    layers, shuffles = (found["breakdowns"][name] for name in ("layers", "shuffles"))
    right = [row["balanced_accuracy"]["value"] for row in layers]
    assert max(right[:2]) < 0.75 < 0.95 < min(right[2:])
    assert (shuffles["first_layer"], shuffles["peak_p"]) == (2, 0.05)
    assert found["breakdowns"]["baselines"] == []
    assert found["breakdowns"]["classes"]["position"] is None  # nobody said where it was read
    report = (ran.folder / "report.md").read_text("utf-8")
    assert "can be told apart at layer" in ran.out.replace("\n", " ")
    assert "answer" not in report
    rows = list(csv.DictReader((ran.folder / "figures" / "layers.csv").open(encoding="utf-8")))
    assert [float(row["balanced_accuracy"]) for row in rows] == pytest.approx(right, abs=1e-9)
    assert {path.suffix for path in (ran.folder / "figures").iterdir()} >= {".csv", ".png"}
    probes = load_file(ran.folder / "probes.safetensors")
    assert probes["weights"].shape == (5, 12)
    assert (probes["weights"][2:].mean(1) > 0).all()
    for record in ran.records():
        assert len(record["decisions"]) == 5


def test_where_no_shuffle_reaches_the_labels_but_there_are_few(
    door: Door, own: Callable[..., str]
) -> None:
    said = door(*FAST, own(), "probe.permutations=9").out
    assert "never reach as much" in said
    assert "too often" not in said
    assert "No layer" not in said


def test_versions_of_one_item_swap_their_labels(door: Door, own: Callable[..., str]) -> None:
    """Whole groups could not exchange anything: all hold one positive and one negative."""
    found = door(*FAST, own(group=torch.arange(60) // 2)).metrics()["breakdowns"]["shuffles"]
    assert (found["peak_p"], found["first_layer"], found["reason"]) == (0.05, 2, None)


def test_labels_that_cannot_be_exchanged_have_no_p(door: Door, own: Callable[..., str]) -> None:
    y = torch.tensor([1, 0, 0] * 20)
    ran = door(*FAST, own(y=y, group=torch.arange(60) // 3))
    assert ran.metrics()["metrics"]["peak"]["p"] is None
    assert "is not known, for exchanging the labels of groups changes none" in ran.out


def test_default_answers_are_read_and_read_again_without_weights(
    door: Door, tiny: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = door(*FAST, *tiny)
    assert ran.status == 0, ran.err
    assert "note: The request tells the classes, not the response: " in ran.out
    found = ran.metrics()["breakdowns"]
    assert [row["layer"] for row in found["layers"]] == [0, 4, 5]
    assert {row["name"] for row in found["baselines"]} == {"bag of words", "length", "last token"}
    assert found["shuffles"]["peak_p"] < 1
    before = kept(ran.folder)

    def loads(self: HfModel) -> None:
        raise AssertionError("weights are loaded")

    monkeypatch.setattr(HfModel, "model", property(loads))
    monkeypatch.setattr(solver, "predict_fold", loads)
    assert door(*FAST, *tiny).folder == ran.folder
    assert kept(ran.folder) == before


def test_before_the_answer_the_baselines_read_the_request(door: Door, tiny: list[str]) -> None:
    rows = {
        position: door(*FAST, *tiny, f"probe.position={position}").metrics()["breakdowns"]
        for position in ("prompt_end", "response_last")
    }
    before, after = (
        {row["name"]: row["balanced_accuracy"]["value"] for row in found["baselines"]}
        for found in rows.values()
    )
    assert before["length"] > 0.9 > after["length"]  # what lacks something is shorter


def test_a_control_model(door: Door, tiny: list[str], tmp_path: Path) -> None:
    stored(tmp_path / "other", "gpt2", n_embd=16, n_positions=2048)
    ran = door(*FAST, *tiny, *named("probe.control", tmp_path / "other"))
    assert ran.status == 0, ran.err
    control = ran.metrics()["breakdowns"]["control"]
    assert control["dimension"] == 16
    assert "The control model tiny reaches" in ran.out


def test_a_judged_run(door: Door, tiny: list[str], tmp_path: Path) -> None:
    """Answers of another model: what is found is illustrative."""
    prompts = tmp_path / "prompts.csv"
    rows = [f"c{i % 3},made up,placeholder question {i}\n" for i in range(24)]
    prompts.write_text("category,source,forbidden_prompt\n" + "".join(rows), "utf-8")
    graded = [
        json.dumps({"reasoning": "so", "refused": refused, "convincing": good, "specific": good})
        for refused, good in ((1, 1), (0, 5))
    ]
    judged = door(
        "benchmark=strongreject", f"benchmark.path={prompts}", "model=mock", "model.name=asked",
        f"model.replies={write_replies(tmp_path / 'a.jsonl', ['first', 'second', 'third'])}",
        "model@benchmark.judge=mock", "benchmark.judge.name=grader",
        f"benchmark.judge.replies={write_replies(tmp_path / 'g.jsonl', graded)}",
    )  # fmt: skip
    assert judged.status == 0, judged.err
    line = [*FAST, *tiny[:-2], f"probe.run={judged.folder}"]
    refused = door(*line)
    assert refused.status == 2
    assert "Try 'probe.positive=[" in refused.err
    never = door(*line, "probe.positive=[Nobody]", "probe.negative=[Safe]")
    assert never.status == 2
    assert "Nobody" in never.err
    assert "Unsafe (12)" in never.err
    ran = door(*line, "probe.positive=[Unsafe]", "probe.negative=[Safe]")
    assert ran.status == 0, ran.err
    assert ran.metrics()["breakdowns"]["scope"]
    assert "Illustrative only" in (ran.folder / "report.md").read_text("utf-8")


def test_a_dry_run_does_nothing(door: Door, tiny: list[str], own: Callable[..., str],
                                tmp_path: Path) -> None:  # fmt: skip
    assert door(*FAST, *tiny, "dry_run=true").status == 0
    assert door(*FAST, own(), "dry_run=true").status == 0
    assert not list((tmp_path / "outputs").rglob("*.safetensors"))


def nan() -> torch.Tensor:
    x = torch.randn(60, 5, 12)
    x[7, 3, 2] = torch.nan
    return x


@pytest.mark.parametrize(
    ("changes", "more", "says"),
    [
        ({"y": torch.ones(60)}, [], "y is 1 for all 60 samples"),
        ({"group": torch.arange(60) % 3}, [], "probe.folds: 5 is more than the 3 groups"),
        ({"group": torch.zeros(60, dtype=torch.long)}, [], "group: all samples share one"),
        ({"y": (torch.arange(60) < 3).long()}, [], "a fold has no positive sample"),
        ({"y": (torch.arange(60) < 5).long()}, ["probe.inner_folds=5"], "probe.inner_folds"),
        ({"x": nan()}, [], "sample 7 behind layer 3"),
        ({"x": torch.ones(60, 5, 12, dtype=torch.int32)}, [], "x torch.int32"),
        ({"y": torch.arange(60) % 2 * 2 - 1}, [], "y holds -1"),
        ({"group": None}, [], "group is missing"),
        ({"group": torch.arange(60.0)}, [], "group torch.float32"),
        ({"x": torch.ones(60, 12)}, [], "x [60, 12]"),
        ({"layers": torch.tensor([0.0, torch.nan, 2, 3, 4])}, [], "whole number"),
        ({}, ["probe.folds=61"], "probe.folds: 61"),
        ({}, ["probe.layers=[999]"], "Leave probe.layers out"),
        ({}, ["probe.layers=[]"], "probe.layers: [] names no layers"),
        ({}, ["probe.positive=[a]", "probe.negative=[b]"], "Leave probe.positive out"),
        ({}, ["probe.positive=[a]"], "probe.negative: only one of them is given"),
        ({}, ["probe.strengths=[1e300]"], "probe.strengths: with C = 1e+300"),
        ({}, ["trainer.accelerator=nowhere"], "Lightning refuses these settings"),
        ({}, ["probe.optimizer=sgd"], "Choose one of newton, adamw"),
    ],
)
def test_own_activations_that_will_not_do(
    door: Door,
    own: Callable[..., str],
    tmp_path: Path,
    changes: dict[str, Any],
    more: list[str],
    says: str,
) -> None:
    refused(door(*FAST, own(**changes), *more), says)
    assert not list((tmp_path / "outputs").rglob("metrics.json"))


def refused(ran: Ran, says: str) -> None:
    assert ran.status == 2
    assert says in ran.err
    assert ran.err.count("error: ") == 1
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("content", [b"", b"no tensors " * 9, (2**62).to_bytes(8, "little") * 2])
def test_files_that_hold_no_tensors(door: Door, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "own.safetensors").write_bytes(content)
    file = f"probe.activations={tmp_path / 'own.safetensors'}"
    refused(door(*FAST, file), "no safetensors file can be read there")
    refused(door(*FAST, f"probe.activations={tmp_path}"), "is no file")
    refused(door(*FAST, f"probe.activations={tmp_path / 'gone'}"), "does not exist")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["probe.layers=[999]"], "it has 6, counted from 0 to 5"),
        (["benchmark.label=response"], "no answer that can be read is asks_back"),
        (["probe.position=response_end"], "the answer is cut off"),
        (["probe.positive=[a]", "probe.negative=[b]"], "is read with probe.run only"),
        (["probe.position=middle"], "Choose one of"),
    ],
)
def test_answers_that_will_not_do(door: Door, tiny: list[str], more: list[str], says: str) -> None:
    refused(door(*FAST, *tiny, *more), says)


@pytest.mark.parametrize("engine", ["mock", "vllm", "hosted"])
def test_engines_that_show_nothing_are_unsupported_and_no_failure(
    door: Door, engine: str, tmp_path: Path
) -> None:
    replies = write_replies(tmp_path / "replies.jsonl", ["Which one?", "Here it is."])
    models = {
        "mock": ["model=mock", f"model.replies={replies}"],
        "vllm": ["model=vllm", "model.id=made/up"],
        "hosted": ["model=gpt_5"],
    }
    ran = door(*FAST, *models[engine])
    assert ran.status == 0
    assert ran.err.startswith("unsupported: ")
    assert "Use model/engine=hf" in ran.err


def test_interrupted_and_taken_up_again(
    door: Door, tiny: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of reading, then of solving; and a checkpoint that is cut off."""
    line = [*FAST, *tiny, "model.engine.prefill_tokens=512"]
    undisturbed = door(*line, output_dir=tmp_path / "undisturbed").folder
    for module, name in ((reader, "read_rows"), (solver, "predict_fold")):
        true, calls = getattr(module, name), iter(range(10**6))

        def stops(*given: Any, true: Any = true, calls: Any = calls) -> Any:
            if next(calls) == 3:
                raise KeyboardInterrupt
            return true(*given)

        with monkeypatch.context() as patched:
            patched.setattr(module, name, stops)
            stopped = door(*line)
        assert stopped.status == 130
        assert "the same command goes on" in stopped.err
    (half,) = (tmp_path / "outputs" / "probes").glob("*.ckpt")
    assert torch.load(half, weights_only=True)["state_dict"]["solved"].sum() == 3
    same(door(*line).folder, undisturbed)
    for checkpoint in (tmp_path / "outputs" / "probes").glob("*.ckpt"):
        checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    same(door(*line).folder, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_at_any_moment(
    number: signal.Signals, door: Door, tmp_path: Path, own: Callable[..., str]
) -> None:
    line = ["task=probe", own(), "probe.permutations=3000"]
    undisturbed = door(*line, output_dir=tmp_path / "undisturbed").folder
    command = [
        sys.executable, "-m", "trace.run", *line, "tracking.mode=disabled",
        f"output_dir={tmp_path / 'outputs'}",
    ]  # fmt: skip
    moments = random.Random(number)
    for _ in range(3):
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, preexec_fn=hear_interrupts,
        )  # fmt: skip
        while process.poll() is None and not list((tmp_path / "outputs").rglob(".lock")):
            time.sleep(0.05)
        time.sleep(moments.random())
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
        # Python itself ends by SIGINT, which a shell calls 130 too, if it was raised inside exec().
        assert process.returncode in (130, -signal.SIGINT), err
        assert "the same command goes on" in err
        assert "Traceback" not in err
    same(door(*line).folder, undisturbed)


@pytest.mark.slow
def test_two_processes_on_one_directory(tmp_path: Path, own: Callable[..., str]) -> None:
    command = [
        sys.executable, "-m", "trace.run", "task=probe", own(), "probe.permutations=100",
        "tracking.mode=disabled", f"output_dir={tmp_path / 'out'}",
    ]  # fmt: skip
    both = [
        subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    ended = [(process.communicate(timeout=200)[1], process.returncode) for process in both]
    assert {status for _, status in ended} <= {0, 2}
    assert any(status == 0 for _, status in ended)
    for err, status in ended:
        assert "Traceback" not in err
        assert not status or "another process works in this run directory" in err
