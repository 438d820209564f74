"""Names in figures: short enough to leave room, and in characters that a font has."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, findSystemFonts, fontManager, get_font
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter
from rich.cells import cell_len, set_cell_size

LONGEST = 34
"""Columns of a terminal: half of the narrowest figure. A Chinese character takes two."""

LATIN = "DejaVu Sans"
"""Comes with matplotlib."""
CHINESE = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN",
    "Noto Sans CJK JP", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback",
    "AR PL UMing CN", "AR PL UKai CN", "PingFang SC", "Hiragino Sans GB", "Heiti SC", "Heiti TC",
    "STHeiti", "Songti SC", "Arial Unicode MS", "Microsoft YaHei", "SimHei", "SimSun", "DengXian",
)  # fmt: skip
"""What Linux, macOS and Windows call their fonts with Chinese characters; the first is taken."""


def families() -> list[str]:
    """The fonts of a figure: each has the characters that those before it lack."""
    chinese = _installed(CHINESE)
    if not chinese:
        _look_for_new_fonts()
        chinese = _installed(CHINESE)
    return [LATIN, *chinese[:1]]


def short(name: str) -> str:
    """A name on one line, its middle left out if it is longer than `LONGEST`."""
    line = " ".join(name.split())
    if cell_len(line) <= LONGEST:
        return line
    last = LONGEST // 3
    first = set_cell_size(line, LONGEST - last - 1).rstrip()
    return f"{first}…{set_cell_size(line[::-1], last)[::-1].lstrip()}"


def numbered(text: str, shown: Sequence[str], numbers: dict[str, str]) -> str:
    """The text with a number for every piece in it that no font can show.

    Args:
        text: of any length.
        shown: the fonts.
        numbers: piece -> its number, such as `[1]`; new pieces are added.
    """
    pieces = []
    for there, group in itertools.groupby(text, key=lambda c: c.isspace() or _has(shown, c)):
        piece = "".join(group)
        pieces.append(piece if there else numbers.setdefault(piece, f"[{len(numbers) + 1}]"))
    return "".join(pieces)


def make_legible(figure: Figure, numbers: dict[str, str]) -> None:
    """Shortens names at ticks and in legends, and numbers what no font can show in any text.

    Args:
        figure: drawn, but not yet rendered.
        numbers: see `numbered`; filled until the figure is rendered.
    """
    shown = families()

    def legible(text: str) -> str:
        return numbered(text, shown, numbers)

    for artist in figure.findobj(Text):
        assert isinstance(artist, Text)
        artist.set_text(legible(artist.get_text()))
    for axes in figure.axes:
        _rename(axes.xaxis, lambda name: short(legible(name)))
        _rename(axes.yaxis, lambda name: short(legible(name)))
    for legend in (*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))):
        for label in legend.get_texts():
            label.set_text(short(label.get_text()))


def _rename(axis: Axis, change: Callable[[str], str]) -> None:
    """Changes the names at the ticks; numbers that matplotlib writes itself are left alone."""
    named = axis.get_major_formatter()
    if isinstance(named, FuncFormatter):
        axis.set_major_formatter(FuncFormatter(lambda x, place: change(named(x, place))))


def _has(shown: Sequence[str], character: str) -> bool:
    return any(get_font(path).get_char_index(ord(character)) for path in map(_path, shown))


def _installed(names: Sequence[str]) -> list[str]:
    there = set(fontManager.get_font_names())
    return [name for name in names if name in there]


@cache
def _path(family: str) -> str:
    return str(findfont(FontProperties(family=family), fallback_to_default=False))


@cache
def _look_for_new_fonts() -> None:
    """Adds the fonts that were installed after matplotlib wrote its list of them; once."""
    known = {Path(font.fname) for font in fontManager.ttflist}
    for path in map(Path, findSystemFonts()):
        if path not in known:
            try:
                fontManager.addfont(path)
            except (OSError, RuntimeError):  # not every file with such a name is a font
                continue
