"""Guards through the door on the bundled triples, then the comparison: it recovers their words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import f1_score

from trace import config
from trace.benchmarks.evidence.samples import load
from trace.benchmarks.evidence.triple import COMPONENTS
from trace.run import main

pytestmark = pytest.mark.slow

CONDITIONS = dict(zip(("prompt", "trace", "response"), COMPONENTS, strict=True))


def command(folder: Path, *arguments: str) -> int:
    return main([*arguments, f"output_dir={folder}", "tracking.mode=disabled",
                 "scoring.bootstrap_draws=100"])  # fmt: skip


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two guards of planted rates, and a model that quotes the gold evidence word for word."""
    folder = tmp_path_factory.mktemp("evidence")
    for condition, part in CONDITIONS.items():
        asked = ("benchmark=evidence", f"condition={condition}", "model=mock")
        for name, rate in (("good", 0.95), ("poor", 0.6)):
            assert command(
                folder, *asked, f"model.name={name}", "model.kind=guard", "model.base=Qwen3-8B",
                "model.parameters=8.2", f"model.rates={{default: {rate}}}",
                "model.trained_on=2.80 million",
            ) == 0  # fmt: skip
        replies = folder / f"{condition}.jsonl"
        samples = load(config.Evidence(), part=part, limit=None, seed=0).samples
        said = [
            {"verdict": "Unsafe", "evidence": s.meta["evidence"]}
            if s.gold.label == "unsafe" else {"verdict": "Safe", "evidence": []}
            for s in samples
        ]  # fmt: skip
        lines = (json.dumps(json.dumps(one, ensure_ascii=False)) for one in said)
        replies.write_text("\n".join(lines) + "\n", "utf-8")
        assert command(
            folder, *asked, "protocol=evidence", "model.name=quoter", f"model.replies={replies}"
        ) == 0  # fmt: skip
    return folder


def compared(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[Path, str]:
    capsys.readouterr()
    assert command(folder, "task=compare", f"runs={folder}/runs/evidence/**", *more) == 0
    out = capsys.readouterr().out
    return Path(out.rstrip().splitlines()[-1].removeprefix("run: ")), out


def test_the_tables_are_those_of_the_records(
    outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = compared(outputs, capsys)
    written: dict[str, Any] = json.loads((folder / "compare.json").read_text("utf-8"))
    analyses = written["analyses"]
    assert all(name.startswith("evidence_") for name in analyses)
    assert len(written["runs"]) == 9
    assert {run["component"] for run in written["runs"]} == set(CONDITIONS)
    for records in (outputs / "runs/evidence").glob("*/*/*/records.jsonl"):
        lines = [json.loads(line) for line in records.read_text("utf-8").splitlines()]
        name, condition = records.parts[-4], records.parts[-3]
        expected = f1_score(
            [line["gold"]["label"] == "unsafe" for line in lines],
            [line["verdict"]["label"] == "Unsafe" for line in lines],
        )
        row = analyses["evidence_safety"]["components"][condition][name]
        assert row["f1"]["value"] == pytest.approx(expected)
        wrote = json.loads((records.parent / "metrics.json").read_text("utf-8"))["metrics"]
        assert row["f1"] == wrote["f1"]
    attribution = analyses["evidence_attribution"]["components"]
    for condition in CONDITIONS:
        assert list(attribution[condition]) == ["quoter"]
        assert attribution[condition]["quoter"]["token_f1"]["value"] == pytest.approx(1)
        assert attribution[condition]["quoter"]["invented_quotes"]["value"] == 0
    assert analyses["evidence_guards"]["quoter"]["explains"] is True
    assert analyses["evidence_guards"]["good"]["base"] == "Qwen3-8B"
    assert analyses["evidence_cases"]["quoter"]["missed"]["fitting"] == 0
    assert "stands 3 times" not in out
    assert "protocol:" not in out
    pictures = {path.with_suffix(".csv") for path in folder.rglob("*.png")}
    assert pictures
    assert all(path.is_file() for path in pictures)


def test_settings_of_other_studies_are_refused(
    outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    runs = f"runs={outputs}/runs/evidence/**"
    assert command(outputs, "task=compare", runs, "task.check_judge=good") == 2
    assert "task.check_judge: plays no part in the evidence study" in capsys.readouterr().err


def test_one_component_alone_says_what_it_lacks(
    outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    runs = f"runs={outputs}/runs/evidence/*/prompt/**"
    assert command(outputs, "task=compare", runs) == 0
    out = capsys.readouterr().out
    assert "no guard was run on two components" in out
    assert "no run on trace or response" in out
