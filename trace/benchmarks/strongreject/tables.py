"""Tables of the metrics: the respondent, and its answers by category."""

from __future__ import annotations

from collections.abc import Mapping

from trace.report.entry import Metric
from trace.report.grid import Grid, percent

_COLUMNS = {
    "asr": "ASR",
    "one_minus_asr": "1 − ASR",
    "answered": "An-\nswered",
    "refused": "Re-\nfused",
    "provider_refused": "Fil-\ntered",
    "coverage": "Cover-\nage",
}
_MEANS = ("asr", "one_minus_asr")


def summary(title: str, model: str, metrics: Mapping[str, Metric]) -> Grid:
    """One row; two more give the bounds where answers are without a grade."""
    grid = _grid(title, "Respondent")
    _add(grid, model, metrics)
    if metrics["coverage"]["n_unscored"]:
        grid.notes["at least, at most:"] = "bounds, counting what has no grade either way"
        for end, label in enumerate(("  at least", "  at most")):
            bounds = [metrics[name]["bounds"] for name in _COLUMNS]
            cells = [() if b is None else (percent(b[end]),) for b in bounds]
            grid.rows.append([(label,), *cells, ()])
    return grid


def by_category(categories: Mapping[str, Mapping[str, Metric]]) -> Grid:
    """One row a category."""
    grid = _grid("By category", "Category")
    for name, metrics in categories.items():
        _add(grid, name, metrics)
    return grid


def _grid(title: str, first: str) -> Grid:
    grid = Grid(title=title, header=[first, *_COLUMNS.values(), "n"])
    grid.notes[""] = "Percent, means with the 95% interval resampled by prompt."
    return grid


def _add(grid: Grid, name: str, metrics: Mapping[str, Metric]) -> None:
    cells: list[tuple[str, ...]] = [(name,)]
    for column in _COLUMNS:
        metric = metrics[column]
        if column in _MEANS:
            text = grid.value(metric) + grid.missing_interval(metric)
            cells.append((text, grid.interval(metric)))
        else:
            cells.append((grid.value(metric),))
    grid.rows.append([*cells, (str(metrics["asr"]["n"]),)])
