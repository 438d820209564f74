"""What every figure shares: ink, size, and bytes that depend on nothing but its numbers."""

from __future__ import annotations

import csv
import io
import logging
import os
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib.style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from rich.cells import cell_len

from trace.report.labels import families, make_legible, short

log = logging.getLogger(__name__)

DPI = 150
INK, PALE, POINT = "#222222", "#d9d9d9", "#1f5a99"
LEGEND = "labels.csv"
"""What the numbers in the figures of a folder stand for, where no font has the characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A figure that is drawn when it is written, and the rows of the CSV behind it."""

    stem: str
    draw: Callable[[], Figure]
    rows: Sequence[list[Any]]


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
    """The title on top, on as many lines as it needs, up to four."""
    # matplotlib's own wrapping cuts long titles off; 11 characters of 10 points fill an inch, or
    # half as many Chinese ones.
    narrow = len(title) / max(1, cell_len(title))
    width = int(11 * figure.get_figwidth() * narrow)
    lines = textwrap.wrap(title, width, max_lines=4, placeholder="…")
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=10)


def name_rows(axes: Axes, names: Iterable[str], *, rows: int | None = None) -> None:
    """A row a name on the y axis, the first on top; `rows` in all, where others have more."""
    named = list(names)
    axes.set_ylim((rows or len(named)) - 0.5, -0.5)
    axes.set_yticks(range(len(named)), named, fontsize=7)


def ruled(axes: Axes, lines: Literal["x", "y", "both"] = "both") -> None:
    """Pale lines behind what is drawn, in the place of a frame."""
    axes.grid(axis=lines, color=PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    bare(axes)


def bare(axes: Axes) -> None:
    """Takes the frame and the tick marks away."""
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def png(draw: Callable[[], Figure], numbers: dict[str, str] | None = None) -> bytes:
    """The picture that `draw` makes; whatever the user's matplotlibrc says, it is the same.

    Args:
        draw: makes the figure.
        numbers: is given what stands in the picture as a number because no font has its
            characters: piece of text -> number.
    """
    # A dollar sign in a name is a dollar sign.
    own = {"text.parse_math": False, "font.family": families()}
    with matplotlib.style.context(["default", own]):
        figure = draw()
        make_legible(figure, {} if numbers is None else numbers)
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


def write_drawings(folder: Path, drawings: Iterable[Drawing]) -> list[Path]:
    """Writes `<stem>.png` and `<stem>.csv` of each, and `LEGEND` if there is need of one.

    Names are in full in the CSVs. A file is whole or not there.

    Returns:
        The paths of the pictures and their numbers.

    Raises:
        ValueError: the numbers of one would stand where the legend does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, str] = {}
    files: dict[str, bytes] = {}
    for drawing in drawings:
        if f"{drawing.stem}.csv" == LEGEND:
            raise ValueError(f"a drawing cannot be called {drawing.stem!r}")
        files[f"{drawing.stem}.png"] = png(drawing.draw, numbers)
        files[f"{drawing.stem}.csv"] = table(drawing.rows)
    paths = [write(folder / name, content) for name, content in files.items()]
    if numbers:
        legend = [["label", "text"], *([number, piece] for piece, number in numbers.items())]
        write(folder / LEGEND, table(legend))
        log.warning(
            "no font here has the characters of %s: they are numbered in the figures, and %s says "
            "what is what. Install a font with them, such as Noto Sans CJK, and run again.",
            ", ".join(map(short, [*numbers][:3])) + (" and others" if len(numbers) > 3 else ""),
            folder / LEGEND,
        )
    else:
        (folder / LEGEND).unlink(missing_ok=True)
    return paths
