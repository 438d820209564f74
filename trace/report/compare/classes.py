"""By class: the accuracy of every judge on every class, and how precise these cells are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import INK, Drawing, bare, blank, head
from trace.report.compare.judged import How, Judge, blocks, class_order
from trace.report.compare.section import FIELDS, Section, fields
from trace.report.entry import Metric, number
from trace.report.grid import Grid, percent

TITLE = "By class"
ENOUGH = 80
"""The paper tells the share of cells with at least so many samples (appendix F.2)."""


def by_class(judges: Sequence[Judge]) -> dict[str, Json]:
    """Protocol -> class -> judge -> accuracy (the right label) and detection rate."""
    order = class_order(judges)
    return {
        protocol: {
            name: {
                judge.name: dict(judge.classes[name]) for judge in block if name in judge.classes
            }
            for name in order
        }
        for protocol, block in blocks(judges).items()
    }


def precision(cells: Sequence[Metric], how: How) -> dict[str, Json]:
    """How many samples the cells (judge × class × protocol) have, and how wide their intervals are.

    Returns:
        `cells`, `enough` (share of them with at least `ENOUGH` scored samples), `smallest` (scored
        samples), and `mean_half_width` and `largest_half_width` of the Wilson intervals, as
        fractions; None where no cell has an interval.
    """
    inside = how.unscored == "as_wrong"  # then the unscored are in n, too
    scored = [cell["n"] - inside * cell["n_unscored"] for cell in cells]
    widths = [(cell["high"] - cell["low"]) / 2 for cell in cells if cell["low"] is not None]
    return {
        "cells": len(cells),
        "enough": number(sum(n >= ENOUGH for n in scored) / len(cells)) if cells else None,
        "smallest": min(scored, default=None),
        "mean_half_width": number(float(np.mean(widths))) if widths else None,
        "largest_half_width": number(max(widths)) if widths else None,
    }


def section(judges: Sequence[Judge], how: How) -> Section:
    """A table and a heat map for each protocol, and the precision of all cells."""
    found = by_class(judges)
    cells = [cell["accuracy"] for block in found.values() for row in block.values()
             for cell in row.values()]  # fmt: skip
    result = {"precision": precision(cells, how), "accuracy": found}
    return Section(
        name="classes",
        title=TITLE,
        result=result,
        grids=(
            _precision_grid(result["precision"]),
            *(_grid(protocol, block) for protocol, block in found.items()),
        ),
        drawings=tuple(
            Drawing(
                stem=f"classes_{protocol}",
                draw=partial(figure, protocol, block),
                rows=_csv(block),
            )
            for protocol, block in found.items()
        ),
    )


def _precision_grid(found: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="Cells (judge × class × protocol)",
        header=["Cells", f"n ≥ {ENOUGH}", "Smallest n", "Mean half-width", "Largest half-width"],
    )
    grid.notes[""] = "Half of the 95% Wilson interval, in percentage points; n are scored samples."
    shares = (found[name] for name in ("mean_half_width", "largest_half_width"))
    half = [("–" if share is None else f"±{percent(share)}",) for share in shares]
    enough = "–" if found["enough"] is None else f"{percent(found['enough'])}%"
    grid.rows.append([(str(found["cells"]),), (enough,), (str(found["smallest"]),), *half])
    return grid


def _grid(protocol: str, block: Mapping[str, Mapping[str, Any]]) -> Grid:
    judges = _judges(block)
    grid = Grid(title=f"Accuracy by class, protocol: {protocol}", header=["Class", *judges])
    grid.notes[""] = "Percent that got the right label, with Wilson intervals."
    for name, row in block.items():
        cells: list[tuple[str, ...]] = [(name,)]
        for judge in judges:
            metric = row[judge]["accuracy"] if judge in row else None
            cells.append((grid.value(metric), grid.interval(metric)) if metric else ("",))
        grid.rows.append(cells)
    return grid


def _judges(block: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(judge for row in block.values() for judge in row))


def _csv(block: Mapping[str, Mapping[str, Any]]) -> list[list[Any]]:
    lines: list[list[Any]] = [["class", "judge", "metric", *FIELDS]]
    for name, row in block.items():
        for judge, cell in row.items():
            for metric in ("accuracy", "detection_rate"):
                lines.append([name, judge, metric, *fields(cell[metric])])
    return lines


def figure(protocol: str, block: Mapping[str, Mapping[str, Any]]) -> Figure:
    """The accuracies as a heat map, a row a class, a column a judge."""
    judges, names = _judges(block), list(block)
    values = np.full((len(names), len(judges)), np.nan)
    for (i, row), (j, judge) in (
        (a, b) for a in enumerate(block.values()) for b in enumerate(judges)
    ):
        value = row[judge]["accuracy"]["value"] if judge in row else None
        values[i, j] = np.nan if value is None else value
    picture = blank(3.2 + 0.5 * len(judges), 2.6 + 0.3 * len(names))
    axes = picture.add_subplot()
    image = axes.imshow(values, cmap="RdYlBu", vmin=0, vmax=1, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else f"{100 * value:.0f}"
        ink = "white" if value < 0.15 or value > 0.85 else INK
        axes.text(j, i, text, ha="center", va="center", fontsize=7, color=ink)
    axes.set_xticks(
        range(len(judges)), judges, rotation=45, ha="right", rotation_mode="anchor", fontsize=7
    )
    axes.set_yticks(range(len(names)), names, fontsize=7)
    bar = picture.colorbar(image, ax=axes, ticks=[0, 0.5, 1], fraction=0.04, pad=0.02)
    bar.set_ticklabels(["0%", "50%", "100%"])
    bare(axes)
    head(picture, f"Accuracy by class (%), protocol: {protocol}")
    return picture
