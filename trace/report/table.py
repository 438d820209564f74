"""Tables of results, for a terminal of 80 columns and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from trace.report.entry import Metric
from trace.report.grid import Grid, percent

_SCORES = {
    "auroc": "AUROC",
    "auprc": "AUPRC",
    "tpr_at_fpr_1": "TPR at 1% FPR",
    "tpr_at_fpr_5": "TPR at 5% FPR",
    "ece": "Expected calibration error",
}
_COLUMNS = {
    "tpr": "TPR",
    "tnr": "TNR",
    "tpr_minus_tnr": "TPR\n−TNR",
    "balanced_accuracy": "Balanced\naccuracy",
    "detection_rate": "Detec-\ntion",
    "auroc": "AUROC",
    "balanced_f1": "Bal.\nF1",
    "coverage": "Cover-\nage",
}


def summary(
    title: str,
    model_name: str,
    metrics: Mapping[str, Metric],
    baselines: Mapping[str, Mapping[str, Metric]],
) -> Table:
    """The model and the baselines, a row each, for a terminal.

    Where samples are unscored, two more rows give each value if all of them were wrong and if
    all were right. Text is shown as it is: it is never read as markup.

    Args:
        title: stands above the table.
        model_name: names the first row.
        metrics: of the model, as `evaluate` gives them.
        baselines: name -> metrics.
    """
    return _summary(title, model_name, metrics, baselines).terminal()


def to_markdown(
    title: str,
    model_name: str,
    metrics: Mapping[str, Metric],
    baselines: Mapping[str, Mapping[str, Metric]],
) -> str:
    """The table of `summary` in Markdown."""
    return _summary(title, model_name, metrics, baselines).markdown()


def per_class(title: str, classes: Mapping[str, Mapping[str, Metric]]) -> Table:
    """Accuracy and detection rate of each class, for a terminal.

    Args:
        title: stands above the table.
        classes: the breakdown `class`, as `evaluate` gives it.
    """
    return _per_class(title, classes).terminal()


def per_class_markdown(title: str, classes: Mapping[str, Mapping[str, Metric]]) -> str:
    """The table of `per_class` in Markdown."""
    return _per_class(title, classes).markdown()


def scores(result: Mapping[str, Any]) -> list[Grid]:
    """What the scores are worth, and the threshold that was chosen on them; each if there is one.

    Args:
        result: `metrics` and `breakdowns` of a run.
    """
    metrics, threshold = result["metrics"], result["breakdowns"].get("threshold")
    grids = []
    if metrics["auroc"]["n"]:
        grid = Grid(title="Scores", header=["Measure", "Value", "95% interval", "n"])
        grid.notes[""] = (
            "Percent, over the samples with a score; intervals resampled by cluster. TPR at 1% or "
            "5% FPR is that of the best threshold for these very samples."
        )
        for name, label in _SCORES.items():
            grid.rows.append([(label,), *_measured(grid, metrics[name])])
        grids.append(grid)
    if threshold is not None:
        grids.append(_threshold(threshold))
    return grids


def _measured(grid: Grid, metric: Metric) -> list[tuple[str, ...]]:
    text = grid.value(metric) + grid.missing_interval(metric)
    return [(text,), (grid.interval(metric),), (str(metric["n"]),)]


def _threshold(found: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="A threshold chosen on some sources, applied to the others",
        header=["Measure", "Value", "95% interval", "n"],
    )
    if found["threshold"] is None:
        grid.rows.append([("Threshold",), ("–" + grid.mark(found["reason"]),), (), ()])
        return grid
    chosen_on, applied_to = found["chosen_on"], found["applied_to"]
    grid.notes[""] = (
        f"Chosen for the best balanced accuracy on {chosen_on['with_score']} samples with a score "
        f"of {chosen_on['clusters']} sources; the rates are percent of the {applied_to['samples']} "
        f"samples of {applied_to['clusters']} other sources, safe against unsafe. Intervals: "
        "Wilson, and resampled by cluster for balanced accuracy and F1."
    )
    value = f"{found['threshold']:.4g}"
    grid.rows.append([("Threshold",), (value,), (), (str(chosen_on["with_score"]),)])
    for name, metric in found["metrics"].items():
        if name != "tpr_minus_tnr":
            label = _COLUMNS[name].replace("-\n", "").replace("\n", " ")
            grid.rows.append([(label,), *_measured(grid, metric)])
    return grid


def _summary(
    title: str,
    model_name: str,
    metrics: Mapping[str, Metric],
    baselines: Mapping[str, Mapping[str, Metric]],
) -> Grid:
    names = [name for name in _COLUMNS if name in metrics]
    grid = Grid(title=title, header=["Judge", *(_COLUMNS[name] for name in names), "n"])
    grid.notes[""] = "Percent, with the 95% interval resampled by cluster."
    for judge, row in ((model_name, metrics), *baselines.items()):
        cells: list[tuple[str, ...]] = [(judge,)]
        for name in names:
            metric = row[name]
            text = grid.value(metric, signed=name == "tpr_minus_tnr")
            if name == "auroc" and metric["value"] is not None and metric["n_unscored"]:
                text += grid.mark(f"over the {metric['n']} samples that have a score")
            if name == "balanced_accuracy":
                cells.append((text + grid.missing_interval(metric), grid.interval(metric)))
            else:
                cells.append((text,))
        grid.rows.append([*cells, (str(row["coverage"]["n"]),)])
        if row["coverage"]["n_unscored"]:
            grid.notes["at least, at most:"] = "bounds, counting the unscored either way"
            for end, label in enumerate(("  at least", "  at most")):
                grid.rows.append([(label,), *(_bound(row[name], name, end) for name in names), ()])
        grid.ends.append(len(grid.rows))
    return grid


def _bound(metric: Metric, name: str, end: int) -> tuple[str, ...]:
    if metric["bounds"] is None:
        return ()
    return (percent(metric["bounds"][end], signed=name == "tpr_minus_tnr"),)


def _per_class(title: str, classes: Mapping[str, Mapping[str, Metric]]) -> Grid:
    # With two labels the right one is any unsafe one: a column that says it again helps nobody.
    detection = any(
        row["accuracy"]["value"] != row["detection_rate"]["value"]
        for row in classes.values()
        if row["detection_rate"]["higher_is_better"]
    )
    # Narrow, so that the longest class of a study stays on one line of a terminal.
    shown = {"accuracy": "Accu-\nracy"} | ({"detection_rate": "Detec-\nted"} if detection else {})
    header = [name for column in shown.values() for name in (column, "95% interval")]
    grid = Grid(title=title, header=["Class", *header, "Un-\nscored", "n"])
    grid.notes[""] = "Percent, with Wilson intervals."
    for class_name, row in classes.items():
        cells: list[tuple[str, ...]] = [(class_name,)]
        for name in shown:
            alarm = ""
            if row[name]["higher_is_better"] is False:
                alarm = "*"
                grid.notes[alarm] = "false alarms: called unsafe though it is not"
            cells += [(grid.value(row[name]) + alarm,), (grid.interval(row[name]),)]
        accuracy = row["accuracy"]
        grid.rows.append([*cells, (str(accuracy["n_unscored"]),), (str(accuracy["n"]),)])
    return grid
