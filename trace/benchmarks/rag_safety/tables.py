"""Tables and the figure of one respondent under one condition, made from metrics.json alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from trace.report.agreement import agreement_grid
from trace.report.canvas import POINT, Drawing, blank, head, name_rows, percent_ticks, ruled
from trace.report.corrected import corrected_grid
from trace.report.entry import Metric
from trace.report.grid import Grid, decimal, many, percent

_COLUMNS = {
    "harm": "Harm",
    "accuracy": "Accuracy",
    "refused": "Re-\nfused",
    "refused_by_phrases": "By\nphrases",
    "provider_refused": "Fil-\ntered",
    "coverage": "Cover-\nage",
}
_BESIDE = {
    "actionable": "Actionable, of the unsafe answers",
    "blocked": "Blocked, of the answers",
    "filter_unscored": "No verdict, of the filter's questions",
    "oracle_found": "Oracle document found, of the questions",
}
_WITH_INTERVAL = ("harm", "accuracy")
_OF_A_GROUP = ("harm", "accuracy", "refused", "refused_by_phrases", "coverage")
_FIELDS = ("value", "low", "high", "n", "n_unscored")


def summary(title: str, panel: str, result: Mapping[str, Any]) -> Grid:
    """The panel's row, the bounds where answers have no label, and a row a judge."""
    metrics = result["metrics"]
    grid = Grid(title=title, header=["Judge", *_COLUMNS.values(), "n"])
    grid.notes[""] = (
        "Percent of answers, with Wilson intervals over questions. Accuracy: the expected answer "
        "is in it. Refused: by a judge, and by a list of phrases. Filtered: by the provider."
    )
    grid.rows.append([(panel,), *(_cell(grid, metrics, c) for c in _COLUMNS), _n(metrics)])
    if any(metrics[name]["n_unscored"] and metrics[name]["bounds"] for name in _WITH_INTERVAL):
        grid.notes["at least, at most:"] = "bounds, counting what has no label either way"
        for end, label in enumerate(("  at least", "  at most")):
            bounds = [metrics[name]["bounds"] for name in _COLUMNS]
            cells: list[tuple[str, ...]] = [() if b is None else (percent(b[end]),) for b in bounds]
            grid.rows.append([(label,), *cells, ()])
    grid.ends.append(len(grid.rows))
    for judge, row in result["breakdowns"]["judge"].items():
        cells = [_cell(grid, row, column) if column in row else () for column in _COLUMNS]
        grid.rows.append([(judge,), *cells, _n(row)])
    return grid


def groups(title: str, first: str, found: Mapping[str, Mapping[str, Metric]]) -> Grid:
    """A row a subcategory, or a family."""
    shown = [c for c in _OF_A_GROUP if any(row[c]["value"] is not None for row in found.values())]
    grid = Grid(title=title, header=[first, *(_COLUMNS[column] for column in shown), "n"])
    grid.notes[""] = "Percent of answers, with Wilson intervals over questions."
    for name, row in found.items():
        grid.rows.append([(name,), *(_cell(grid, row, column) for column in shown), _n(row)])
    return grid


def further(result: Mapping[str, Any], panel: str) -> list[Grid]:
    """Filter and retriever, the judges' agreement, refusal, corrected shares; each if there is."""
    breakdowns, metrics = result["breakdowns"], result["metrics"]
    beside = {name: metrics[name] for name in _BESIDE if metrics[name]["value"] is not None}
    grids = [_beside(beside, breakdowns.get("dropped"))] if beside else []
    grids.append(agreement_grid(breakdowns["agreement"]))
    if "refusal" in breakdowns:
        grids.append(_refusal(breakdowns["refusal"], breakdowns["refusal_agreement"]))
    if "corrected" in breakdowns:
        grids.append(corrected_grid(breakdowns["corrected"], panel))
    return grids


def drawings(title: str, result: Mapping[str, Any]) -> list[Drawing]:
    """Harm in all and by family, and by subcategory, each with the numbers behind it."""
    shown = result["breakdowns"]
    return [
        _harm("harm", title, {"all": result["metrics"], **shown["family"]}),
        _harm("harm_by_subcategory", title, shown["subcategory"]),
    ]


def _beside(shown: Mapping[str, Metric], dropped: Mapping[str, int] | None) -> Grid:
    grid = Grid(title="Beside the answers", header=["Share", "Value", "95% interval", "n"])
    grid.notes[""] = "Percent, with Wilson intervals over questions."
    for name, metric in shown.items():
        cells = (grid.value(metric),), (grid.interval(metric),), (str(metric["n"]),)
        grid.rows.append([(_BESIDE[name],), *cells])
    if dropped is not None:
        grid.notes["Dropped:"] = (
            f"{many(dropped['documents'], 'document')}; of {many(dropped['questions'], 'question')}"
            f" {dropped['any']} lost any, {dropped['all']} all"
        )
    return grid


def _refusal(kinds: Mapping[str, Metric], agreement: Mapping[str, Any]) -> Grid:
    grid = Grid(title="Kinds of refusal", header=["Kind", "Share", "95% interval", "n"])
    grid.notes[""] = "Percent of answers; none: it answers."
    for kind, metric in kinds.items():
        cells = (grid.value(metric),), (grid.interval(metric),), (str(metric["n"]),)
        grid.rows.append([(kind,), *cells])
    equal = agreement["all"]["percent"]["value"]
    (kappa,) = agreement["pairs"].values()
    if equal is not None:
        said = "not defined" if kappa["value"] is None else decimal(kappa["value"])
        grid.notes["Judge and phrases:"] = (
            f"equal on {percent(equal)}% of {kappa['n']} answers, Cohen's κ {said}"
        )
    return grid


def _cell(grid: Grid, metrics: Mapping[str, Metric], column: str) -> tuple[str, ...]:
    metric = metrics[column]
    value = grid.value(metric)
    return (value, grid.interval(metric)) if column in _WITH_INTERVAL else (value,)


def _n(metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    return (str(metrics["harm"]["n"]),)


def _harm(stem: str, title: str, rows: Mapping[str, Mapping[str, Metric]]) -> Drawing:
    harm = {name: row["harm"] for name, row in rows.items()}
    values = [[name, *(metric[field] for field in _FIELDS)] for name, metric in harm.items()]
    return Drawing(
        stem=stem, draw=partial(_harm_figure, title, harm), rows=[["group", *_FIELDS], *values]
    )


def _harm_figure(title: str, harm: Mapping[str, Metric]) -> Figure:
    figure = blank(6.4, 1.5 + 0.28 * len(harm))
    axes = figure.add_subplot()
    for i, metric in enumerate(harm.values()):
        if metric["value"] is not None:
            axes.plot([metric["low"], metric["high"]], [i, i], color=POINT, linewidth=1.5)
            axes.plot(metric["value"], i, "o", color=POINT, markersize=5)
    percent_ticks(axes, "x")
    name_rows(axes, [f"{name} ({metric['n']})" for name, metric in harm.items()])
    axes.set_xlabel("answers called unsafe, with the 95% Wilson interval (answers judged)")
    ruled(axes, "x")
    head(figure, title)
    return figure
