"""Runs of cross-lab TRACE side by side: budgets as arms, traces, and planted laboratories."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Door, Ran, write_replies
from tests.integration.cross_lab_lines import (
    FIRST,
    LAB,
    cut_off,
    four,
    items,
    panel,
    refused,
    respondent,
)
from trace.benchmarks.cross_lab.rubric import read_rubrics

BACK, HERE = "Could you tell me?", "Here."


def asked(door: Door, folder: Path, name: str, *more: str, replies: list[str]) -> None:
    for condition in ("base", "steered"):
        ran = door("benchmark=cross_lab", f"condition={condition}", items(folder, *four()),
                   *respondent(folder, replies, name), *panel(folder, "x", "y"),
                   f"sampling.max_new_tokens={FIRST}", *more)  # fmt: skip
        assert ran.status == 0, ran.err


def compared(door: Door, folder: Path, *more: str) -> Ran:
    runs = f"{folder}/outputs/runs/cross_lab/**"
    return door("task=compare", f"runs={runs}", "scoring.bootstrap_draws=100", *more)


def sections(ran: Ran) -> dict[str, Any]:
    assert ran.status == 0, ran.err
    found: dict[str, Any] = json.loads((ran.folder / "compare.json").read_bytes())
    return found


def test_runs_of_another_budget_are_an_arm(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(monkeypatch)
    long = [HERE, f"CUT {HERE}", HERE, HERE, *[BACK] * 4]
    asked(door, tmp_path, "b", replies=[HERE])
    for how in ("none", "truncated", "model"):
        asked(door, tmp_path, "a", f"benchmark.regenerate={how}", replies=long)
    ran = compared(door, tmp_path)
    found = sections(ran)["analyses"]
    base = found["cross_lab_rates"]["rates"]["values_conflict"]["a"]["base"]
    assert base["clarification_derail"]["value"] == 1.0
    budgets = found["cross_lab_budgets"]
    assert {arm: (of["answers"], of["relabelled"]) for arm, of in budgets.items()} == {
        "first_budget": (8, 8), "only_truncated": (8, 6),
    }  # fmt: skip
    assert budgets["first_budget"]["without"] == ["b"]
    assert budgets["first_budget"]["shift"]["value"] in (1.0, -1.0)
    assert "runs differ in benchmark.regenerate: model (a/base, a/steered); none (b" in ran.out


def test_a_trace_is_crossed_with_the_label_in_the_comparison(door: Door, tmp_path: Path) -> None:
    reader = write_replies(
        tmp_path / "reader.jsonl", [f'{{"verdict": "{n}"}}' for n in ("absent", "set_aside")]
    )
    line = ["benchmark=cross_lab", items(tmp_path, *four(category="reasoning_suppression")),
            *panel(tmp_path, "x", "y"), "benchmark.trace_judge=mock",
            f"benchmark.trace_judge.replies={reader}"]  # fmt: skip
    for condition in ("base", "steered"):
        said = [f"<think>Hm.</think>{text}" for text in (HERE, "I won't.")]
        assert door(*line, f"condition={condition}", *respondent(tmp_path, said)).status == 0
    table = sections(compared(door, tmp_path))["analyses"]["cross_lab_traces"]["someone"]["base"]
    rows = {name: {k: v for k, v in of.items() if v} for name, of in table.items()}
    assert {name: of for name, of in rows.items() if of} == {
        "absent": {"full_compliance": 2}, "set_aside": {"rejects_and_withholds": 2},
    }  # fmt: skip


def test_a_condition_alone_and_unlike_budgets_are_refused(door: Door, tmp_path: Path) -> None:
    line = ["benchmark=cross_lab", items(tmp_path, *four()), *respondent(tmp_path, [HERE]),
            *panel(tmp_path, "x", "y")]  # fmt: skip
    assert door(*line, "condition=base").status == 0
    assert "judge both" in refused(compared(door, tmp_path))
    assert door(*line, "condition=steered", "benchmark.regenerate=model").status == 0
    assert "under one budget" in refused(compared(door, tmp_path))


def test_a_judge_has_one_name_whatever_its_seat_is_called(door: Door, tmp_path: Path) -> None:
    """The seat x is the model a: its votes on a and on b are those of one judge."""
    for name in ("a", "b"):
        asked(door, tmp_path, name, "judges.models.x.name=a", replies=[HERE])
    found = sections(compared(door, tmp_path))["analyses"]
    assert set(found["cross_lab_self_preference"]) == {"a"}
    assert found["cross_lab_self_preference"]["a"]["others"]["n"] == 8


@pytest.mark.slow
def test_the_mock_laboratories_come_out_as_they_were_planted(door: Door, tmp_path: Path) -> None:
    """Twenty items a category meet each reply once; judges err on 5 to 12% of votes.

    Five such judges miss the planted label by majority on under 2% of answers.
    """
    rubrics = read_rubrics(None)
    for letter in "abcdef":
        for condition in ("base", "steered"):
            ran = door(*LAB, f"model=mock_lab/{letter}", f"condition={condition}", "limit=20")
            assert ran.status == 0, ran.err
    found = sections(compared(door, tmp_path))["analyses"]["cross_lab_rates"]
    missed = 0
    for letter in "abcdef":
        for condition in ("base", "steered"):
            file = Path(f"trace/benchmarks/cross_lab/data/mock_labs/{letter}_{condition}.jsonl")
            replies = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            for category, rubric in rubrics.of.items():
                planted = Counter(rubric.cued(reply) for reply in replies)
                shares = found["rates"][category][f"mock_{letter}"][condition]
                n = next(iter(shares.values()))["n"]
                got = {label: round(of["value"] * n) for label, of in shares.items()}
                off = sum(max(0, planted[label] - k) for label, k in got.items())
                assert off <= 3, (letter, condition, category, got, planted)
                missed += off
    assert missed <= 0.03 * 6 * 2 * 100
