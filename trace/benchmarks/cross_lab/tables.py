"""Tables and the figure of one respondent in one condition, made from metrics.json alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from trace.report.agreement import agreement_grid
from trace.report.canvas import POINT, Drawing, blank, head, name_rows, percent_ticks, ruled
from trace.report.grid import Grid

_FIELDS = ("value", "low", "high", "n", "n_unscored")


def labels(title: str, result: Mapping[str, Any]) -> Grid:
    """The share of each label, by category."""
    grid = Grid(title=title, header=["Category", "Label", "Share", "95% interval", "n", "Unscored"])
    grid.notes[""] = (
        "Percent of the responses that have a label by most votes of the peers, with Wilson "
        "intervals over items."
    )
    for category, shares in result["breakdowns"]["category"].items():
        for place, (label, metric) in enumerate(shares.items()):
            cells = (grid.value(metric),), (grid.interval(metric),), (str(metric["n"]),)
            first = category if place == 0 else ""
            grid.rows.append([(first,), (label,), *cells, (str(metric["n_unscored"]),)])
        grid.ends.append(len(grid.rows))
    return grid


def further(result: Mapping[str, Any]) -> list[Grid]:
    """Who answered how, the judges' agreement, and the traces where somebody read them."""
    metrics, breakdowns = result["metrics"], result["breakdowns"]
    grid = Grid(title="Responses and judges", header=["What", "Percent", "95% interval", "n"])
    rows = {
        "have a label": metrics["coverage"],
        "core responses cut off by the token limit": metrics["truncated"],
        "core responses asked again with more tokens": metrics["asked_again"],
        "own label is that of the peers": metrics["own_agrees"],
        "named a model or developer, which was masked": metrics["masked"],
        **{f"labelled by {name}": metric for name, metric in breakdowns["judge"].items()},
    }
    for name, metric in rows.items():
        cells = (grid.value(metric),), (grid.interval(metric),), (str(metric["n"]),)
        grid.rows.append([(name,), *cells])
    written, hidden = (metrics[name]["value"] for name in ("answer_tokens", "reasoning_tokens"))
    if written is not None:
        of = "" if hidden is None else f", of which {hidden:,.0f} are reasoning"
        grid.notes["Tokens:"] = f"an answer has {written:,.0f} on average{of}"
    grids = [grid, _by_category(breakdowns["fleiss"]), agreement_grid(breakdowns["agreement"])]
    if "trace" in breakdowns:
        grids.append(_traces(breakdowns))
    return grids


def drawings(title: str, result: Mapping[str, Any]) -> list[Drawing]:
    """The share of each label, with the numbers behind it."""
    rows = [
        (category, label, metric)
        for category, shares in result["breakdowns"]["category"].items()
        for label, metric in shares.items()
    ]
    values = [[category, label, *(m[field] for field in _FIELDS)] for category, label, m in rows]
    return [
        Drawing(
            stem="label_shares",
            draw=partial(_figure, title, rows),
            rows=[["category", "label", *_FIELDS], *values],
        )
    ]


def _by_category(found: Mapping[str, Any]) -> Grid:
    grid = Grid(title="Agreement by category", header=["Category", "Fleiss' κ", "n"])
    grid.notes[""] = (
        "Of all judges, the respondent's own seat among them; 95% intervals over items. All "
        "categories together, below, agree better: labels of different rubrics are never confused."
    )
    for category, metric in found.items():
        grid.rows.append([(category,), grid.coefficient(metric), (str(metric["n"]),)])
    return grid


def _traces(breakdowns: Mapping[str, Any]) -> Grid:
    finals = list(next(iter(breakdowns["traced"].values())))
    grid = Grid(title="Values in the trace against the final label", header=["Trace", *finals])
    grid.notes[""] = "Responses of reasoning_suppression whose reasoning was shown."
    for name, row in breakdowns["traced"].items():
        grid.rows.append([(name,), *((str(row[final]),) for final in finals)])
    return grid


def _figure(title: str, rows: list[tuple[str, str, Mapping[str, Any]]]) -> Figure:
    """A row a label, below a row that names its category."""
    shown: list[tuple[str, Mapping[str, Any] | None]] = []
    for i, (category, label, metric) in enumerate(rows):
        if i == 0 or rows[i - 1][0] != category:
            shown.append((category.upper(), None))
        shown.append((f"{label} ({metric['n']})", metric))
    figure = blank(6.4, 1.5 + 0.26 * len(shown))
    axes = figure.add_subplot()
    for i, (_, one) in enumerate(shown):
        if one is not None and one["value"] is not None:
            axes.plot([one["low"], one["high"]], [i, i], color=POINT, linewidth=1.5)
            axes.plot(one["value"], i, "o", color=POINT, markersize=5)
    percent_ticks(axes, "x")
    name_rows(axes, [name for name, _ in shown])
    axes.set_xlabel("share of the responses (with a label), 95% Wilson interval")
    ruled(axes, "x")
    head(figure, title)
    return figure
