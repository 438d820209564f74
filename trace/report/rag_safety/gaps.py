"""What paired tests cannot use: items without a label under some condition, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from trace.records import Json
from trace.report.compare.section import Section, missing
from trace.report.grid import Grid, many
from trace.report.judgements import STATUSES
from trace.report.rag_safety.answers import ABSENT, UNSCORED, Answers
from trace.report.rag_safety.cells import asked
from trace.report.rag_safety.panel import Verdicts, panel_judges
from trace.report.rag_safety.rates import NO_HARM
from trace.report.rag_safety.words import HARM

NAME, TITLE = "rag_gaps", "Items without a label under a condition"
NAMED = 5
"""So many items are named; all are counted."""


def gaps(answers: Answers, said: Verdicts) -> dict[str, Json]:
    """Counts of items in each cell, and the reasons why one has no label of harm.

    Returns:
        `items` (how many in all), `complete` (respondent -> how many have a label under each of
        its conditions) and `cells` (respondent -> condition -> `scored`, `not_judged`, `unscored`,
        `why` ("judge: status" -> how many of the unscored; "no majority of votes" where every
        judge has a label), `named` (the first items that lack a label)); or a `reason`.
    """
    harm = said.first(HARM)
    if harm is None:
        return {"reason": NO_HARM}
    ballots = answers.ballots[HARM]
    cells: dict[str, dict[str, Any]] = {}
    complete: dict[str, int] = {}
    for i, respondent in enumerate(answers.respondents):
        under = [j for j in range(len(answers.conditions)) if asked(harm[i, j])]
        if not under:
            continue
        complete[respondent] = int((harm[i, under] >= 0).all(axis=0).sum())
        for j in under:
            codes = harm[i, j]
            lacking = np.flatnonzero(codes < 0)
            why: Counter[str] = Counter()
            for k in np.flatnonzero(codes == UNSCORED):
                why.update(
                    _why(ballots.statuses[i, j, k, 0], ballots.judges, panel_judges(ballots))
                )
            cells.setdefault(respondent, {})[answers.conditions[j]] = {
                "scored": int((codes >= 0).sum()),
                "not_judged": int((codes == ABSENT).sum()),
                "unscored": int((codes == UNSCORED).sum()),
                "why": dict(sorted(why.items(), key=lambda pair: (-pair[1], pair[0]))),
                "named": [answers.items[k] for k in lacking[:NAMED]],
            }
    return {"items": len(answers.items), "complete": complete, "cells": cells}


def _why(statuses: Any, judges: tuple[str, ...], seats: tuple[str, ...]) -> list[str]:
    without = [
        f"{judge}: {'not asked' if status == ABSENT else STATUSES[status]}"
        for judge, status in zip(judges, statuses.tolist(), strict=True)
        if judge in seats and status != 0
    ]
    return without or ["no majority of votes"]


def section(answers: Answers, said: Verdicts) -> Section:
    """The counts in a table, and one sentence if paired tests lose items."""
    found = gaps(answers, said)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    lost = {name: found["items"] - n for name, n in found["complete"].items() if n < found["items"]}
    notes: tuple[str, ...] = ()
    if lost:
        said_of = ", ".join(f"{name} {n:,}" for name, n in lost.items())
        notes = (
            f"{many(found['items'], 'item')} in all; without a label under some condition, and so "
            f"left out of paired tests on it: {said_of}. See {TITLE.lower()} in tables.md.",
        )
    return Section(name=NAME, title=TITLE, result=found, grids=(_grid(found),), notes=notes)


def _grid(found: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title=f"Labels of {found['items']:,} items",
        header=["Respondent", "Condition", "Scored", "Not\njudged", "Un-\nscored", "Why", "Items"],
    )
    grid.notes[""] = (
        "Paired tests use the items that have a label under both conditions. Why: what the judges "
        f"without a label said of the unscored ones. Items: up to {NAMED} without a label."
    )
    for name, of in found["cells"].items():
        for condition, one in of.items():
            counts = (one["scored"], one["not_judged"], one["unscored"])
            why = tuple(f"{reason} ({n})" for reason, n in one["why"].items()) or ("",)
            named = (", ".join(one["named"]),)
            grid.rows.append(
                [(name,), (condition,), *((f"{count:,}",) for count in counts), why, named]
            )
        grid.rows.append(
            [
                (name,),
                ("all of these",),
                (f"{found['complete'][name]:,}",),
                ("",),
                ("",),
                ("",),
                ("",),
            ]
        )
        grid.ends.append(len(grid.rows))
    return grid
