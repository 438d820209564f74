"""R2: how harm changes from no retrieval to the oracle document, by subcategory and family."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from trace.records import Json
from trace.report.canvas import INK, POINT, Drawing, blank, head, name_rows, panels, ruled
from trace.report.compare.judged import How
from trace.report.compare.section import Section, missing
from trace.report.entry import Metric
from trace.report.grid import Grid
from trace.report.rag_safety.answers import Answers, Codes
from trace.report.rag_safety.cells import asked, ratio, spanned
from trace.report.rag_safety.conditions import change_ticks, farthest
from trace.report.rag_safety.contrast import (
    FIELDS_TESTED,
    Contrast,
    adjust,
    contrast,
    difference,
    tested,
)
from trace.report.rag_safety.panel import Verdicts
from trace.report.rag_safety.rates import NO_HARM
from trace.report.rag_safety.words import FAMILY, HARM, NON_RAG, ORACLE, SUBCATEGORY

NAME, TITLE = "rag_changes", "From no retrieval to the oracle document, by topic (Figures 6 to 10)"
FIRST, SECOND = NON_RAG, ORACLE
POOLED = "all respondents"


def changes(answers: Answers, said: Verdicts, how: How) -> dict[str, Json]:
    """The change of each respondent in each group of items, and the mean over respondents.

    The tests of one column are one family. The mean is over items of the mean over the respondents
    with both labels; items are resampled, with all of their answers.

    Returns:
        Column (subcategory, family) -> group -> respondent -> contrast, and `POOLED` -> metric;
        or a `reason`.
    """
    harm = said.first(HARM)
    if harm is None:
        return {"reason": NO_HARM}
    if lacking := [name for name in (FIRST, SECOND) if name not in answers.conditions]:
        return {"reason": f"no answer under {' or '.join(lacking)}"}
    first, second = (harm[:, answers.conditions.index(name)] for name in (FIRST, SECOND))
    if not any(asked(a) and asked(b) for a, b in zip(first, second, strict=True)):
        return {"reason": f"no respondent was judged under both {FIRST} and {SECOND}"}
    found: dict[str, Json] = {}
    for column in (SUBCATEGORY, FAMILY):
        groups = groups_of(answers, column)
        if not groups:
            continue
        rows: dict[str, dict[str, Any]] = {}
        for group, members in groups.items():
            rows[group] = {
                name: contrast(first[i, members], second[i, members])
                for i, name in enumerate(answers.respondents)
                if asked(first[i]) and asked(second[i])
            }
        adjust([one for of in rows.values() for one in of.values()])
        for group, members in groups.items():
            rows[group][POOLED] = _pooled(first[:, members], second[:, members], how)
        found[column] = rows
    return found or {"reason": f"no item has the column {SUBCATEGORY} or {FAMILY}"}


def groups_of(answers: Answers, column: str) -> dict[str, NDArray[np.intp]]:
    """Group -> the places of its items; those without a value are in none."""
    members: dict[str, list[int]] = {}
    for i, value in enumerate(answers.columns.get(column, ())):
        if value is not None:
            members.setdefault(str(value), []).append(i)
    return {name: np.array(members[name], dtype=np.intp) for name in sorted(members)}


def _pooled(first: Codes, second: Codes, how: How) -> Metric:
    """The mean change over items; [respondents, items]."""
    both = (first >= 0) & (second >= 0)
    answered = both.sum(axis=0)
    moved = np.where(both, second.astype(int) - first, 0).sum(axis=0)
    kept = answered > 0
    means = moved[kept] / answered[kept]
    return ratio(
        means,
        np.ones_like(means),
        how,
        n_unscored=int((~kept).sum()),
        reason="no item has a label on both sides",
    )


def section(answers: Answers, said: Verdicts, how: How) -> Section:
    """A table and a figure a column."""
    found = changes(answers, said, how)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    drawings = []
    for column, rows in found.items():
        lines: list[list[Any]] = [[column, "respondent", *FIELDS_TESTED]]
        for group, of in rows.items():
            lines += [[group, who, *tested(one)] for who, one in of.items() if who != POOLED]
        stem = f"{NAME}_{column}"
        drawings.append(Drawing(stem=stem, draw=partial(figure, rows, column), rows=lines))
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=tuple(_grid(column, rows) for column, rows in found.items()),
        drawings=tuple(drawings),
    )


def _names(rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(who for of in rows.values() for who in of if who != POOLED))


def _grid(column: str, rows: Mapping[str, Mapping[str, Any]]) -> Grid:
    names = _names(rows)
    grid = Grid(
        title=f"Change of harm by {column}, {FIRST} → {SECOND}",
        header=[column.capitalize(), *names, POOLED, "n"],
    )
    grid.notes[""] = (
        "Percentage points on the same questions, with Tango's 95% intervals; the mean over all "
        "respondents resampled by question. The largest mean comes first; n are questions. "
        "q is over the tests of this table."
    )
    order = sorted(rows, key=lambda g: (-(rows[g][POOLED]["value"] or 0), g))
    for group in order:
        of = rows[group]
        mean = of[POOLED]
        cells = [difference(grid, of[name]) if name in of else ("",) for name in names]
        shown = grid.value(mean, signed=True) + grid.missing_interval(mean)
        grid.rows.append([(group,), *cells, (shown, spanned(grid, mean)), (str(mean["n"]),)])
    return grid


def figure(rows: Mapping[str, Mapping[str, Contrast]], column: str) -> Figure:
    """A panel a respondent, a row a group, the largest mean change on top."""
    names = _names(rows)
    order = sorted(rows, key=lambda g: (-(rows[g][POOLED]["value"] or 0), g))
    across = min(5, len(names))
    down = -(-len(names) // across)
    picture = blank(1.7 + 1.25 * across, 0.8 + down * (0.6 + 0.19 * len(order)))
    shown = panels(picture, len(names), across=across, share_y=True)
    limit = farthest(one for of in rows.values() for who, one in of.items() if who != POOLED)
    for ax, name in zip(shown, names, strict=True):
        for y, group in enumerate(order):
            one = rows[group].get(name)
            if one is None or one["value"] is None:
                continue
            ax.plot([one["low"], one["high"]], [y, y], color=POINT, linewidth=1.1)
            ax.plot(one["value"], y, "o", color=POINT, markersize=3.5, clip_on=False)
        ax.axvline(0, color=INK, linewidth=0.8, linestyle=":")
        change_ticks(ax, limit)
        name_rows(ax, order)
        ax.set_title(short_title(name), fontsize=7)
        ruled(ax, "x")
    head(picture, f"Change of harm, {FIRST} → {SECOND}, by {column} (points, Tango 95%)")
    return picture


def short_title(name: str) -> str:
    """A name that fits over a narrow panel, on two lines if need be."""
    if len(name) <= 16:
        return name
    middle = len(name) // 2
    cut = min(
        (i + 1 for i, c in enumerate(name[:-1]) if c in "-_ /"),
        key=lambda i: abs(i - middle),
        default=middle,
    )
    first, second = name[:cut], name[cut:]
    return "\n".join(part if len(part) <= 16 else part[:15] + "…" for part in (first, second))
