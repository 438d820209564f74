"""Does a model that helped to choose the samples do better on them? Its rank, class by class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import rankdata

from trace.records import Json
from trace.report.canvas import PALE, POINT, bare, blank, head, panels
from trace.report.compare.judged import How, Judge, accuracy, blocks, class_order
from trace.report.compare.section import Section, by_protocol, missing
from trace.report.entry import number
from trace.report.grid import Grid, percent

NAME, TITLE = "check_rank", "The Check judge among the judges"


def ranks(judges: Sequence[Judge], name: str, how: How) -> dict[str, Json]:
    """The rank of one judge by its accuracy on each class, the best being 1.

    Judges that are equal share the mean of their ranks. A judge that has no sample of a class, or
    none that counts, is not ranked in it (arXiv 2604.07223, Table 7, ranks a judge of its own
    construction so).

    Args:
        judges: those compared.
        name: the judge, as it is named in tables or as its model is.
        how: how the unscored count.

    Returns:
        Protocol -> `judge`, `classes` (class -> `rank` and `judges`, how many have a rank, and
        `accuracy`, a fraction; `rank` is None, with a `reason`, where there is none) and the mean
        over classes of `rank`, and of the place that it means from 0 (the best) to 1, as
        `mean_rank` and `mean_place`; or a `reason`.
    """
    found: dict[str, Json] = {}
    reasons = []
    for protocol, block in blocks(judges).items():
        own = _place(block, name)
        if isinstance(own, str):
            reasons.append(f"{protocol}: {own}")
        else:
            rows = {class_: _rank(block, own, class_, how) for class_ in class_order(block)}
            found[protocol] = {
                "judge": block[own].name,
                "classes": rows,
                "mean_rank": _mean(row["rank"] for row in rows.values()),
                "mean_place": _mean(
                    (row["rank"] - 1) / (row["judges"] - 1)
                    for row in rows.values()
                    if row["rank"] is not None
                ),
            }
    why = "; ".join(reasons) or "there are no judges"
    return found or {"reason": f"{name} (task.check_judge) has no rank ({why})"}


def _place(block: Sequence[Judge], name: str) -> int | str:
    """Where the judge stands among those of a protocol, or why it has no rank there.

    A name in tables is of one judge; a model may have several runs where they are mixed.
    """
    exact = [i for i, judge in enumerate(block) if judge.name == name]
    own = exact or [i for i, judge in enumerate(block) if judge.run.model == name]
    if not own:
        return f"{name} was not run under it"
    if len(own) > 1:
        several = ", ".join(block[i].name for i in own)
        return f"{name} stands for several: name one of {several}"
    return own[0] if len(block) > 1 else f"{name} is beside no other judge"


def _rank(block: Sequence[Judge], own: int, class_: str, how: How) -> dict[str, Json]:
    values = [
        accuracy((o for o in judge.run.once if o.class_ == class_), how).value for judge in block
    ]
    ranked = [i for i, value in enumerate(values) if value is not None]
    row = {"judges": len(ranked), "accuracy": number(values[own]), "rank": None}
    if own not in ranked:
        return row | {"reason": "this judge has no counted sample of the class"}
    if len(ranked) == 1:
        return row | {"reason": "no other judge has a counted sample of the class"}
    # To 12 digits: equal shares of different numbers of samples may differ in the last bit.
    places = rankdata([-float(f"{values[i]:.12g}") for i in ranked], method="average")
    return row | {"rank": float(places[ranked.index(own)])}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return number(float(np.mean(known))) if known else None


def section(judges: Sequence[Judge], name: str | None, how: How) -> Section:
    """A table a protocol, and the ranks as a figure."""
    if name is None:
        reason = "no judge is named that chose the samples: type task.check_judge=NAME"
        return missing(NAME, TITLE, reason)
    found = ranks(judges, name, how)
    places = {protocol: _place(block, name) for protocol, block in blocks(judges).items()}
    without = tuple(f"{p}: {place}" for p, place in places.items() if isinstance(place, str))
    return by_protocol(NAME, TITLE, found, grid=_grid, figure=figure, rows=_csv, left_out=without)


def _csv(found: Mapping[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = [["protocol", "judge", "class", "accuracy", "rank", "judges"]]
    for protocol, block in found.items():
        for class_, row in block["classes"].items():
            cells = [row[key] for key in ("accuracy", "rank", "judges")]
            lines.append([protocol, block["judge"], class_, *cells])
    return lines


def _grid(protocol: str, block: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title=f"protocol: {protocol}, judge: {block['judge']}",
        header=["Class", "Accuracy", "Rank", "Judges"],
    )
    grid.notes[""] = "1 is the most accurate; judges that are equal share the mean of their ranks."
    for class_, row in block["classes"].items():
        share = "–" if row["accuracy"] is None else percent(row["accuracy"])
        rank = "–" + grid.mark(row["reason"]) if row["rank"] is None else f"{row['rank']:g}"
        grid.rows.append([(class_,), (share,), (rank,), (str(row["judges"]),)])
    if block["mean_rank"] is not None:
        grid.rows.append([("mean over classes",), ("",), (f"{block['mean_rank']:.1f}",), ("",)])
    return grid


def figure(found: Mapping[str, Any]) -> Figure:
    """The rank on each class, the best on the left; a panel a protocol."""
    classes = list(dict.fromkeys(c for block in found.values() for c in block["classes"]))
    picture = blank(1.8 + 2.2 * len(found), 1.4 + 0.24 * len(classes))
    shown = panels(picture, len(found), share_y=True)
    for ax, (protocol, block) in zip(shown, found.items(), strict=True):
        rows = block["classes"]
        last = max(row["judges"] for row in rows.values())
        for y, class_ in enumerate(classes):
            row = rows.get(class_, {"rank": None})
            if row["rank"] is not None:
                ax.plot([1, row["judges"]], [y, y], color=PALE, linewidth=2.5, zorder=1)
                ax.plot(row["rank"], y, "o", color=POINT, markersize=6, zorder=2)
        ax.set_xlim(0.5, last + 0.5)
        ax.set_xticks(sorted({1, last}))
        ax.set_ylim(len(classes) - 0.5, -0.5)
        ax.set_yticks(range(len(classes)), classes, fontsize=7)
        ax.set_title(protocol, fontsize=9)
        bare(ax)
    head(picture, f"Rank of {next(iter(found.values()))['judge']} by accuracy; 1 is the best")
    return picture
