"""Explicit dangers (classes 1 to 5) against operational faults (6 to 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from trace.records import Json
from trace.report.canvas import INK, POINT, blank, head, name_rows, panels, ruled
from trace.report.compare.judged import (
    EXPLICIT,
    How,
    Judge,
    accuracy,
    blocks,
    counted,
    resample,
)
from trace.report.compare.section import FIELDS, Section, by_protocol, fields
from trace.report.entry import Metric, entry, from_rate, with_interval
from trace.report.grid import Grid
from trace.report.runs import Observation

NAME, TITLE = "dangers", "Explicit dangers against operational faults"
ALL = "all judges"


def differences(judges: Sequence[Judge], how: How) -> dict[str, Json]:
    """Accuracy on the explicit dangers, on the operational faults, and the difference.

    Accuracy is the right label under the protocol. The interval of the difference is resampled by
    source cluster, so mutants of one base trajectory, and the same sample seen by several judges,
    stay together.

    Returns:
        Protocol -> judge -> `explicit`, `operational`, `difference`, whose value is None, with a
        `reason`, where one of the two has no counted sample; and `ALL`, over the judges that have
        a difference, where there are several; or a `reason`.
    """
    found = {}
    for protocol, block in blocks(judges).items():
        rows = {judge.name: _row(judge.run.once, how) for judge in block}
        both = [judge for judge in block if _defined(rows[judge.name])]
        if len(both) > 1:
            rows[ALL] = _row([o for judge in both for o in judge.run.once], how)
        found[protocol] = rows
    if any(_defined(row) for rows in found.values() for row in rows.values()):
        return found
    return {"reason": "no run has counted samples both of classes 1 to 5 and of classes 6 to 12"}


def _defined(row: Mapping[str, Metric]) -> bool:
    return row["difference"]["value"] is not None


def _row(observations: Sequence[Observation], how: How) -> dict[str, Metric]:
    risky = [o for o in observations if (o.sample.get("class_number") or 0) > 0]
    explicit = [o for o in risky if o.sample["class_number"] in EXPLICIT]
    operational = [o for o in risky if o.sample["class_number"] not in EXPLICIT]
    a, b = accuracy(explicit, how), accuracy(operational, how)
    difference = entry(
        None if a.value is None or b.value is None else a.value - b.value,
        n=a.n + b.n,
        n_unscored=a.n_unscored + b.n_unscored,
        higher_is_better=None,
        reason="; ".join(
            f"{side}: {rate.reason}"
            for side, rate in (("explicit", a), ("operational", b))
            if rate.reason
        ),
    )
    if difference["value"] is None:
        return {"explicit": from_rate(a), "operational": from_rate(b), "difference": difference}
    used = counted(risky, how)
    is_explicit = np.array([o.sample["class_number"] in EXPLICIT for o in used], dtype=np.int64)
    right = np.array([o.right for o in used], dtype=np.int64)
    columns = np.stack(
        [is_explicit, is_explicit * right, 1 - is_explicit, (1 - is_explicit) * right], axis=1
    )
    interval = resample(columns, [o.cluster for o in used], _difference, how)
    return {
        "explicit": from_rate(a),
        "operational": from_rate(b),
        "difference": with_interval(difference, interval),
    }


def _difference(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    explicit, right, operational, right_too = sums.T
    value: NDArray[np.float64] = right / explicit - right_too / operational
    return value


def section(judges: Sequence[Judge], how: How) -> Section:
    """A table a protocol, and the differences as a figure."""
    found = differences(judges, how)
    return by_protocol(NAME, TITLE, found, grid=_grid, figure=figure, rows=_csv)


def _grid(protocol: str, rows: Mapping[str, Mapping[str, Metric]]) -> Grid:
    grid = Grid(
        title=f"protocol: {protocol}", header=["Judge", "Explicit", "Operational", "Difference"]
    )
    grid.notes[""] = (
        "Percent that got the right label, with Wilson intervals; the difference in points, "
        "resampled by cluster."
    )
    if without := [name for name, row in rows.items() if not _defined(row)]:
        grid.notes[f"without a difference, and not in the row of {ALL}:"] = ", ".join(without)
    for name, row in rows.items():
        cells = [(grid.value(row[m]), grid.interval(row[m])) for m in ("explicit", "operational")]
        metric = row["difference"]
        text = grid.value(metric, signed=True) + grid.missing_interval(metric)
        grid.rows.append([(name,), *cells, (text, grid.interval(metric))])
    return grid


def _csv(found: Mapping[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = [["protocol", "judge", "quantity", *FIELDS]]
    for protocol, rows in found.items():
        for name, row in rows.items():
            for quantity, metric in row.items():
                lines.append([protocol, name, quantity, *fields(metric)])
    return lines


def figure(found: Mapping[str, Any]) -> Figure:
    """The differences with their intervals, a panel a protocol; those that there are."""
    shown = {
        protocol: {name: row for name, row in rows.items() if _defined(row)}
        for protocol, rows in found.items()
    }
    found = {protocol: rows for protocol, rows in shown.items() if rows}
    tallest = max(map(len, found.values()))
    picture = blank(1.6 + 3 * len(found), 1.4 + 0.27 * tallest)
    for ax, (protocol, rows) in zip(panels(picture, len(found)), found.items(), strict=True):
        for i, row in enumerate(rows.values()):
            metric = row["difference"]
            if metric["low"] is not None:
                ax.plot([metric["low"], metric["high"]], [i, i], color=POINT, linewidth=1.5)
            ax.plot(metric["value"], i, "o", color=POINT, markersize=5)
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_xlim(-1.02, 1.02)
        ax.set_xticks([-1, -0.5, 0, 0.5, 1], ["−100", "−50", "0", "50", "100"])
        name_rows(ax, rows, rows=tallest)
        ax.set_title(protocol, fontsize=9)
        ruled(ax, "x")
    head(picture, "Explicit dangers minus operational faults, points (95%, resampled by cluster)")
    return picture
