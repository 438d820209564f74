"""Accuracy by the length of the trajectory, overall and within each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

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
from trace.report.compare.judged import (
    How,
    Judge,
    accuracy,
    blocks,
    class_order,
    counted,
    left_out,
    resample,
    without_label,
)
from trace.report.compare.section import FIELDS, Section, fields, missing
from trace.report.entry import Metric, entry, from_rate, with_interval
from trace.report.grid import Grid
from trace.report.runs import Observation

NAME, TITLE = "length", "By length of the trajectory"
STEPS = ((2, 4), (5, 9), (10, 17), (18, None))
"""The bins of the paper's Table 12, both ends included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """A range of lengths, both ends included; `high` is None where it is open."""

    low: int
    high: int | None

    @property
    def name(self) -> str:
        """`5–9` or `18+`."""
        return f"{self.low}+" if self.high is None else f"{self.low}–{self.high}"

    def holds(self, length: int) -> bool:
        """Whether a length is in it."""
        return self.low <= length and (self.high is None or length <= self.high)


def step_bins() -> list[Bin]:
    """Those of the paper."""
    return [Bin(low=low, high=high) for low, high in STEPS]


def quarters(lengths: Sequence[int]) -> list[Bin]:
    """Four bins of about equally many samples; fewer where lengths repeat."""
    cuts = sorted({int(q) for q in np.quantile(lengths, (0.25, 0.5, 0.75), method="higher")})
    starts = sorted({min(lengths), *(cut for cut in cuts if cut > min(lengths))})
    ends = [*(start - 1 for start in starts[1:]), None]
    return [Bin(low=low, high=high) for low, high in zip(starts, ends, strict=True)]


def by_length(judges: Sequence[Judge], key: str, bins: Sequence[Bin], how: How) -> dict[str, Json]:
    """Accuracy over sample × judge in bins of `sample[key]`.

    Long trajectories may hold other classes than short ones; so the rise from the first to the
    last bin is told overall and within the classes (the mean over classes that have both bins).
    Both are resampled by source cluster.

    Returns:
        Protocol -> `bins` (name -> metric), `classes` (class -> bin -> metric), `rise`,
        `rise_within`, and `outside` (observations in no bin or without a length), or the `reason`
        of this protocol; or a `reason` where none has any.
    """
    found: dict[str, Json] = {}
    for protocol, block in blocks(judges).items():
        observations = [o for judge in block for o in judge.run.once]
        inside: dict[str, list[Observation]] = {b.name: [] for b in bins}
        for o in observations:
            length = o.sample.get(key)
            if length is not None:
                for b in bins:
                    if b.holds(length):
                        inside[b.name].append(o)
        kept = sum(map(len, inside.values()))
        if not kept:
            known = any(o.sample.get(key) is not None for o in observations)
            outside = f" of {bins[0].low} or more" if known else ""
            found[protocol] = {"reason": f"no sample has `{key}`{outside}"}
            continue
        names = class_order(block)
        ends = (inside[bins[0].name], inside[bins[-1].name])
        found[protocol] = {
            "bins": {name: from_rate(accuracy(items, how)) for name, items in inside.items()},
            "classes": {
                class_: {
                    name: from_rate(accuracy((o for o in items if o.class_ == class_), how))
                    for name, items in inside.items()
                }
                for class_ in names
            },
            "rise": _rise(*ends, [], how),
            "rise_within": _rise(*ends, names, how),
            "outside": len(observations) - kept,
        }
    if all("reason" in rows for rows in found.values()):
        reasons = dict.fromkeys(rows["reason"] for rows in found.values())
        return {"reason": "; ".join(reasons) or f"no sample has `{key}`"}
    return found


def _rise(
    first: Sequence[Observation], last: Sequence[Observation], names: Sequence[str], how: How
) -> Metric:
    """The accuracy of the last bin minus that of the first, within `names` if there are any."""
    used = [(o, False) for o in counted(first, how)] + [(o, True) for o in counted(last, how)]
    both = [
        name for name in names if {late for o, late in used if o.class_ == name} == {False, True}
    ]
    strata = both if names else [""]
    place = {name: 4 * i for i, name in enumerate(strata)}
    columns = np.zeros((len(used), 4 * len(strata)), dtype=np.int64)
    for row, (o, late) in zip(columns, used, strict=True):
        at = place.get(o.class_ if names else "")
        if at is not None:
            row[at + 2 * late] = 1
            row[at + 2 * late + 1] = o.right
    value: float | None = None
    if strata:
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = float(_mean_rise(columns.sum(axis=0, keepdims=True).astype(float))[0])
        value = mean if np.isfinite(mean) else None
    reason = "no class has samples in both bins" if names else "a bin is empty"
    metric = entry(
        value,
        n=int(columns[:, 0::2].sum()),
        n_unscored=sum(not o.scored for o in (*first, *last)),
        higher_is_better=None,
        reason=reason,
    )
    if value is None:
        return metric
    return with_interval(metric, resample(columns, [o.cluster for o, _ in used], _mean_rise, how))


