"""How the answers change with the strength of a push."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullLocator

from trace.report.canvas import INK, Drawing, blank, head, percent_ticks, ruled
from trace.report.grid import decimal
from trace.report.interp.doses import (
    NAMES,
    RANDOM,
    Dose,
    adjusted,
    by_direction,
    is_incoherent,
    is_significant,
)
from trace.report.interp.words import dose

_INKS = {"difference": "#0072b2", "probe": "#009e73", RANDOM: "#d55e00"}
"""Of Okabe and Ito (2008), which the colour-blind can tell apart; marks differ, too."""
_MARKS = {"difference": "o", "probe": "D", RANDOM: "s"}
_STEP = 0.012
"""By how much of the axis two directions stand apart, so that neither hides the other."""
_APART = 0.07
"""The least of the axis between two strengths that are written."""
_HEADER = [
    "direction", "alpha", "ratio", "n", "n_unscored", "positives", "share", "low", "high",
    "fisher_p", "fisher_adjusted", "mcnemar_b", "mcnemar_c", "mcnemar_p", "mcnemar_adjusted",
    "adjusted_p_of_mark", "repetition", "words", "perplexity", "incoherent",
]  # fmt: skip


def steer_drawings(title: str, result: Mapping[str, Any]) -> list[Drawing]:
    """The figure `doses` and the numbers behind it."""
    found = result["breakdowns"]
    rows = [_row(row) for rows in by_direction(found["doses"]).values() for row in rows]
    draw = partial(_figure, title, found["doses"], found["vector"]["outcome"])
    return [Drawing(stem="doses", draw=draw, rows=[list(_HEADER), *rows])]


def _row(row: Dose) -> list[Any]:
    share, fisher, mcnemar = row["share"], row["fisher"] or {}, row["mcnemar"] or {}
    coherence = row["coherence"]
    return [
        *(row[key] for key in ("direction", "alpha", "ratio", "n", "n_unscored", "positives")),
        share["value"], share["low"], share["high"],
        *(fisher.get(key) for key in ("p", "adjusted")),
        *(mcnemar.get(key) for key in ("b", "c", "p", "adjusted")),
        adjusted(row),
        *(coherence[key] for key in ("repetition", "words", "perplexity")), row["incoherent"],
    ]  # fmt: skip


def _figure(title: str, doses: Sequence[Dose], outcome: str) -> Figure:
    picture = blank(5.4, 4.8)
    picture.set_layout_engine("constrained", h_pad=0.06)
    top, below = picture.subplots(2, sharex=True, height_ratios=[3, 1.2])
    groups = by_direction(doses)
    alphas = sorted({row["alpha"] for row in doses})
    span = alphas[-1] - alphas[0] or 10.0  # one alone stands in the middle
    for i, (name, rows) in enumerate(groups.items()):
        shift = (i - (len(groups) - 1) / 2) * _STEP * span
        path = _through_zero(rows, doses)
        _draw_shares(top, name, rows, path, shift)
        _draw_coherence(below, name, rows, path, shift, perplexity=_has_perplexity(doses))
    _explain(top, doses)
    _scale(top, below, alphas, span, doses)
    picture.legend(
        *top.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7,
        frameon=False,
    )  # fmt: skip
    head(picture, f"{title}: share of {outcome}")
    return picture


def _through_zero(rows: Sequence[Dose], doses: Sequence[Dose]) -> list[Dose]:
    """The doses that a direction's line joins: without a push they are all the same."""
    zero = [row for row in doses if row["alpha"] == 0]
    joined = rows if any(row["alpha"] == 0 for row in rows) else [*rows, *zero[:1]]
    return sorted(joined, key=lambda row: row["alpha"])


def _draw_shares(
    axes: Axes, name: str, rows: Sequence[Dose], path: Sequence[Dose], shift: float
) -> None:
    ink = _INKS.get(name, INK)
    line = "--" if name == RANDOM else "-"
    along = [row for row in path if row["share"]["value"] is not None]
    xs, ys = [row["alpha"] + shift for row in along], [row["share"]["value"] for row in along]
    axes.plot(xs, ys, line, color=ink, linewidth=1.0, alpha=0.8)
    for row in rows:
        share, x = row["share"], row["alpha"] + shift
        if share["value"] is None:
            continue
        if share["low"] is not None:
            axes.plot([x, x], [share["low"], share["high"]], color=ink, linewidth=1.2)
        axes.plot(x, share["value"], marker=_MARKS.get(name, "o"), markersize=5.5, color=ink,
                  markerfacecolor="white" if is_incoherent(row) else ink)  # fmt: skip
        if is_significant(row):
            above = share["value"] if share["high"] is None else share["high"]
            axes.plot(x, above + 0.05, marker="*", markersize=6, color=ink, clip_on=False)
    axes.plot([], [], line, marker=_MARKS.get(name, "o"), markersize=5, color=ink,
              label=NAMES.get(name, name))  # fmt: skip


