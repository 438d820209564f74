"""Answers under another token budget in the place of those that were asked again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trace.records import Json
from trace.report.compare.section import Section, missing
from trace.report.cross_lab.family import Reading, reading
from trace.report.cross_lab.rereading import HEADER, changes, row
from trace.report.cross_lab.votes import majority
from trace.report.cross_lab.words import BUDGETS, FIRST_BUDGET, ONLY_TRUNCATED
from trace.report.grid import Grid
from trace.report.rag_safety.answers import ABSENT, Codes

NAME, TITLE = "cross_lab_budgets", "What asking again with more tokens does"
TITLES = {FIRST_BUDGET: "first budget", ONLY_TRUNCATED: "only those cut off asked again"}


def readings(read: Reading, min_valid: int) -> dict[str, Reading]:
    """Arm -> the analysis with its labels in the place of the main arm's, on the same answers.

    What an arm has nothing of keeps its label: of a model that was asked once, the first answers
    are those of the main arm.
    """
    found = {}
    for arm in BUDGETS:
        if read.votes.has(arm):
            labels = _labels(read, arm, min_valid)
            shared = (labels != ABSENT) & (read.labels != ABSENT)
            found[arm] = reading(read.votes, np.where(shared, labels, read.labels).astype(np.int8))
    return found


def _labels(read: Reading, arm: str, min_valid: int) -> Codes:
    return majority(read.votes, arm, min_valid=min_valid).labels


def section(read: Reading, budgets: Mapping[str, Reading], min_valid: int) -> Section:
    """A row an arm.

    `result` maps each arm to `changes` with `answers` (how many it has of those in the main arm),
    `relabelled` (how many of them have another label, or only one of the two has any) and
    `without` (models it has no answer of); or has a `reason`.
    """
    if not budgets:
        return missing(NAME, TITLE, f"no judgement is of the arms {' and '.join(BUDGETS)}")
    grid = Grid(
        title="The analysis under another budget",
        header=["Answers", *HEADER, "Other\nlabel", "Of"],
    )
    grid.notes[""] = (
        "Columns as for held-out items, the main arm being before. First budget: before any answer "
        "was asked again. To ask again only what was cut off selects on the outcome: it is no "
        "result, and shows how sensitive one is. Other label: answers that are labelled otherwise, "
        "in one of the arms only, or again by chance, as judges vote anew."
    )
    found: dict[str, Json] = {}
    notes = []
    for arm, other in budgets.items():
        labels = _labels(read, arm, min_valid)
        shared = (labels != ABSENT) & (read.labels != ABSENT)
        without = [
            name for m, name in enumerate(read.votes.respondents) if not shared[:, :, m].any()
        ]
        of: dict[str, Any] = changes(read, other) | {
            "answers": int(shared.sum()),
            "relabelled": int((shared & (labels != read.labels)).sum()),
            "without": without,
        }
        found[arm] = of
        grid.rows.append([*row(TITLES[arm], of), (str(of["relabelled"]),), (str(of["answers"]),)])
        if without:
            notes.append(
                f"{arm}: no answers of {', '.join(without)}; those of the main arm stand in."
            )
    return Section(name=NAME, title=TITLE, result=found, grids=(grid,), notes=tuple(notes))
