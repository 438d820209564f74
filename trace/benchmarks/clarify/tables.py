"""Tables of one respondent, made from metrics.json alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trace.report.agreement import agreement_grid
from trace.report.entry import Metric
from trace.report.grid import Grid, percent

_SHARES = {"underspecified": "Under-\nspecified", "specified": "Specified"}
_DIFFERENCE = "Differ-\nence"
_NOTE = "Percent of answers that ask back, with Wilson intervals over requests."


def summary(title: str, judge: str, result: Mapping[str, Any]) -> Grid:
    """The scored row, the bounds where answers have no label, and a row a judge of several."""
    metrics, found = result["metrics"], result["breakdowns"]
    header = ["Judge", *_SHARES.values(), _DIFFERENCE, "Cover-\nage", "n"]
    grid = Grid(title=title, header=header)
    grid.notes[""] = _NOTE
    grid.rows.append(
        [(judge,), *_cells(grid, metrics), (grid.value(metrics["coverage"]),), _n(metrics)]
    )
    if any(metrics[name]["n_unscored"] and metrics[name]["bounds"] for name in _SHARES):
        grid.notes["at least, at most:"] = "bounds, counting what has no label either way"
        for end, label in enumerate(("  at least", "  at most")):
            bounds = [metrics[name]["bounds"] for name in _SHARES]
            ends = [() if b is None else (percent(b[end]),) for b in bounds]
            grid.rows.append([(label,), *ends, (), (), ()])
    grid.ends.append(len(grid.rows))
    if "agreement" in found:
        for name, row in found["judge"].items():
            shares = [_cell(grid, row[kind]) for kind in _SHARES]
            grid.rows.append([(name,), *shares, (), (), _n(row)])
    pairs = found["pairs"]
    if pairs["p"] is not None:
        grid.notes["Difference:"] = (
            f"{pairs['n']} pairs, Tango's interval; only the underspecified request is asked back "
            f"about in {pairs['only_underspecified']}, only the specified one in "
            f"{pairs['only_specified']}; McNemar's exact p = {pairs['p']:.2g}"
        )
    return grid


def by_topic(topics: Mapping[str, Mapping[str, Metric]]) -> Grid:
    """A row a topic."""
    grid = Grid(title="By topic", header=["Topic", *_SHARES.values(), _DIFFERENCE, "n"])
    grid.notes[""] = _NOTE
    for name, row in topics.items():
        grid.rows.append([(name,), *_cells(grid, row), _n(row)])
    return grid


def further(result: Mapping[str, Any]) -> list[Grid]:
    """The agreement of several judges, and the topics."""
    found = result["breakdowns"]
    grids = [agreement_grid(found["agreement"])] if "agreement" in found else []
    return [*grids, by_topic(found["topic"])]


def _cells(grid: Grid, row: Mapping[str, Metric]) -> list[tuple[str, ...]]:
    difference = row["difference"]
    ends = [
        percent(e, signed=True) for e in (difference["low"], difference["high"]) if e is not None
    ]
    last = grid.value(difference, signed=True), f"({' to '.join(ends)})" if ends else ""
    return [*(_cell(grid, row[kind]) for kind in _SHARES), last]


def _cell(grid: Grid, metric: Metric) -> tuple[str, ...]:
    return grid.value(metric), grid.interval(metric)


def _n(row: Mapping[str, Metric]) -> tuple[str, ...]:
    return (str(sum(row[kind]["n"] for kind in _SHARES)),)
