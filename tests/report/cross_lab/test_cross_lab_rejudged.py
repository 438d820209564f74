"""The arms judged again, held-out items, and items that lack something."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.cross_lab.planted import (
    HOW,
    RUBRICS,
    Plan,
    judgements,
    truth,
    votes,
)
from trace.report.cross_lab import rates, underspecified
from trace.report.cross_lab.context_field import context_field
from trace.report.cross_lab.family import Reading, reading
from trace.report.cross_lab.rereading import changes
from trace.report.cross_lab.sections import sections
from trace.report.cross_lab.votes import MIN_VALID, Votes, majority
from trace.report.cross_lab.words import CORE, FIELD_FREE, REPEAT


def main(of: Votes) -> Reading:
    return reading(of, majority(of).labels)


def test_labels_that_come_out_again_are_those_of_a_plain_count() -> None:
    of = votes(Plan(drawn=6, repeat=0.75, field_free=0.5))
    found = context_field(of, MIN_VALID)
    assert found["answers"] == 216
    assert found["balanced"]
    labels = [majority(of, arm).labels for arm in ("main", REPEAT, FIELD_FREE)]
    drawn = labels[1] != -2
    scored = drawn & (labels[1] >= 0) & (labels[2] >= 0)
    again, free = ((labels[i] == labels[0])[scored] for i in (1, 2))
    all_of = found["categories"]["all"]
    assert all_of[REPEAT]["value"] == pytest.approx(again.mean())
    assert all_of[FIELD_FREE]["value"] == pytest.approx(free.mean())
    assert all_of[REPEAT]["n_unscored"] == 216 - scored.sum()
    gap = all_of["gap"]
    assert gap["value"] == pytest.approx(again.mean() - free.mean())
    assert gap["second_only"] == (again & ~free).sum()
    assert gap["first_only"] == (free & ~again).sum()
    assert gap["p"] < 0.001
    kept = {name: of["gap"]["n"] for name, of in found["categories"].items()}
    assert sum(kept[name] for name in CORE) == kept["all"]
    single = found["judges"]["opus"]
    assert single[REPEAT]["value"] == pytest.approx(0.75, abs=0.12)
    assert single[FIELD_FREE]["value"] == pytest.approx(0.5, abs=0.12)
    assert single[REPEAT]["n"] == 180


def test_one_arm_alone_has_no_gap_and_none_has_a_reason() -> None:
    lines = [one for one in judgements(Plan(drawn=6)) if one.arm != FIELD_FREE]
    shown = {one.name: one for one in sections(lines, RUBRICS, HOW)}
    found = shown["cross_lab_context_field"].result["categories"]["all"]
    assert list(found) == [REPEAT]
    claims = shown["cross_lab_robustness"].result["claims"]
    assert {one["context_field"] for one in claims} == {None}
    assert all(FIELD_FREE in one["not_run"] for one in claims)
    without = {one.name: one for one in sections(judgements(Plan()), RUBRICS, HOW)}
    assert without["cross_lab_context_field"].reason is not None
    (note,) = without["cross_lab_robustness"].notes
    assert "Not run: repeat, field free, first budget, only truncated." in note


def test_an_unbalanced_sample_is_said() -> None:
    lines = judgements(Plan(drawn=6))
    first = next(one for one in lines if one.arm == REPEAT)
    part = [
        one
        for one in lines
        if one.arm == "main"
        or (one.item, one.respondent, one.condition)
        != (first.item, first.respondent, first.condition)
    ]
    section = {one.name: one for one in sections(part, RUBRICS, HOW)}["cross_lab_context_field"]
    assert section.result["answers"] == 215
    assert "not equally many" in section.notes[0]


def test_without_splits_nothing_is_held_out() -> None:
    lines = [
        replace(one, columns={"category": one.columns["category"]}) for one in judgements(Plan())
    ]
    shown = {one.name: one for one in sections(lines, RUBRICS, HOW)}
    assert shown["cross_lab_held_out"].reason is not None
    assert shown["cross_lab_underspecified"].reason is not None


def test_asking_back_is_counted_apart_where_something_is_missing() -> None:
    shown = {one.name: one for one in sections(judgements(Plan()), RUBRICS, HOW)}
    found = shown["cross_lab_underspecified"].result
    for title, wanted in (("underspecified", True), ("specified", False)):
        metric = found[title]["values_conflict"]["opus"]["base"]["asks_for_clarification"]
        labels = truth(Plan())["values_conflict", "base", "opus"]
        kept = [label for i, label in enumerate(labels) if (i % 5 < 2) == wanted]
        assert metric["n"] == len(kept)
        assert metric["value"] == pytest.approx(kept.count("asks_for_clarification") / len(kept))
    assert set(found["underspecified"]) == {"values_conflict"}


def test_orders_that_turn_are_named() -> None:
    label = "refuses_outright"
    first, second = (
        main(votes(Plan(counts={("values_conflict", "base"): {label: counts}})))
        for counts in ((20, 30, 5, 5, 5, 5), (30, 20, 5, 5, 5, 6))
    )
    turned = [one for one in changes(first, second)["reversals"] if one["label"] == label]
    assert [(one["condition"], one["models"]) for one in turned] == [
        ("base", ["deepseek", "gemini"])  # five against six is no opposite of five against five
    ]


def test_unscored_answers_are_counted_by_kind_of_item() -> None:
    of = votes(Plan(accuracy=0.5))
    section = underspecified.section(of, majority(of), MIN_VALID)
    whole = rates.unscored(of, majority(of))["values_conflict"]["opus"]["base"]["tied"]
    parts = []
    for grid in section.grids:
        (row,) = [row for row in grid.rows if row[0] == ("opus", "base")]
        tied = [line for line in row[-1] if "tied" in line]
        parts.append(int(tied[0].split()[0]) if tied else 0)
    assert len(parts) == 2
    assert sum(parts) == whole > 1
