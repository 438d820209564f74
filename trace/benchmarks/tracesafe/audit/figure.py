"""The AUC of the two classifiers among the probes, by class and set, with whiskers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trace.benchmarks.tracesafe.audit.criteria import CRITERIA
from trace.benchmarks.tracesafe.audit.probe_tables import Findings
from trace.benchmarks.tracesafe.names import CLASSES
from trace.records import Json
from trace.report import canvas
from trace.report.entry import Metric

_PROBES = {
    "structure": "structure\n(limit: upper end at 65%)",
    "ngrams": "n-grams, unseen templates\n(limit: point below 70%, classes 6–12)",
}
_LIMITS = {criterion.name: criterion.limit for criterion in CRITERIA}
_COLOURS = (canvas.POINT, "#c4601d")
_MARKERS = ("o", "s")


def write_auc(folder: Path, sets: Findings, title: str) -> list[Path]:
    """Writes `auc.png` and `auc.csv` into a folder, which is made if need be.

    Args:
        folder: where they go.
        sets: set -> its findings.
        title: stands above the figure.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return [
        canvas.write(folder / "auc.png", canvas.png(partial(_draw, sets, title))),
        canvas.write(folder / "auc.csv", canvas.table(_rows(sets))),
    ]


def _auc(found: Mapping[str, Json], probe: str) -> Mapping[str, Metric]:
    if probe == "structure":
        metrics: Mapping[str, Metric] = found["structure"]
        return metrics
    return {name: row["auc"] for name, row in found["ngrams"].items()}


def _rows(sets: Findings) -> Iterator[list[Any]]:
    yield ["probe", "set", "class", "auc", "low", "high", "n", "reason"]
    for probe in _PROBES:
        for name, found in sets.items():
            for class_name, metric in _auc(found, probe).items():
                numbers = (metric[key] for key in ("value", "low", "high", "n"))
                yield [probe, name, class_name, *numbers, metric.get("reason", "")]


def _draw(sets: Findings, title: str) -> Figure:
    names = [c.name for c in CLASSES if any(c.name in f["structure"] for f in sets.values())]
    figure = canvas.blank(9, 1.9 + 0.38 * len(names))
    panels = figure.subplots(1, len(_PROBES), sharey=True, gridspec_kw={"wspace": 0.12})
    for axes, (probe, label) in zip(panels, _PROBES.items(), strict=True):
        for i, (name, found) in enumerate(sets.items()):
            shift = 0.22 * (i - (len(sets) - 1) / 2)
            _points(axes, _auc(found, probe), names, shift, name, i)
        axes.axvline(0.5, color="#888888", linewidth=1)
        axes.axvline(_LIMITS[probe], color="#888888", linewidth=1, linestyle="--")
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
        axes.set_title(label, fontsize=9)
        axes.grid(color=canvas.PALE, linewidth=0.6)
        axes.set_axisbelow(True)
        canvas.bare(axes)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(max(len(names), 1) - 0.5, -0.5)
    figure.supxlabel("AUC against benign records, 95% interval by cluster; chance is 50%", size=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=2, frameon=False, fontsize=9)
    canvas.head(figure, title)
    return figure


def _points(
    axes: Axes,
    metrics: Mapping[str, Metric],
    names: Iterable[str],
    shift: float,
    label: str,
    number: int,
) -> None:
    colour, marker = _COLOURS[number], _MARKERS[number]
    axes.plot([], [], marker, color=colour, label=label, markersize=5)
    for y, name in enumerate(names):
        metric = metrics.get(name)
        if metric is None:
            continue
        if metric["value"] is None:
            axes.text(0, y + shift, "undefined", color=colour, va="center", fontsize=7)
            continue
        if metric["low"] is not None:
            ends = [metric["low"], metric["high"]]
            axes.plot(ends, [y + shift] * 2, color=colour, linewidth=1.5)
        axes.plot(metric["value"], y + shift, marker, color=colour, markersize=5)