def _mean_rise(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    n_first, right_first, n_last, right_last = sums.reshape(len(sums), -1, 4).transpose(2, 0, 1)
    value: NDArray[np.float64] = np.mean(right_last / n_last - right_first / n_first, axis=1)
    return value


def section(judges: Sequence[Judge], how: How) -> Section:
    """By steps and by characters: tables, and a figure of each."""
    characters = [o.sample["chars"] for j in judges for o in j.run.once if "chars" in o.sample]
    kinds = {"steps": step_bins()}
    if characters:
        kinds["chars"] = quarters(characters)
    found = {key: by_length(judges, key, bins, how) for key, bins in kinds.items()}
    whole = {key: rows for key, rows in found.items() if "reason" not in rows}
    without = left_out(judges, lambda judge: without_label(judge, how))
    if not whole:
        reasons = "; ".join(rows["reason"] for rows in found.values())
        return missing(NAME, TITLE, reasons, left_out=without)
    without += tuple(f"{key}: {rows['reason']}" for key, rows in found.items() if key not in whole)
    without += tuple(
        f"{key}, {protocol}: {rows['reason']}"
        for key, block in whole.items()
        for protocol, rows in block.items()
        if "reason" in rows
    )
    shown = {
        key: {protocol: rows for protocol, rows in block.items() if "reason" not in rows}
        for key, block in whole.items()
    }
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=tuple(
            _grid(key, protocol, rows)
            for key, block in shown.items()
            for protocol, rows in block.items()
        ),
        drawings=tuple(
            Drawing(stem=f"length_{key}", draw=partial(figure, key, block), rows=_csv(block))
            for key, block in shown.items()
        ),
        left_out=without,
    )


def _grid(key: str, protocol: str, rows: Mapping[str, Any]) -> Grid:
    grid = Grid(title=f"by {key}, protocol: {protocol}", header=["Class", *rows["bins"]])
    grid.notes[""] = (
        "Percent that got the right label. The Wilson intervals take sample × judge as "
        "independent: they are too narrow where there are several judges. A rise (last bin minus "
        "first, in points) is resampled by cluster."
    )
    for name, row in {"all": rows["bins"], **rows["classes"]}.items():
        cells = [(grid.value(m), grid.interval(m), f"n={m['n']}") for m in row.values()]
        grid.rows.append([(name,), *cells])
    for name in ("rise", "rise_within"):
        metric = rows[name]
        text = grid.value(metric, signed=True) + grid.missing_interval(metric)
        blank_cells: list[tuple[str, ...]] = [("",)] * (len(rows["bins"]) - 1)
        label = "rise" if name == "rise" else "rise within the classes"
        grid.rows.append([(label,), *blank_cells, (text, grid.interval(metric))])
    if rows["outside"]:
        grid.notes["outside the bins:"] = str(rows["outside"])
    return grid


def _csv(block: Mapping[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = [["protocol", "class", "bin", *FIELDS]]
    for protocol, rows in block.items():
        for name, row in {"all": rows["bins"], **rows["classes"]}.items():
            for bin_, metric in row.items():
                lines.append([protocol, name, bin_, *fields(metric)])
        for name in ("rise", "rise_within"):
            lines.append([protocol, name, "", *fields(rows[name])])
    return lines


def figure(key: str, block: Mapping[str, Any]) -> Figure:
    """Accuracy over the bins: all (thick, with intervals) and every class (thin)."""
    picture = blank(1 + 2.9 * len(block), 4.2)
    shown = panels(picture, len(block), share_y=True)
    for ax, (protocol, rows) in zip(shown, block.items(), strict=True):
        for i, (name, row) in enumerate(rows["classes"].items()):
            points = [(x, m["value"]) for x, m in enumerate(row.values()) if m["value"] is not None]
            style = "-" if i < 10 else "--"
            if points:
                ax.plot(*zip(*points, strict=True), style, color=f"C{i % 10}", linewidth=1,
                        label=name, alpha=0.8)  # fmt: skip
        bins = list(rows["bins"].values())
        points = [(x, m) for x, m in enumerate(bins) if m["value"] is not None]
        ax.plot([x for x, _ in points], [m["value"] for _, m in points], "o-", color=INK,
                linewidth=2, markersize=4, label="all")  # fmt: skip
        for x, m in points:
            ax.plot([x, x], [m["low"], m["high"]], color=INK, linewidth=1.5)
        ax.set_xticks(range(len(bins)), list(rows["bins"]))
        ax.margins(x=0.12)
        percent_ticks(ax, "y")
        ax.set_xlabel("steps" if key == "steps" else "characters", fontsize=8)
        ax.set_title(protocol, fontsize=9)
        ruled(ax, "y")
    legend_below(picture, shown)
    head(picture, f"Accuracy by {'steps' if key == 'steps' else 'characters'}, over all judges")
    return picture