def _explain(axes: Axes, doses: Sequence[Dose]) -> None:
    """What the marks mean that are there."""
    if any(map(is_significant, doses)):
        axes.plot([], [], marker="*", linestyle="", color=INK, label="differs from α = 0 (q ≤ .05)")
    if any(is_incoherent(row) and row["share"]["value"] is not None for row in doses):
        axes.plot([], [], marker="o", linestyle="", color=INK, markerfacecolor="white",
                  label="hollow: no longer language")  # fmt: skip


def _has_perplexity(doses: Sequence[Dose]) -> bool:
    return any(row["coherence"]["perplexity"] is not None for row in doses)


def _draw_coherence(
    axes: Axes,
    name: str,
    rows: Sequence[Dose],
    path: Sequence[Dose],
    shift: float,
    *,
    perplexity: bool,
) -> None:
    key = "perplexity" if perplexity else "repetition"
    ink = _INKS.get(name, INK)
    line = "--" if name == RANDOM else "-"
    for joined, style, marker in ((path, line, ""), (rows, "", _MARKS.get(name, "o"))):
        known = [row for row in joined if row["coherence"][key] is not None]
        axes.plot(
            [row["alpha"] + shift for row in known], [row["coherence"][key] for row in known],
            linestyle=style, marker=marker, markersize=3.5, color=ink, linewidth=1.0,
        )  # fmt: skip
    axes.set_ylabel("perplexity\nwithout a push" if perplexity else "repetition", fontsize=8)
    if perplexity:
        axes.set_yscale("log")


def _scale(
    top: Axes, below: Axes, alphas: Sequence[float], span: float, doses: Sequence[Dose]
) -> None:
    percent_ticks(top, "y")
    top.set_ylim(-0.03, 1.1)  # a star stands above an interval that ends at 100%
    top.set_ylabel("share (Wilson 95%)", fontsize=8)
    room = 0.06 * span if len(alphas) > 1 else span / 2
    top.set_xlim(alphas[0] - room, alphas[-1] + room)
    written = _spaced(alphas, _APART * span)
    below.set_xticks(written, [dose(alpha) for alpha in written])
    below.set_xlabel("α", fontsize=8)
    _few_ticks(below)
    for axes in (top, below):
        ruled(axes)
        axes.tick_params(labelsize=7)
    ratios = {row["alpha"]: row["ratio"] for row in reversed(doses) if row["ratio"] is not None}
    above = top.secondary_xaxis("top")
    shown = [alpha for alpha in written if alpha in ratios]
    above.set_xticks(shown, [decimal(ratios[alpha]) for alpha in shown], fontsize=7)
    above.set_xlabel("length of the push / median length of the stream", fontsize=8)
    above.tick_params(length=0)
    above.spines["top"].set_visible(False)


def _few_ticks(axes: Axes) -> None:
    """Room on either side and a few round numbers, one at least, however narrow the range."""
    low, high = axes.dataLim.y0, axes.dataLim.y1
    if low > high:  # nothing is drawn
        axes.set_yticks([])
        return
    locator: Locator
    if axes.get_yscale() == "log":
        low, high = low / 1.6, high * 1.6
        wide = high / low
        subs = (1.0, 2.0, 5.0) if wide < 50 else (1.0, 3.0) if wide < 500 else (1.0,)
        locator = LogLocator(subs=subs, numticks=6)
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        room = 0.1 * (high - low) or 0.05
        low, high = low - room, high + room
        locator = MaxNLocator(3)
    ticks = [tick for tick in locator.tick_values(low, high) if low <= tick <= high]
    axes.set_ylim(low, high)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])


def _spaced(alphas: Sequence[float], least: float) -> list[float]:
    """Those that can be written without touching: 0 first, then outwards from it."""
    kept: list[float] = []
    for alpha in sorted(alphas, key=abs):
        if all(abs(alpha - other) >= least for other in kept):
            kept.append(alpha)
    return sorted(kept)
