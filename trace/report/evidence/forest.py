"""One number of each guard with its interval, a panel a component."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

from matplotlib.figure import Figure

from trace.report.canvas import (
    POINT,
    Drawing,
    blank,
    head,
    name_rows,
    panels,
    percent_ticks,
    ruled,
)
from trace.report.compare.section import FIELDS, fields
from trace.report.entry import Metric
from trace.report.evidence.guards import names_in

Cells: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Metric]]]
"""Component -> guard -> metric's name -> metric."""


def rows_of(cells: Cells) -> list[list[Any]]:
    """The rows of a CSV, under a header."""
    lines: list[list[Any]] = [["component", "guard", "metric", *FIELDS]]
    for component, guards in cells.items():
        for guard, metrics in guards.items():
            lines += [[component, guard, name, *fields(m)] for name, m in metrics.items()]
    return lines


def drawing(stem: str, cells: Cells, metric: str, title: str) -> Drawing:
    """The figure of one metric, and all of them in its CSV."""
    return Drawing(stem=stem, draw=partial(forest, cells, metric, title), rows=rows_of(cells))


def forest(cells: Cells, metric: str, title: str) -> Figure:
    """A point a guard, and its interval; a guard without the number has an empty row."""
    names = names_in(cells)
    picture = blank(1.9 + 1.75 * len(cells), 1.2 + 0.19 * len(names))
    shown = panels(picture, len(cells), share_y=True)
    for ax, (component, guards) in zip(shown, cells.items(), strict=True):
        for guard, metrics in guards.items():
            found, row = metrics[metric], names.index(guard)
            if found["value"] is None:
                continue
            if found["low"] is not None:
                ax.plot([found["low"], found["high"]], [row, row], color=POINT, linewidth=1.3)
            ax.plot(found["value"], row, "o", color=POINT, markersize=4)
        percent_ticks(ax, "x")
        name_rows(ax, names)
        ax.set_title(component, fontsize=8)
        ruled(ax, "x")
    head(picture, title)
    return picture
