"""How much a judge's accuracies change when it is asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import (
    INK,
    Drawing,
    blank,
    head,
    legend_below,
    panels,
    percent_ticks,
    ruled,
)
from trace.report.compare.judged import How, Judge, accuracy, blocks, class_order, left_out
from trace.report.compare.section import Section, missing
from trace.report.entry import number
from trace.report.grid import Grid, percent
from trace.stats.correlation import pearson

NAME, TITLE = "rerun", "Asked again (epochs)"


def stability(judges: Sequence[Judge], how: How) -> dict[str, Json]:
    """The accuracy of each class in the first epoch against each later one.

    Returns:
        Protocol -> judge -> later epoch -> `classes` (class -> first, later), `without` (classes
        that have no counted sample in one of the two), `mean_change` and
        `largest_change` (|Δ| over classes, as fractions), `r` over classes (None with its
        `r_reason`), `same_label` (share of the samples), `fresh` (share of the later completions
        that are not the first one's); or a `reason`.
    """
    found: dict[str, Json] = {}
    for protocol, block in blocks(judges).items():
        rows = {
            judge.name: {
                str(epoch): _against_first(judge, epoch, how)
                for epoch in range(1, judge.run.epochs)
            }
            for judge in block
            if judge.run.epochs > 1
        }
        if rows:
            found[protocol] = rows
    return found or {"reason": "no run has several epochs (epochs=2)"}


def _against_first(judge: Judge, epoch: int, how: How) -> dict[str, Json]:
    first = {o.id: o for o in judge.run.once}
    later = {o.id: o for o in judge.run.observations if o.epoch == epoch}
    classes, without = {}, []
    for name in class_order([judge]):
        values = [
            accuracy((o for o in epoch_.values() if o.class_ == name), how).value
            for epoch_ in (first, later)
        ]
        if None in values:
            without.append(name)
        else:
            classes[name] = dict(zip(("first", "later"), map(number, values), strict=True))
    a, b = (np.array([row[side] for row in classes.values()]) for side in ("first", "later"))
    change = np.abs(a - b)
    r = pearson(a, b)
    same = [first[i].verdict.label == later[i].verdict.label for i in first]
    fresh = [first[i].key != later[i].key for i in first]
    return {
        "classes": classes,
        "without": without,
        "mean_change": number(float(change.mean())) if len(change) else None,
        "largest_change": number(float(change.max())) if len(change) else None,
        "r": number(r.value),
        "r_reason": r.reason,
        "same_label": number(float(np.mean(same))),
        "fresh": number(float(np.mean(fresh))),
    }


def section(judges: Sequence[Judge], how: How) -> Section:
    """A row a judge and later epoch, and the accuracies as a figure."""
    found = stability(judges, how)
    without = left_out(judges, lambda judge: "one epoch" if judge.run.epochs == 1 else None)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"], left_out=without)
    grid = Grid(
        title="The first epoch against later ones",
        header=["Protocol", "Judge", "Epoch", "Mean |Δ| of a class", "Largest |Δ|",
                "r over classes", "Same label", "Fresh"],
    )  # fmt: skip
    grid.notes[""] = (
        "Δ in percentage points; r over few classes is near 1 whenever they differ much from each "
        "other. Fresh: share of later completions that were asked for anew."
    )
    lines: list[list[Any]] = [["protocol", "judge", "epoch", "class", "first", "later"]]
    for protocol, name, epoch, row in _rows(found):
        r = f"{row['r']:.4f}" if row["r"] is not None else "–" + grid.mark(row["r_reason"])
        shares = [
            "–" if row[key] is None else percent(row[key])
            for key in ("mean_change", "largest_change")
        ]
        if row["without"]:
            shares[0] += grid.mark(f"without {', '.join(row['without'])}: no label in one of both")
        same = [percent(row[key]) for key in ("same_label", "fresh")]
        grid.rows.append([(text,) for text in (protocol, name, epoch, *shares, r, *same)])
        for class_, pair in row["classes"].items():
            lines.append([protocol, name, epoch, class_, pair["first"], pair["later"]])
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(grid,),
        drawings=(Drawing(stem=NAME, draw=partial(figure, found), rows=lines),),
        left_out=without,
    )


def _rows(found: Mapping[str, Any]) -> list[tuple[str, str, str, Mapping[str, Any]]]:
    return [
        (protocol, name, epoch, row)
        for protocol, block in found.items()
        for name, epochs in block.items()
        for epoch, row in epochs.items()
    ]


def figure(found: Mapping[str, Any]) -> Figure:
    """The accuracy of each class asked again, over the first time; a panel a protocol."""
    picture = blank(1.2 + 2.7 * len(found), 3.7)
    shown = panels(picture, len(found), share_y=True)
    for ax, (protocol, block) in zip(shown, found.items(), strict=True):
        for i, (name, epochs) in enumerate(block.items()):
            pairs = [pair for row in epochs.values() for pair in row["classes"].values()]
            first, later = ([pair[side] for pair in pairs] for side in ("first", "later"))
            ax.plot(first, later, "o", color=f"C{i % 10}", label=name, markersize=5, alpha=0.8)
        ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":")
        percent_ticks(ax, "x", "y")
        ax.set_xlabel("first time", fontsize=8)
        ax.set_title(protocol, fontsize=9)
        ax.set_aspect("equal")
        ruled(ax)
    shown[0].set_ylabel("asked again", fontsize=8)
    legend_below(picture, shown)
    head(picture, "Accuracy of each class, asked twice")
    return picture
