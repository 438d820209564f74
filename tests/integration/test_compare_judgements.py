"""Judgements that were made elsewhere, compared through the door."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.conftest import Door
from tests.report.rag_safety.planted import Plan, lines

COMPARE = ["task=compare", "benchmark=rag_safety"]


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    path = tmp_path / "judgements.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines(Plan(items=30))), "utf-8")
    return path


def test_tables_figures_and_numbers_are_written(door: Door, judged: Path) -> None:
    ran = door(*COMPARE, f"judgements={judged}", "scoring.bootstrap_draws=100")
    assert ran.status == 0, ran.err
    assert "Answers called unsafe by the panel" in ran.out
    found = json.loads((ran.folder / "compare.json").read_bytes())
    assert found["analyses"]["rag_harm"]
    assert (ran.folder / "figures" / "rag_harm.png").is_file()
    manifest = json.loads((ran.folder / "manifest.json").read_bytes())
    assert len(manifest["compared"]["judgements"]) == 64


def test_another_rule_is_another_comparison(door: Door, judged: Path) -> None:
    given = [*COMPARE, f"judgements={judged}", "scoring.bootstrap_draws=100"]
    first = door(*given)
    other = door(*given, "judges=rag_safety", "judges.k=1", "judges.min_valid=1")
    assert other.status == 0, other.err
    assert first.folder != other.folder
    rates = [
        json.loads((ran.folder / "compare.json").read_bytes())["analyses"]["rag_harm"]
        for ran in (first, other)
    ]
    assert rates[0] != rates[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["judgements=nowhere.jsonl"], "judgements: nowhere.jsonl does not exist"),
        (["judgements={}", "runs=outputs/**"], "judgements: is given beside runs"),
        (["judgements={}", "task=evaluate"], "judgements: is not read by task=evaluate"),
        (["judgements={}", "benchmark=tracesafe"], "Use benchmark=rag_safety"),
        (["judgements={}", "task.check_judge=x"], "task.check_judge"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    door: Door, judged: Path, arguments: list[str], says: str
) -> None:
    given = [argument.format(judged) for argument in arguments]
    overridden = {argument.partition("=")[0] for argument in given}
    kept = [one for one in COMPARE if one.partition("=")[0] not in overridden]
    ran = door(*kept, *given)
    assert ran.status == 2
    assert says in ran.err


def test_a_broken_line_is_named(door: Door, judged: Path) -> None:
    judged.write_text(judged.read_text("utf-8") + '{"item": "q1"}\n', "utf-8")
    ran = door(*COMPARE, f"judgements={judged}")
    assert ran.status == 2
    assert f"{judged}" in ran.err
    assert "361" in ran.err or "line" in ran.err
