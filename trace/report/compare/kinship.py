"""Does a judge do better on trajectories that a model of its own family made?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from trace.records import Json
from trace.report.canvas import INK, POINT, blank, head, name_rows, panels, ruled
from trace.report.compare.judged import How, Judge, blocks, counted, left_out, resample
from trace.report.compare.section import FIELDS, Section, by_protocol, fields
from trace.report.entry import Metric, entry, number, with_interval
from trace.report.grid import Grid, percent

NAME, TITLE = "kinship", "Judges on trajectories of their own family"


def related(generator: str, judge: Judge) -> bool:
    """Whether a generator is of the judge's family: the leading letters of their names agree.

    `qwen` and `Qwen3`, `gpt-5-mini` and `gpt-oss` agree; so does the judge's own name.
    """
    names = {judge.run.model, judge.run.family or judge.run.model}
    return _stem(generator) in {_stem(name) for name in names}


def _stem(name: str) -> str:
    letters = re.match(r"[^\W\d_]+", name.casefold())
    return letters[0] if letters else name.casefold()


def differences(judges: Sequence[Judge], how: How) -> dict[str, Json]:
    """Accuracy on samples of the own family minus that on all others.

    A family may simply make easier trajectories: `adjusted` takes away what the judges that are
    not related to those generators show on the same two groups. Intervals are resampled by source
    cluster.

    Returns:
        Protocol -> `judges` (name -> own, other, difference, adjusted) and the means over judges
        `mean_difference` and `mean_adjusted` (as fractions); or a `reason`.
    """
    generators = _generators(judges)
    found: dict[str, Json] = {}
    for protocol, block in blocks(judges).items():
        rows = {}
        for judge in block:
            own = {g for g in generators if related(g, judge)}
            if _lack(judge, generators) is None:
                strangers = [j for j in block if not any(related(g, j) for g in own)]
                rows[judge.name] = {
                    "generators": sorted(own),
                    "strangers": len(strangers),
                    "difference": _metric([judge], [], own, how),
                    "adjusted": _metric([judge], strangers, own, how) if strangers else _none(),
                }
        if rows:
            found[protocol] = {
                "judges": rows,
                **{f"mean_{what}": _mean(rows, what) for what in ("difference", "adjusted")},
            }
    made = ", ".join(sorted(generators))
    return found or {
        "reason": f"no judge's family made some samples, and others the rest: {made} made them"
    }


def _generators(judges: Sequence[Judge]) -> set[str]:
    return {str(o.sample.get("generator")) for judge in judges for o in judge.run.once}


def _lack(judge: Judge, generators: set[str]) -> str | None:
    """Why a judge has not both kinds of samples, if so."""
    own = {g for g in generators if related(g, judge)}
    if not own:
        return "no sample was made by its family"
    return None if generators - own else "all samples were made by its family"


def _mean(rows: Mapping[str, Any], what: str) -> float | None:
    values = [row[what]["value"] for row in rows.values() if row[what]["value"] is not None]
    return number(float(np.mean(values))) if values else None


def _none() -> Metric:
    reason = "every judge is related to these generators"
    return entry(None, n=0, n_unscored=0, higher_is_better=None, reason=reason)


def _metric(judge: Sequence[Judge], strangers: Sequence[Judge], own: set[str], how: How) -> Metric:
    """The difference of one judge, and less that of the strangers if there are any."""
    columns, clusters = [], []
    for at, side in ((0, judge), (4, strangers)):
        for o in (o for one in side for o in counted(one.run.once, how)):
            row = [0] * (8 if strangers else 4)
            place = at + (0 if str(o.sample.get("generator")) in own else 2)
            row[place], row[place + 1] = 1, int(o.right)
            columns.append(row)
            clusters.append(o.cluster)
    table = np.array(columns, dtype=np.int64).reshape(len(columns), -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(_contrast(table.sum(axis=0, keepdims=True).astype(np.float64))[0])
    defined = bool(np.isfinite(value))
    metric = entry(
        value if defined else None,
        n=len(counted(judge[0].run.once, how)),
        n_unscored=sum(not o.scored for o in judge[0].run.once),
        higher_is_better=None,
        reason="one of the groups has no counted sample",
    )
    return with_interval(metric, resample(table, clusters, _contrast, how)) if defined else metric


def _contrast(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = sums[:, 1::2] / sums[:, 0::2]
    gaps = shares[:, 0::2] - shares[:, 1::2]  # own minus other, of the judge and of the strangers
    value: NDArray[np.float64] = gaps[:, 0] if gaps.shape[1] == 1 else gaps[:, 0] - gaps[:, 1]
    return value


def section(judges: Sequence[Judge], how: How) -> Section:
    """A table a protocol, and the differences as a figure."""
    found, generators = differences(judges, how), _generators(judges)
    without = left_out(judges, lambda judge: _lack(judge, generators))
    return by_protocol(NAME, TITLE, found, grid=_grid, figure=figure, rows=_csv, left_out=without)


def _csv(found: Mapping[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = [["protocol", "judge", "quantity", *FIELDS]]
    for protocol, rows in found.items():
        for name, row in rows["judges"].items():
            for what in ("difference", "adjusted"):
                lines.append([protocol, name, what, *fields(row[what])])
    return lines


def _grid(protocol: str, rows: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title=f"protocol: {protocol}",
        header=["Judge", "Own family's generators", "Own − other", "Adjusted"],
    )
    grid.notes[""] = (
        "Points, resampled by cluster. Adjusted: less what unrelated judges show on the same "
        "samples, which may be easier or harder for all. A mean is over the judges with a value."
    )
    for name, row in rows["judges"].items():
        cells = [
            (grid.value(row[what], signed=True) + grid.missing_interval(row[what]),
             grid.interval(row[what]))
            for what in ("difference", "adjusted")
        ]  # fmt: skip
        grid.rows.append([(name,), (", ".join(row["generators"]),), *cells])
    means = (rows[f"mean_{what}"] for what in ("difference", "adjusted"))
    texts = ["–" if mean is None else percent(mean, signed=True) for mean in means]
    grid.rows.append([("mean over judges",), ("",), *((text,) for text in texts)])
    return grid


def figure(found: Mapping[str, Any]) -> Figure:
    """The differences (filled) and the adjusted ones (hollow), a panel a protocol."""
    tallest = max(len(rows["judges"]) for rows in found.values())
    picture = blank(1.6 + 3 * len(found), 1.4 + 0.34 * tallest)
    for ax, (protocol, rows) in zip(panels(picture, len(found)), found.items(), strict=True):
        for i, row in enumerate(rows["judges"].values()):
            for what, shift, face in (("difference", -0.13, POINT), ("adjusted", 0.13, "white")):
                metric = row[what]
                if metric["value"] is None:
                    continue
                y = i + shift
                if metric["low"] is not None:
                    ax.plot([metric["low"], metric["high"]], [y, y], color=POINT, linewidth=1.2)
                ax.plot(metric["value"], y, "o", color=POINT, markerfacecolor=face, markersize=5)
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_xlim(-1.02, 1.02)
        ax.set_xticks([-1, -0.5, 0, 0.5, 1], ["−100", "−50", "0", "50", "100"])
        name_rows(ax, rows["judges"], rows=tallest)
        ax.set_title(protocol, fontsize=9)
        ruled(ax, "x")
    head(picture, "Own family's samples minus others, points; hollow: adjusted by other judges")
    return picture
