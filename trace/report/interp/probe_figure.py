"""The curve of a probe over the layers, and all that it has to stand out from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from trace.report.canvas import INK, Drawing, blank, head, ruled
from trace.report.grid import percent
from trace.report.interp.layers import Layer, relative_depth
from trace.report.labels import short

_MODEL, _CONTROL, _NULL = "#0072b2", "#d55e00", "#777777"
_BASELINES = ("#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Those of Okabe and Ito (2008), which the colour-blind can tell apart; dashes differ, too."""
_DASHES = ((0, (6, 2)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2, 1, 2, 1, 2)))
_MOST_POINTS = 30
"""With more layers a mark at each would be a thick line."""
_NULLS = ("mean", "q95", "q99", "max")
_HEADER = [
    "curve", "layer", "drawn_at", "balanced_accuracy", "low", "high", "auc", "auc_low", "auc_high",
    "p", *(f"null_{name}" for name in _NULLS), "seeds_low", "seeds_high", "seeds_mean",
    "selectivity", "cosine_difference", "strengths",
]  # fmt: skip


def probe_drawings(title: str, result: Mapping[str, Any]) -> list[Drawing]:
    """The figure `layers` and the numbers behind it.

    The control model's layers are drawn at their relative depth: its last above the last of the
    model.
    """
    found = result["breakdowns"]
    control = found["control"]
    rows = [_row("model", row, row["layer"]) for row in found["layers"]]
    if control is not None:
        depths = relative_depth(control["layers"], found["layers"])
        rows += [_row("control", row, x) for row, x in zip(control["layers"], depths, strict=True)]
    rows += [_row(row["name"], row, None) for row in found["baselines"]]
    return [
        Drawing(stem="layers", draw=partial(_figure, title, result), rows=[list(_HEADER), *rows])
    ]


def _row(curve: str, row: Layer, drawn_at: float | None) -> list[Any]:
    accuracy, area = row["balanced_accuracy"], row["auc"]
    null, seeds = row.get("null") or {}, row.get("seeds") or {}
    return [
        curve, row.get("layer"), drawn_at,
        accuracy["value"], accuracy["low"], accuracy["high"],
        area["value"], area["low"], area["high"], row.get("p"),
        *(null.get(name) for name in _NULLS),
        *(seeds.get(name) for name in ("low", "high", "mean")),
        row.get("selectivity"), row.get("cosine_difference"),
        " ".join(f"{c:g}" for c in row.get("strength") or ()),
    ]  # fmt: skip


def _figure(title: str, result: Mapping[str, Any]) -> Figure:
    found = result["breakdowns"]
    layers, control = found["layers"], found["control"]
    at = [float(row["layer"]) for row in layers]
    picture = blank(5.4, 4.3)
    axes = picture.add_subplot()
    _draw_curve(axes, at, layers, "probe (band: 95% interval)", _MODEL)
    if control is not None:
        name = short(f"control: {control['model']}")
        depths = relative_depth(control["layers"], layers)
        _draw_curve(axes, depths, control["layers"], name, _CONTROL, dashed=True)
    _draw_findings(axes, result)
    _draw_null(axes, at, layers)
    for i, row in enumerate(found["baselines"]):
        value = row["balanced_accuracy"]["value"]
        if value is not None:
            line = axes.axhline(value, color=_BASELINES[i % 4], linewidth=1.0, label=row["name"])
            line.set_linestyle(_DASHES[i % 4])
    axes.axhline(0.5, color=INK, linewidth=0.8, linestyle=":", label="chance")
    _scale(axes, at)
    beside = "" if control is None else "; control model at its relative depth"
    axes.set_xlabel(f"decoder layer{beside}", fontsize=8)
    axes.set_ylabel("balanced accuracy", fontsize=8)
    ruled(axes)
    picture.legend(loc="outside lower center", ncols=2, fontsize=7, frameon=False)
    head(picture, title)
    return picture


def _draw_findings(axes: Axes, result: Mapping[str, Any]) -> None:
    """The peak, and the layer from which on no shuffle is as good."""
    peak, first = result["metrics"]["peak"], result["breakdowns"]["shuffles"]["first_layer"]
    if peak["value"] is not None:
        axes.plot(
            [peak["layer"]], [peak["value"]], marker="o", markersize=9, linestyle="", zorder=4,
            markerfacecolor="none", markeredgecolor=INK, label=f"peak, layer {peak['layer']}",
        )  # fmt: skip
    if first is not None and len(result["breakdowns"]["layers"]) > 1:
        name = "from here on beyond all shuffles"
        axes.axvline(first, color=_NULL, linewidth=0.8, linestyle="--", label=name)


def _draw_curve(
    axes: Axes,
    at: Sequence[float],
    layers: Sequence[Layer],
    name: str,
    ink: str,
    *,
    dashed: bool = False,
) -> None:
    value, low, high = (
        [_or_gap(row["balanced_accuracy"][end]) for row in layers]
        for end in ("value", "low", "high")
    )
    style = "--" if dashed else "-"
    mark = "o" if len(layers) <= _MOST_POINTS else ""
    axes.plot(at, value, style, color=ink, linewidth=1.3, marker=mark, markersize=3, label=name,
              zorder=3)  # fmt: skip
    axes.fill_between(at, low, high, color=ink, alpha=0.1 if dashed else 0.18, linewidth=0)
    if len(layers) == 1:  # a band without width cannot be seen
        axes.plot([at[0], at[0]], [low[0], high[0]], color=ink, linewidth=1.2)


def _draw_null(axes: Axes, at: Sequence[float], layers: Sequence[Layer]) -> None:
    if all(row["null"] is None for row in layers):
        return
    mean, q95, most = (
        [_or_gap((row["null"] or {}).get(name)) for row in layers]
        for name in ("mean", "q95", "max")
    )
    axes.fill_between(at, mean, q95, color=_NULL, alpha=0.2, linewidth=0)
    for values, style, mark, name in (
        (mean, "-.", "x", "shuffled labels: mean"),
        (q95, "-", "_", "shuffled labels: 95% quantile"),
        (most, (0, (1, 3)), "^", "shuffled labels: highest"),
    ):
        line: dict[str, Any] = {"linestyle": style, "linewidth": 0.9}
        if len(layers) == 1:  # a line of one point cannot be seen
            line = {"linestyle": "", "marker": mark, "markersize": 5}
        axes.plot(at, values, color=_NULL, label=name, **line)


def _or_gap(value: float | None) -> float:
    """What is not known leaves a gap in a line."""
    return math.nan if value is None else value


def _scale(axes: Axes, at: Sequence[float]) -> None:
    """Percent from below chance to 100, and whole numbers of layers."""
    lowest = min(0.4, axes.dataLim.y0 - 0.02)
    axes.set_ylim(lowest, 1.02)
    ticks = [i / 10 for i in range(11) if i / 10 >= lowest]
    axes.set_yticks(ticks, [f"{percent(tick).removesuffix('.0')}%" for tick in ticks])
    room = max(0.5, 0.02 * (max(at) - min(at)))
    axes.set_xlim(min(at) - room, max(at) + room)
    numbers = at if len(at) == 1 else MaxNLocator(9, integer=True).tick_values(min(at), max(at))
    shown = [number for number in numbers if min(at) <= number <= max(at)]
    axes.set_xticks(shown, [f"{number:g}" for number in shown])
    axes.tick_params(labelsize=7)
