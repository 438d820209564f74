"""The main table: a block a protocol, a row a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import INK, Drawing, blank, head, name_rows, panels, percent_ticks, ruled
from trace.report.compare.judged import Judge, blocks
from trace.report.compare.section import FIELDS, Section, fields
from trace.report.grid import Grid, percent

TITLE = "Judges under each protocol"
SHOWN = ("tpr", "tnr", "balanced_accuracy", "tpr_minus_tnr", "balanced_f1", "coverage")
GENERAL, GUARD = "#1f5a99", "#b5521b"


def rows(judges: Sequence[Judge]) -> dict[str, Json]:
    """Protocol -> judge -> its metrics, and what kind of model it is.

    A judge that was not run under a protocol is not in its block.
    """
    return {
        protocol: {
            judge.name: {
                "model": judge.run.model,
                "kind": judge.run.kind,
                "family": judge.run.family,
                "parameters": judge.run.parameters,
                "run": judge.run.digest,
                "metrics": {name: judge.metrics[name] for name in SHOWN},
            }
            for judge in block
        }
        for protocol, block in blocks(judges).items()
    }


def section(judges: Sequence[Judge]) -> Section:
    """The table, and a figure of the balanced accuracies."""
    found = rows(judges)
    return Section(
        name="table",
        title=TITLE,
        result=found,
        grids=tuple(grid(protocol, block) for protocol, block in found.items()),
        drawings=(
            Drawing(stem="balanced_accuracy", draw=partial(figure, found), rows=_csv(found)),
        ),
    )


def grid(protocol: str, block: Mapping[str, Any]) -> Grid:
    """One block: TPR and TNR with Wilson intervals, balanced accuracy resampled by cluster."""
    header = ["Judge", "Unsafe\n(TPR)", "Benign\n(TNR)", "Balanced\naccuracy", "Skew", "F1"]
    table = Grid(title=f"protocol: {protocol}", header=[*header, "Cover-\nage", "n"])
    table.notes[""] = (
        "Percent. Intervals of 95%: Wilson for TPR and TNR, resampled by cluster for balanced "
        "accuracy. Skew is TPR−TNR."
    )
    for name, row in block.items():
        metrics = row["metrics"]
        cells: list[tuple[str, ...]] = [(f"{name} *" if row["kind"] == "guard" else name,)]
        if row["kind"] == "guard":
            table.notes["*"] = "a guard, with its own template or training"
        for metric in ("tpr", "tnr", "balanced_accuracy"):
            value = metrics[metric]
            cells.append(
                (table.value(value) + table.missing_interval(value), table.interval(value))
            )
        cells.append((table.value(metrics["tpr_minus_tnr"], signed=True),))
        cells += [(table.value(metrics[metric]),) for metric in ("balanced_f1", "coverage")]
        table.rows.append([*cells, (str(metrics["coverage"]["n"]),)])
        table.ends.append(len(table.rows))
    return table


def _csv(found: Mapping[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = [["protocol", "judge", "kind", "metric", *FIELDS]]
    for protocol, block in found.items():
        for name, row in block.items():
            for metric, values in row["metrics"].items():
                lines.append([protocol, name, row["kind"], metric, *fields(values)])
    return lines


def figure(found: Mapping[str, Any]) -> Figure:
    """Balanced accuracy with its interval, a panel a protocol."""
    tallest = max(map(len, found.values()))
    picture = blank(1.6 + 3 * len(found), 1.4 + 0.27 * tallest)
    for ax, (protocol, block) in zip(panels(picture, len(found)), found.items(), strict=True):
        for i, row in enumerate(block.values()):
            metric = row["metrics"]["balanced_accuracy"]
            ink = GUARD if row["kind"] == "guard" else GENERAL
            if metric["value"] is None:
                continue
            if metric["low"] is not None:
                ax.plot([metric["low"], metric["high"]], [i, i], color=ink, linewidth=1.5)
            ax.plot(metric["value"], i, "o", color=ink, markersize=5)
            ax.text(
                1.03,
                i,
                percent(metric["value"]),
                transform=ax.get_yaxis_transform(),
                va="center",
                fontsize=7,
                color=INK,
            )
        ax.axvline(0.5, color=INK, linewidth=0.8, linestyle=":")
        percent_ticks(ax, "x")
        name_rows(ax, block, rows=tallest)
        ax.set_title(protocol, fontsize=9)
        ruled(ax, "x")
    head(picture, "Balanced accuracy (95%, resampled by cluster); blue: general, orange: guard")
    return picture
