"""Figures as PNG, each with the numbers behind it as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from trace.report.canvas import INK, POINT, Drawing, bare, blank, head, ruled, write_drawings
from trace.report.entry import Metric


def write_figures(folder: Path, evaluation: Mapping[str, Any], title: str) -> list[Path]:
    """Writes the confusion matrix and the accuracy of each class.

    Equal evaluations give equal bytes (with the same matplotlib and fonts). A file is whole or
    not there.

    Args:
        folder: where they go; made if need be.
        evaluation: what `evaluate` returns.
        title: stands above both; shown as it is, without mathematical markup.

    Returns:
        The paths: `confusion.png`, `confusion.csv`, `accuracy.png`, `accuracy.csv`.
    """
    confusion = evaluation["breakdowns"]["confusion"]
    classes = evaluation["breakdowns"]["class"]
    drawings = (
        Drawing(
            stem="confusion",
            draw=partial(confusion_figure, confusion, title),
            rows=list(confusion_rows(confusion)),
        ),
        Drawing(
            stem="accuracy",
            draw=partial(_accuracy_figure, classes, title),
            rows=list(_accuracy_rows(classes)),
        ),
    )
    return write_drawings(folder, drawings)


def confusion_rows(confusion: Mapping[str, Any]) -> Iterable[list[Any]]:
    """The matrix as rows of a CSV, under a header."""
    yield ["gold", *confusion["columns"]]
    for label, counts in zip(confusion["labels"], confusion["counts"], strict=True):
        yield [label, *counts]


def _accuracy_rows(classes: Mapping[str, Mapping[str, Metric]]) -> Iterable[list[Any]]:
    fields = ["value", "low", "high", "n", "n_unscored"]
    yield ["class", "metric", *fields, "all_unscored_wrong", "all_unscored_right"]
    for name, row in classes.items():
        for metric in ("accuracy", "detection_rate"):
            values = row[metric]
            yield [name, metric, *(values[f] for f in fields), *(values["bounds"] or ("", ""))]


def confusion_figure(confusion: Mapping[str, Any], title: str) -> Figure:
    """The matrix of counts; the shade is the share of the row."""
    labels, columns = confusion["labels"], confusion["columns"]
    counts = np.array(confusion["counts"])
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
    figure = blank(2.6 + 0.62 * len(columns), 2.2 + 0.5 * len(labels))
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (i, j), share in np.ndenumerate(shares):
        text = f"{counts[i, j]}\n{100 * share:.0f}%" if counts[i, j] else "0"
        ink = "white" if share > 0.55 else INK if counts[i, j] else "#999999"
        axes.text(j, i, text, ha="center", va="center", fontsize=7, color=ink)
    axes.axvline(len(columns) - 1.5, color=INK, linewidth=1.5)  # the unscored stand apart
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right", rotation_mode="anchor")
    gold = [f"{label} ({n})" for label, n in zip(labels, totals[:, 0], strict=True)]
    axes.set_yticks(range(len(labels)), gold)
    axes.set_xlabel("judged")
    axes.set_ylabel("gold (samples)")
    bar = figure.colorbar(image, ax=axes, ticks=[0, 0.5, 1], fraction=0.04, pad=0.02)
    bar.set_ticklabels(["0%", "50%", "100%"])
    bar.set_label("share of the row")
    head(figure, title)
    bare(axes)
    return figure


def _accuracy_figure(classes: Mapping[str, Mapping[str, Metric]], title: str) -> Figure:
    figure = blank(7, 1.5 + 0.32 * len(classes))
    axes = figure.add_subplot()
    for i, row in enumerate(classes.values()):
        metric = row["accuracy"]
        unscored = f", {metric['n_unscored']} unscored" if metric["n_unscored"] else ""
        axes.text(
            1.02,
            i,
            f"n = {metric['n']}{unscored}",
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=8,
            color=INK,
        )
        if metric["value"] is not None:
            axes.plot([metric["low"], metric["high"]], [i, i], color=POINT, linewidth=1.5)
            axes.plot(metric["value"], i, "o", color=POINT, markersize=5)
    axes.set_xlim(-0.02, 1.02)  # room for a point at either end
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    axes.set_ylim(max(len(classes), 1) - 0.5, -0.5)
    axes.set_yticks(range(len(classes)), list(classes))
    axes.set_xlabel("accuracy with its 95% Wilson interval")
    head(figure, title)
    ruled(axes, "x")
    return figure
