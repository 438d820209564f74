"""How far the steering moves each model, label by label, on the same items."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

from matplotlib.figure import Figure

from trace.report.canvas import INK, POINT, Drawing, blank, head, name_rows, ruled
from trace.report.compare.section import Section
from trace.report.cross_lab.family import Reading
from trace.report.cross_lab.words import BASE, CORE, STEERED, heading, plain
from trace.report.grid import Grid
from trace.report.rag_safety.answers import Codes
from trace.report.rag_safety.contrast import (
    FIELDS_TESTED,
    Contrast,
    adjust,
    contrast,
    difference,
    tested,
)

NAME, TITLE = "cross_lab_shifts", "What the steering changes"

Shifts: TypeAlias = dict[str, dict[str, dict[str, Contrast]]]
"""Category -> model -> label -> contrast, steered less base."""


def shifts(read: Reading) -> Shifts:
    """The change of each share from base to steered, over the items with a label under both.

    With Tango's interval and McNemar's exact test. The tests of the core categories are one
    family; those of the validation categories, where nothing should move, another.
    """
    votes = read.votes
    found: Shifts = {
        category: {
            model: {
                label: contrast(*_both(read, category, m), hit=code)
                for code, label in enumerate(labels)
            }
            for m, model in enumerate(votes.respondents)
        }
        for category, labels in votes.rubrics.items()
        if votes.of(category).any()
    }
    for core in (True, False):
        adjust(
            one
            for category, of in found.items()
            if (category in CORE) == core
            for labels in of.values()
            for one in labels.values()
        )
    return found


def _both(read: Reading, category: str, model: int) -> tuple[Codes, Codes]:
    base, steered = read.labels[read.votes.of(category), :, model].T
    return base, steered


def section(read: Reading) -> Section:
    """A table and a panel of a figure a category."""
    found = shifts(read)
    rows: list[list[Any]] = [["category", "model", "label", *FIELDS_TESTED]]
    for category, of in found.items():
        for model, labels in of.items():
            rows += [[category, model, label, *tested(one)] for label, one in labels.items()]
    return Section(
        name=NAME,
        title=TITLE,
        result=dict(found),
        grids=tuple(_grid(category, of) for category, of in found.items()),
        drawings=(Drawing(stem=NAME, draw=partial(figure, found), rows=rows),),
    )


def _grid(category: str, of: Mapping[str, Mapping[str, Contrast]]) -> Grid:
    labels = list(next(iter(of.values())))
    grid = Grid(
        title=f"{plain(category).capitalize()}: {STEERED} less {BASE}",
        header=["Model", *map(heading, labels), "n"],
    )
    grid.notes[""] = "Percentage points on the same items, with Tango's 95% intervals."
    for model, changes in of.items():
        cells = [difference(grid, one) for one in changes.values()]
        grid.rows.append([(model,), *cells, (str(next(iter(changes.values()))["n"]),)])
    return grid


def figure(found: Shifts) -> Figure:
    """A panel a category and label, a row a model."""
    down = len(found)
    across = max(len(labels) for of in found.values() for labels in of.values())
    models = len(next(iter(found.values())))
    picture = blank(7.8, 0.8 + down * (0.75 + 0.17 * models))
    parts = picture.subfigures(down, 1, squeeze=False).ravel()
    for part, (category, of) in zip(parts, found.items(), strict=True):
        labels = list(next(iter(of.values())))
        part.suptitle(plain(category), fontsize=8, x=0.01, ha="left")
        row = part.subplots(1, across, sharey=True, squeeze=False)[0]
        for ax in row[len(labels) :]:
            ax.remove()
        for ax, label in zip(row, labels, strict=False):
            for y, changes in enumerate(of.values()):
                one = changes[label]
                if one["value"] is not None:
                    ax.plot([one["low"], one["high"]], [y, y], color=POINT, linewidth=1.1)
                    ax.plot(one["value"], y, "o", color=POINT, markersize=3.5, clip_on=False)
            ax.axvline(0, color=INK, linewidth=0.8, linestyle=":")
            ax.set_xlim(-1.08, 1.08)
            ax.set_xticks([-1, 0, 1], ["−100", "0", "100"], fontsize=7)
            name_rows(ax, of)
            ax.set_title(heading(label), fontsize=7)
            ruled(ax, "x")
    head(picture, f"Change of each share, {BASE} → {STEERED} (points, Tango 95%)")
    return picture
