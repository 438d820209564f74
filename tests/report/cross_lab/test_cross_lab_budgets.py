"""Answers under another budget: an arm of its own, in which every claim is tested anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.report.cross_lab.planted import HOW, MODELS, RUBRICS, Plan, judgements
from trace.report.compare.section import Section
from trace.report.cross_lab import budgets
from trace.report.cross_lab.family import reading
from trace.report.cross_lab.sections import sections
from trace.report.cross_lab.votes import MIN_VALID, gathered, majority
from trace.report.cross_lab.words import FIRST_BUDGET, ONLY_TRUNCATED
from trace.report.judgements import Judgement

WHERE = ("values_conflict", "steered")
LABEL = "asks_for_clarification"
PLAN = Plan(counts={WHERE: {LABEL: (0, 0, 0, 0, 0, 40)}})
"""Only opus asks back, and only where it is steered."""


def before(arm: str, *, asked_back: int, models: tuple[str, ...] = MODELS) -> list[Judgement]:
    """The same answers in another arm, of which opus asks back in so many of a hundred."""
    plan = replace(PLAN, counts={WHERE: {LABEL: (0, 0, 0, 0, 0, asked_back)}})
    return [replace(one, arm=arm) for one in judgements(plan) if one.respondent in models]


def shown(*more: Judgement) -> dict[str, Section]:
    return {one.name: one for one in sections([*judgements(PLAN), *more], RUBRICS, HOW)}


def test_a_claim_that_only_more_tokens_made_does_not_survive() -> None:
    of = shown(*before(FIRST_BUDGET, asked_back=1))
    (row,) = [r for r in of["cross_lab_robustness"].result["claims"] if r["labels"] == [LABEL]]
    assert row["first"] == ["opus"]
    assert row["failed"] == [FIRST_BUDGET]
    assert "1/100 against 0/500" in row["checks"][FIRST_BUDGET]["detail"]
    assert row["checks"][FIRST_BUDGET]["towards"] is True
    assert not row["survives"]
    assert ONLY_TRUNCATED in row["not_run"]
    header = of["cross_lab_robustness"].grids[0].header
    assert "First\nbudget" in header
    assert "Only\ncut" not in header


def test_a_claim_that_both_arms_bear_survives_them() -> None:
    of = shown(
        *before(FIRST_BUDGET, asked_back=39), *before(ONLY_TRUNCATED, asked_back=41)
    )  # fmt: skip
    (row,) = [r for r in of["cross_lab_robustness"].result["claims"] if r["labels"] == [LABEL]]
    assert (row["failed"], row["survives"]) == ([], True)
    found = of["cross_lab_budgets"].result
    assert list(found) == [FIRST_BUDGET, ONLY_TRUNCATED]
    shifts = {arm: one["shift"] for arm, one in found.items()}
    assert {arm: (s["model"], round(abs(s["value"]), 9)) for arm, s in shifts.items()} == {
        FIRST_BUDGET: ("opus", 0.01), ONLY_TRUNCATED: ("opus", 0.01),
    }  # fmt: skip
    assert {one["answers"] for one in found.values()} == {340 * 2 * 6}


def test_what_an_arm_lacks_keeps_its_label_and_is_named() -> None:
    of = shown(*before(FIRST_BUDGET, asked_back=1, models=("opus",)))
    found = of["cross_lab_budgets"].result[FIRST_BUDGET]
    assert found["without"] == [m for m in MODELS if m != "opus"]
    assert found["answers"] == 680
    assert abs(found["shift"]["value"]) == pytest.approx(0.39)
    assert 39 <= found["relabelled"] <= 41
    assert any("stand in" in note for note in of["cross_lab_budgets"].notes)
    (row,) = [r for r in of["cross_lab_robustness"].result["claims"] if r["labels"] == [LABEL]]
    assert row["failed"] == [FIRST_BUDGET]


def test_an_arm_adds_no_answer_that_the_main_arm_lacks() -> None:
    lines = [one for one in judgements(PLAN) if one.item != "values_conflict-003"]
    votes = gathered([*lines, *before(FIRST_BUDGET, asked_back=40)], RUBRICS)
    read = reading(votes, majority(votes).labels)
    other = budgets.readings(read, MIN_VALID)[FIRST_BUDGET]
    assert (other.n == read.n).all()
    assert np.array_equal(other.labels == -2, read.labels == -2)


def test_without_such_an_arm_a_reason_is_given() -> None:
    assert shown()["cross_lab_budgets"].reason == (
        "no judgement is of the arms first_budget and only_truncated"
    )
