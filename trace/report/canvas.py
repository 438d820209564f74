"""What every figure shares: ink, size, and bytes that depend on nothing but its numbers."""

from __future__ import annotations

import csv
import io
import os
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib.style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

DPI = 150
INK, PALE, POINT = "#222222", "#d9d9d9", "#1f5a99"


def blank(width: float, height: float) -> Figure:
    """An empty figure of so many inches that finds room for all its text."""
    figure = Figure(figsize=(width, height), dpi=DPI)
    figure.set_layout_engine("constrained")
    return figure


def panels(
    figure: Figure, count: int, *, across: int | None = None, share_y: bool = False
) -> list[Axes]:
    """`count` panels in rows of `across`, with small labels; all in one row without it."""
    columns = min(across or count, count)
    grid = figure.subplots(-(-count // columns), columns, squeeze=False, sharey=share_y)
    figure.set_layout_engine("constrained", w_pad=0.1)
    shown, surplus = grid.flat[:count], grid.flat[count:]
    for axes in surplus:
        axes.remove()
    for axes in shown:
        axes.tick_params(labelsize=7)
    return list(shown)


def legend_below(figure: Figure, shown: Iterable[Axes]) -> None:
    """One legend for all panels, each label once."""
    found: dict[str, Artist] = {}
    for axes in shown:
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=4, fontsize=7,
        frameon=False,
    )  # fmt: skip


def percent_ticks(axes: Axes, *sides: str) -> None:
    """0%, 50% and 100% on the axes `x`, `y`, with room for a point at either end."""
    for side in sides:
        axes.set(
            **{
                f"{side}lim": (-0.02, 1.02),
                f"{side}ticks": [0, 0.5, 1],
                f"{side}ticklabels": ["0%", "50%", "100%"],
            }
        )


def round_ticks(axes: Axes) -> None:
    """A few round numbers on the x axis, none outside of what is shown."""
    low, high = axes.get_xlim()
    ticks = [tick for tick in MaxNLocator(4).tick_values(low, high) if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


def head(figure: Figure, title: str) -> None:
    """The title on top, on as many lines as it needs."""
    # matplotlib's own wrapping cuts long titles off; 11 characters of 10 points fill an inch.
    lines = textwrap.wrap(title, int(11 * figure.get_figwidth()))
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=10)


def bare(axes: Axes) -> None:
    """Takes the frame and the tick marks away."""
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def png(draw: Callable[[], Figure]) -> bytes:
    """The picture that `draw` makes; whatever the user's matplotlibrc says, it is the same."""
    # A dollar sign in a name is a dollar sign.
    with matplotlib.style.context(["default", {"text.parse_math": False}]):
        figure = draw()
        buffer = io.BytesIO()
        FigureCanvasAgg(figure)
        # The name and version of the software would be all in the file that is no picture.
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def table(rows: Iterable[list[Any]]) -> bytes:
    """Rows as CSV; None is an empty field."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


def write(path: Path, content: bytes) -> Path:
    """Writes a file that is whole or not there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
