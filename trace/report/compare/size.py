"""Accuracy against model size within a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import (
    INK,
    blank,
    head,
    legend_below,
    panels,
    percent_ticks,
    ruled,
)
from trace.report.compare.judged import Judge, blocks, left_out
from trace.report.compare.section import FIELDS, Section, by_protocol, fields
from trace.report.grid import Grid

NAME, TITLE = "size", "Accuracy against size within a family"
METRIC = "balanced_accuracy"
TICKS = [a * 10**b for b in range(-2, 4) for a in (1, 3)]


def by_size(judges: Sequence[Judge]) -> dict[str, Json]:
    """Balanced accuracy of the members of a family, smallest first.

    Returns:
        Protocol -> family -> `members` (judge, parameters in billions, metric) and `monotone`
        (whether accuracy never falls with size); families with at least two sizes; or a `reason`.
    """
    found: dict[str, Json] = {}
    for protocol, block in blocks(judges).items():
        families: dict[str, list[Judge]] = {}
        for judge in block:
            if judge.run.family and not _lack(judge):
                families.setdefault(judge.run.family, []).append(judge)
        rows = {
            family: _family(members)
            for family, members in sorted(families.items())
            if len({judge.run.parameters for judge in members}) > 1
        }
        if rows:
            found[protocol] = rows
    return found or {
        "reason": "no family has judges of two sizes (model.family and model.parameters of a run)"
    }


def _lack(judge: Judge) -> str | None:
    """What a judge has not that a place in the table needs."""
    if not judge.run.family:
        return "no model.family"
    if not judge.run.parameters:
        return "no model.parameters"
    reason: str | None = judge.metrics[METRIC].get("reason")
    return reason


def _family(judges: Sequence[Judge]) -> dict[str, Json]:
    members = sorted(judges, key=lambda judge: (judge.run.parameters or 0, judge.name))
    values = [judge.metrics[METRIC]["value"] for judge in members]
    return {
        "members": [
            {
                "judge": judge.name,
                "parameters": judge.run.parameters,
                METRIC: judge.metrics[METRIC],
            }
            for judge in members
        ],
        "monotone": values == sorted(values),
    }


def section(judges: Sequence[Judge]) -> Section:
    """A table a protocol, and a line a family."""
    found = by_size(judges)

    def why(judge: Judge) -> str | None:
        alone = judge.run.family not in found.get(judge.run.protocol, {})
        return _lack(judge) or ("the only size of its family" if alone else None)

    without = left_out(judges, why)
    return by_protocol(NAME, TITLE, found, grid=_grid, figure=figure, rows=_csv, left_out=without)


def _grid(protocol: str, rows: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title=f"protocol: {protocol}",
        header=["Family", "Judge", "Parameters (10⁹)", "Balanced accuracy", "Rises with size"],
    )
    grid.notes[""] = (
        "A comparison of published models: they differ in more than their size, so a difference "
        "cannot be put down to it."
    )
    for family, row in rows.items():
        for i, member in enumerate(row["members"]):
            metric = member[METRIC]
            rises = ("yes" if row["monotone"] else "no") if i == 0 else ""
            grid.rows.append(
                [
                    (family if i == 0 else "",),
                    (member["judge"],),
                    (f"{member['parameters']:g}",),
                    (grid.value(metric), grid.interval(metric)),
                    (rises,),
                ]
            )
    return grid


def _csv(found: Mapping[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = [["protocol", "family", "judge", "parameters", *FIELDS]]
    for protocol, rows in found.items():
        for family, row in rows.items():
            for m in row["members"]:
                lines.append([protocol, family, m["judge"], m["parameters"], *fields(m[METRIC])])
    return lines


def figure(found: Mapping[str, Any]) -> Figure:
    """Balanced accuracy over size on a logarithmic axis, a panel a protocol."""
    picture = blank(1.6 + 2.6 * len(found), 3.6)
    names = sorted({family for rows in found.values() for family in rows})
    inks = {family: f"C{i % 10}" for i, family in enumerate(names)}
    shown = panels(picture, len(found), share_y=True)
    for ax, (protocol, rows) in zip(shown, found.items(), strict=True):
        for family, row in rows.items():
            sizes = [m["parameters"] for m in row["members"]]
            values = [m[METRIC]["value"] for m in row["members"]]
            ax.plot(sizes, values, "o-", color=inks[family], label=family, markersize=4)
            for size, m in zip(sizes, row["members"], strict=True):
                if m[METRIC]["low"] is not None:
                    ends = [m[METRIC]["low"], m[METRIC]["high"]]
                    ax.plot([size, size], ends, color=inks[family], linewidth=1, alpha=0.6)
        ax.axhline(0.5, color=INK, linewidth=0.8, linestyle=":")
        ax.set_xscale("log")
        sizes = [m["parameters"] for row in rows.values() for m in row["members"]]
        ticks = [t for t in TICKS if min(sizes) / 2 <= t <= 2 * max(sizes)]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set_xticks([], minor=True)
        percent_ticks(ax, "y")
        ax.set_xlabel("parameters (10⁹)", fontsize=8)
        ax.set_title(protocol, fontsize=9)
        ruled(ax)
    legend_below(picture, shown)
    head(picture, "Balanced accuracy against size within a family (95%, resampled by cluster)")
    return picture
