"""Every two models on every label: which differ, by how much, and by which test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import PALE, POINT, Drawing, blank, head, name_rows, round_ticks, ruled
from trace.report.compare.section import Section, missing
from trace.report.cross_lab.family import ALPHA, Reading, discordant
from trace.report.cross_lab.words import CONDITIONS, plain
from trace.report.entry import number
from trace.report.grid import Grid, decimal, percent, probability

NAME, TITLE = "cross_lab_pairs", "Which models differ"
LARGEST = 15
"""So many effects stand in the table; all are in the CSV."""

COLUMNS = [
    "category", "condition", "label", "first", "second", "first_k", "first_n", "second_k",
    "second_n", "h", "p", "q", "q_by", "first_only", "second_only", "p_mcnemar", "q_mcnemar",
    "reason",
]  # fmt: skip


def comparisons(read: Reading) -> list[dict[str, Json]]:
    """All tests of the family, each with `COLUMNS`, the smallest p first.

    `h` is Cohen's, the first model less the second, None with a `reason` where a side has no label
    (its p counts as 1 in the family, and is None here). Fisher's test takes the answers of two
    models as independent; they are to the same items, which McNemar's heeds.
    """
    same = discordant(read)
    found: list[dict[str, Json]] = []
    for at in np.ndindex(read.p.shape):
        cell, condition, pair = at
        a, b = read.pairs[pair]
        category, label = read.cells[cell]
        known = not np.isnan(read.h[at])
        tests = (read.h, read.p, read.q, read.by)
        h, p, q, by = (number(float(of[at])) if known else None for of in tests)
        values = [
            category, CONDITIONS[condition], label,
            read.votes.respondents[a], read.votes.respondents[b],
            *(int(of[cell, condition, m]) for m in (a, b) for of in (read.hits, read.n)),
            h, p, q, by,
            int(same.first_only[at]), int(same.second_only[at]),
            number(float(same.p[at])), number(float(same.q[at])),
            None if known else "a model has no label",
        ]  # fmt: skip
        found.append(dict(zip(COLUMNS, values, strict=True)))
    found.sort(key=lambda one: (one["p"] is None, one["p"] or 0.0, -abs(one["h"] or 0.0)))
    return found


def pairs(read: Reading) -> dict[str, Json]:
    """The family and how many of it are significant.

    Returns:
        `tests`, `significant` (test -> how many have q < .05: `fisher_bh`, `fisher_by`,
        `mcnemar_bh`), `cut_off` (the largest p that is), `largest` (the largest effects, |h|, the
        first one being of the model with the larger share) and `comparisons`; or a `reason`.
    """
    if not read.p.size:
        return {"reason": "there is one respondent, or no core category"}
    every = comparisons(read)
    names = {"fisher_bh": "q", "fisher_by": "q_by", "mcnemar_bh": "q_mcnemar"}
    beyond = {
        name: sum(one[key] is not None and one[key] < ALPHA for one in every)
        for name, key in names.items()
    }
    significant = [one["p"] for one in every if one["q"] is not None and one["q"] < ALPHA]
    largest = sorted((one for one in every if one["h"] is not None), key=lambda one: -abs(one["h"]))
    return {
        "tests": len(every),
        "significant": beyond,
        "cut_off": max(significant, default=None),
        "largest": [turned(one) for one in largest[:LARGEST]],
        "comparisons": every,
    }


def turned(one: Mapping[str, Json]) -> dict[str, Json]:
    """A comparison seen from the model with the larger share."""
    if one["h"] is None or one["h"] >= 0:
        return dict(one)
    other = {"first": "second", "second": "first"}

    def source(name: str) -> str:
        head, _, tail = name.partition("_")
        return other[head] + (f"_{tail}" if tail else "") if head in other else name

    return {name: one[source(name)] for name in one} | {"h": -one["h"]}


def section(read: Reading) -> Section:
    """The numbers significant and the largest effects in tables, all effects in a figure."""
    found = pairs(read)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    rows: list[list[Any]] = [COLUMNS, *([one[n] for n in COLUMNS] for one in found["comparisons"])]
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(_counts(found), _largest(found)),
        drawings=(
            Drawing(stem=NAME, draw=partial(figure, read.cells, found["comparisons"]), rows=rows),
        ),
    )


def _counts(found: Mapping[str, Any]) -> Grid:
    tests = found["tests"]
    grid = Grid(title=f"Tests of the family with q < {ALPHA:g}", header=["Test", "q < .05", "of"])
    grid.notes[""] = (
        "All pairs of models × labels of the core categories × conditions; a label that never "
        "occurs is among them. Fisher takes answers to the same items as independent; McNemar "
        "does not. Benjamini-Yekutieli holds whatever the dependence between tests."
    )
    titles = {
        "fisher_bh": "Fisher, Benjamini-Hochberg",
        "fisher_by": "Fisher, Benjamini-Yekutieli",
        "mcnemar_bh": "McNemar, Benjamini-Hochberg",
    }
    for name, title in titles.items():
        grid.rows.append([(title,), (str(found["significant"][name]),), (str(tests),)])
    return grid


def _largest(found: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="Largest differences",
        header=["Category, condition, label", "More", "Less", "h", "q", "McNemar\nq"],
    )
    grid.notes[""] = (
        "h is Cohen's. q is Fisher's p after Benjamini-Hochberg over the whole family, and "
        "McNemar's likewise."
    )
    for one in found["largest"]:
        sides = [
            (one[side], percent(one[f"{side}_k"] / one[f"{side}_n"]))
            for side in ("first", "second")
        ]
        where = (f"{plain(one['category'])}, {one['condition']}", plain(one["label"]))
        tests = [(probability(one[name]),) for name in ("q", "q_mcnemar")]
        grid.rows.append([where, *sides, (decimal(one["h"]),), *tests])
    return grid


def figure(cells: Sequence[tuple[str, str]], every: Sequence[Mapping[str, Any]]) -> Figure:
    """A panel a category and condition, a row a label, in it a point a pair at |h|."""
    rows: dict[str, list[str]] = {}
    for category, label in cells:
        rows.setdefault(category, []).append(label)
    tallest = max(map(len, rows.values()))
    picture = blank(7.8, 0.7 + len(rows) * (0.7 + 0.22 * tallest))
    parts = picture.subfigures(len(rows), 1, squeeze=False).ravel()
    farthest = max((abs(one["h"]) for one in every if one["h"] is not None), default=1.0)
    for part, (category, labels) in zip(parts, rows.items(), strict=True):
        part.suptitle(plain(category), fontsize=8, x=0.01, ha="left")
        for ax, condition in zip(
            part.subplots(1, len(CONDITIONS), sharey=True), CONDITIONS, strict=True
        ):
            of = [
                one
                for one in every
                if (one["category"], one["condition"]) == (category, condition)
                and one["h"] is not None
            ]
            for beyond, colour in ((False, PALE), (True, POINT)):
                shown = [one for one in of if (one["q"] < ALPHA) == beyond]
                if shown:  # what has no point has no place, and no layout comes of it
                    ax.plot(
                        [abs(one["h"]) for one in shown],
                        [labels.index(one["label"]) for one in shown],
                        "o", color=colour, markersize=4, markeredgecolor="none", clip_on=False,
                    )  # fmt: skip
            ax.set_xlim(0, 1.05 * farthest or 1.0)
            round_ticks(ax)
            ax.tick_params(labelsize=7)
            name_rows(ax, map(plain, labels))
            ax.set_title(condition, fontsize=7)
            ruled(ax, "x")
    head(picture, "Cohen's h of pairs of models; dark: q < .05 (Fisher, Benjamini-Hochberg)")
    return picture
