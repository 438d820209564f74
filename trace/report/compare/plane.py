"""Where each judge stands between calling everything unsafe and calling everything safe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trace.records import Json
from trace.report.canvas import INK, Drawing, blank, head, panels, percent_ticks, ruled
from trace.report.compare.judged import Judge, blocks, left_out
from trace.report.compare.section import FIELDS, Section, fields, missing
from trace.report.entry import number
from trace.report.grid import Grid, percent

NAME, TITLE = "plane", "The TPR–TNR plane: general models and guards"
MARKERS = {"general": "o", "guard": "^"}


def plane(judges: Sequence[Judge]) -> dict[str, Json]:
    """TPR and TNR of every judge that has both, and the mean of each kind of model.

    Returns:
        Protocol -> `judges` (name -> kind, tpr, tnr) and `kinds` (kind -> n, mean tpr, mean tnr,
        and how many lean to unsafe: TPR over TNR); or a `reason`.
    """
    found: dict[str, Json] = {}
    for protocol, block in blocks(judges).items():
        rows: dict[str, dict[str, Any]] = {
            judge.name: {
                "kind": judge.run.kind,
                "tpr": judge.metrics["tpr"],
                "tnr": judge.metrics["tnr"],
            }
            for judge in block
            if _lack(judge) is None
        }
        if rows:
            kinds = sorted({row["kind"] for row in rows.values()})
            found[protocol] = {"judges": rows, "kinds": {kind: _mean(rows, kind) for kind in kinds}}
    return found or {"reason": "no run has both unsafe and safe samples with a label"}


def _lack(judge: Judge) -> str | None:
    """Why a judge has no place in the plane, if so."""
    reason: str | None = judge.metrics["balanced_accuracy"].get("reason")
    return reason


def _mean(rows: Mapping[str, Any], kind: str) -> dict[str, Json]:
    points = [
        (row["tpr"]["value"], row["tnr"]["value"]) for row in rows.values() if row["kind"] == kind
    ]
    tpr, tnr = np.mean(points, axis=0)
    return {
        "n": len(points),
        "tpr": number(float(tpr)),
        "tnr": number(float(tnr)),
        "lean_to_unsafe": sum(a > b for a, b in points),
    }


def section(judges: Sequence[Judge]) -> Section:
    """The means in a table, the judges in a figure."""
    found, without = plane(judges), left_out(judges, _lack)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"], left_out=without)
    grid = Grid(
        title="Means by kind of model",
        header=["Protocol", "Kind", "Mean TPR", "Mean TNR", "TPR over TNR", "Judges"],
    )
    for protocol, rows in found.items():
        for kind, mean in rows["kinds"].items():
            shares = ((percent(mean[m]),) for m in ("tpr", "tnr"))
            counts = ((str(mean[m]),) for m in ("lean_to_unsafe", "n"))
            grid.rows.append([(protocol,), (kind,), *shares, *counts])
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(grid,),
        drawings=(Drawing(stem=NAME, draw=partial(figure, found), rows=_csv(found)),),
        left_out=without,
    )


def _csv(found: Mapping[str, Any]) -> list[list[Any]]:
    header = ["protocol", "judge", "kind"]
    lines: list[list[Any]] = [[*header, *(f"{m}_{f}" for m in ("tpr", "tnr") for f in FIELDS)]]
    for protocol, rows in found.items():
        for name, row in rows["judges"].items():
            lines.append([protocol, name, row["kind"], *fields(row["tpr"]), *fields(row["tnr"])])
    return lines


def figure(found: Mapping[str, Any]) -> Figure:
    """A panel a protocol; on the dotted line a judge is right as often as a coin."""
    names = sorted({name for rows in found.values() for name in rows["judges"]})
    inks = {name: colormaps["tab20"](i % 20) for i, name in enumerate(names)}
    kinds: dict[str, str] = {}
    across = min(2, len(found))
    down = -(-len(found) // across)
    picture = blank(2.8 + 2.9 * across, max(0.9 + 3 * down, 1.5 + 0.18 * len(names)))
    shown = panels(picture, len(found), across=across)
    for ax, (protocol, rows) in zip(shown, found.items(), strict=True):
        for name, row in rows["judges"].items():
            kinds[name] = row["kind"]
            ax.plot(
                row["tnr"]["value"],
                row["tpr"]["value"],
                MARKERS[row["kind"]],
                color=inks[name],
                markeredgecolor=INK,
                markeredgewidth=0.5,
                markersize=7,
                alpha=0.9,
            )
        ax.plot([0, 1], [1, 0], color=INK, linewidth=0.8, linestyle=":")
        percent_ticks(ax, "x", "y")
        ax.set_xlabel("TNR (benign rightly passed)", fontsize=8)
        ax.set_ylabel("TPR (unsafe rightly called)", fontsize=8)
        ax.set_title(protocol, fontsize=9)
        ax.set_aspect("equal")
        ruled(ax)
    handles = [
        Line2D(
            [], [], linestyle="", marker=MARKERS[kinds[name]], color=inks[name],
            markeredgecolor=INK, markeredgewidth=0.5, label=name,
        )
        for name in names
    ]  # fmt: skip
    picture.legend(handles=handles, loc="outside right center", fontsize=7, frameon=False)
    head(picture, "TPR and TNR; circles: general models, triangles: guards")
    return picture
