"""R2: does another condition put the respondents in another order?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from trace.records import Json
from trace.report.compare.judged import How
from trace.report.compare.section import Section, missing
from trace.report.entry import Metric
from trace.report.grid import Grid, many, percent
from trace.report.rag_safety.answers import Answers, Codes
from trace.report.rag_safety.cells import asked, ratio, share, spanned
from trace.report.rag_safety.contrast import BEYOND, Contrast, adjust, contrast, difference
from trace.report.rag_safety.labels import is_base
from trace.report.rag_safety.panel import Verdicts
from trace.report.rag_safety.rates import NO_HARM
from trace.report.rag_safety.words import HARM

NAME, TITLE = "rag_ranks", "Rank of respondents by condition (R2)"


def ranks(answers: Answers, said: Verdicts, how: How) -> dict[str, Json]:
    """The order of respondents under each condition, the least harmful first, and its reversals.

    Two respondents are compared on the items that both have a label for under that condition. A
    reversal is a pair whose difference has one sign under a condition and the other under another.
    It is `backed` if both differences have q < .05 (McNemar, all pairs and conditions one family).
    `change` is the second difference less the first, over the items with all four labels, the
    items resampled.

    Returns:
        `ranks` (condition -> respondent -> `rank`, `value`, `n`; equal shares share a rank),
        `pairs` (how many were compared under two conditions) and `reversals` (a list); or a
        `reason`.
    """
    harm = said.first(HARM)
    if harm is None:
        return {"reason": NO_HARM}
    if len(answers.respondents) < 2:
        return {"reason": "there is one respondent"}
    if not _bases(answers):
        return {"reason": "every condition is a variant, and those are not ranked"}
    gaps: dict[tuple[int, int], dict[int, Contrast]] = {}
    for c in _bases(answers):
        for a, b in combinations(range(len(answers.respondents)), 2):
            if asked(harm[a, c]) and asked(harm[b, c]):
                gaps.setdefault((a, b), {})[c] = contrast(harm[b, c], harm[a, c])
    adjust([one for of in gaps.values() for one in of.values()])
    compared = 0
    reversals: list[dict[str, Any]] = []
    for (a, b), of in gaps.items():
        for c, d in combinations(of, 2):
            if of[c]["value"] is None or of[d]["value"] is None:
                continue
            compared += 1
            if of[c]["value"] * of[d]["value"] < 0:
                reversals.append(
                    {
                        "respondents": [answers.respondents[a], answers.respondents[b]],
                        "conditions": [answers.conditions[c], answers.conditions[d]],
                        "differences": [of[c], of[d]],
                        "change": _change(harm[[a, b]][:, [c, d]], how),
                        "backed": all(one["q"] < BEYOND for one in (of[c], of[d])),
                    }
                )
    reversals.sort(key=lambda one: (not one["backed"], -abs(one["change"]["value"] or 0)))
    return {"ranks": _ranks(answers, harm), "pairs": compared, "reversals": reversals}


def _bases(answers: Answers) -> list[int]:
    """The places of the conditions; variants of one are not compared with others."""
    return [c for c, condition in enumerate(answers.conditions) if is_base(condition)]


def _ranks(answers: Answers, harm: Codes) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for c in _bases(answers):
        condition = answers.conditions[c]
        shares = {
            name: share(harm[i, c], [1])
            for i, name in enumerate(answers.respondents)
            if asked(harm[i, c])
        }
        if not shares:
            continue
        known = sorted((m["value"], name) for name, m in shares.items() if m["value"] is not None)
        values = [value for value, _ in known]
        found[condition] = {
            name: {"rank": values.index(value) + 1, "value": value, "n": shares[name]["n"]}
            for value, name in known
        }
    return found


def _change(codes: Codes, how: How) -> Metric:
    """How the difference of two respondents changes between two conditions; [2, 2, items]."""
    whole = codes[..., (codes >= 0).all(axis=(0, 1))] == 1
    gaps = whole[0].astype(int) - whole[1]
    moved = gaps[1] - gaps[0]
    return ratio(moved, np.ones_like(moved), how, reason="no item has all four labels")


def section(answers: Answers, said: Verdicts, how: How) -> Section:
    """The ranks, and every reversal with both differences."""
    found = ranks(answers, said, how)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    grids = [_rank_grid(answers.respondents, found["ranks"])]
    if found["reversals"]:
        grids.append(_reversal_grid(found["reversals"]))
    backed = sum(one["backed"] for one in found["reversals"])
    note = (
        f"{len(found['reversals'])} of {many(found['pairs'], 'comparison')} of two respondents "
        f"between two conditions reverse; in {backed} both differences are beyond chance."
    )
    return Section(name=NAME, title=TITLE, result=found, grids=tuple(grids), notes=(note,))


def _rank_grid(respondents: Sequence[str], ranked: Mapping[str, Any]) -> Grid:
    grid = Grid(title="Rank, the least harmful first", header=["Respondent", *ranked])
    grid.notes[""] = (
        "In brackets the percentage of answers called unsafe. Equal shares share a rank."
    )
    for name in respondents:
        cells = [
            f"{of[name]['rank']} ({percent(of[name]['value'])})" if name in of else "–"
            for of in ranked.values()
        ]
        grid.rows.append([(name,), *((cell,) for cell in cells)])
    return grid


def _reversal_grid(reversals: Sequence[Mapping[str, Any]]) -> Grid:
    grid = Grid(
        title="Reversals",
        header=["Respondents", "Conditions", "First", "Second", "Change"],
    )
    grid.notes[""] = (
        "Percentage points, the upper respondent less the lower, with Tango's 95% intervals; "
        "change over the questions with all four labels, resampled. q is over all pairs of "
        "respondents under all conditions, these and the others."
    )
    for one in reversals:
        change = one["change"]
        grid.rows.append(
            [
                tuple(one["respondents"]),
                tuple(one["conditions"]),
                *(difference(grid, gap) for gap in one["differences"]),
                (
                    grid.value(change, signed=True) + grid.missing_interval(change),
                    spanned(grid, change),
                ),
            ]
        )
    return grid
