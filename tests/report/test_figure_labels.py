"""Names in figures: any length, any script, with and without a font for them."""

from __future__ import annotations

import csv
import logging
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.style
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from rich.cells import cell_len

from tests.report.evidence.conftest import HOW, TRIPLES, exactly, runs_of
from trace.report import canvas, labels
from trace.report.canvas import Drawing
from trace.report.evidence import attacks, planes, safety
from trace.report.evidence.guards import guards_of

CHINESE, LONG = "身心健康", "a name that somebody wrote down and went on writing " * 4


@pytest.fixture
def no_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "CHINESE", ())


@pytest.fixture
def a_chinese_font(tmp_path: Path) -> Iterator[str]:
    """A font of four characters, each a square, under a name that is looked for."""
    family = labels.CHINESE[0]
    pen = TTGlyphPen(None)
    for at in ((0, 0), (0, 800), (800, 800), (800, 0)):
        (pen.lineTo if at != (0, 0) else pen.moveTo)(at)
    pen.closePath()
    square = pen.glyph()
    names = [".notdef", *(f"u{ord(c)}" for c in CHINESE)]
    made = FontBuilder(1000, isTTF=True)
    made.setupGlyphOrder(names)
    made.setupCharacterMap({ord(c): f"u{ord(c)}" for c in CHINESE})
    made.setupGlyf(dict.fromkeys(names, square))
    made.setupHorizontalMetrics(dict.fromkeys(names, (1000, 0)))
    made.setupHorizontalHeader(ascent=900, descent=-100)
    made.setupNameTable({"familyName": family, "styleName": "Regular"})
    made.setupOS2()
    made.setupPost()
    made.save(tmp_path / "made.ttf")
    before = list(fontManager.ttflist)
    fontManager.ttflist = [font for font in before if font.name not in labels.CHINESE]
    fontManager.addfont(tmp_path / "made.ttf")
    labels._path.cache_clear()
    fontManager._findfont_cached.cache_clear()
    yield family
    fontManager.ttflist = before
    labels._path.cache_clear()
    fontManager._findfont_cached.cache_clear()


def named(*names: str) -> Figure:
    figure = canvas.blank(5, 3)
    axes = figure.add_subplot()
    axes.set_yticks(range(len(names)), names)
    for name in names:
        axes.plot([0, 1], label=name)
    axes.legend()
    canvas.head(figure, " · ".join(names))
    return figure


def shown(figure: Figure) -> list[str]:
    FigureCanvasAgg(figure).draw()
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


@given(st.text(max_size=120))
@example(CHINESE * 20)
@example(LONG)
@example("two\nlines")
def test_a_short_name_is_one_line_of_bounded_width(name: str) -> None:
    short = labels.short(name)
    assert cell_len(short) <= labels.LONGEST
    assert len(short.splitlines()) <= 1
    assert labels.short(short) == short
    if cell_len(name) <= labels.LONGEST:
        assert short == " ".join(name.split())


def test_a_long_name_keeps_both_ends() -> None:
    short = labels.short("abcdef" + "·" * 60 + "uvwxyz")
    assert short.startswith("abcdef")
    assert short.endswith("uvwxyz")
    assert "…" in short


@pytest.mark.usefixtures("no_chinese")
def test_without_a_font_names_are_numbered_and_it_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    drawings = [
        Drawing(stem=stem, draw=partial(named, CHINESE, f"{LONG} {CHINESE}", "plain", "网络安全"),
                rows=[["name"], [CHINESE], [LONG]])
        for stem in ("a", "b")
    ]  # fmt: skip
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        canvas.write_drawings(tmp_path, drawings)
    (said,) = caplog.messages
    assert CHINESE in said
    assert str(tmp_path / canvas.LEGEND) in said
    with (tmp_path / canvas.LEGEND).open(encoding="utf-8", newline="") as lines:
        assert list(csv.reader(lines)) == [["label", "text"], ["[1]", CHINESE], ["[2]", "网络安全"]]
    assert LONG in (tmp_path / "a.csv").read_text("utf-8")
    numbers: dict[str, str] = {}
    figure = named(CHINESE, f"{LONG} {CHINESE}", "plain")
    labels.make_legible(figure, numbers)
    first, second, third = shown(figure)
    assert (first, third) == ("[1]", "plain")
    assert second.startswith("a name that somebody")
    assert second.endswith("[1]")


def test_a_legend_that_is_no_longer_needed_goes(tmp_path: Path) -> None:
    (tmp_path / canvas.LEGEND).write_text("label,text\n[1],old\n")
    canvas.write_drawings(tmp_path, [Drawing(stem="a", draw=partial(named, "plain"), rows=[["x"]])])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.png"]


def test_with_a_font_the_name_itself_is_shown(a_chinese_font: str) -> None:
    assert labels.families() == [labels.LATIN, a_chinese_font]
    numbers: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = canvas.png(partial(named, CHINESE, "plain"), numbers)
    assert not numbers
    assert picture != canvas.png(partial(named, "[1]", "plain"))
    canvas.png(partial(named, "网络安全"), numbers)  # it has other characters
    assert numbers == {"网络": "[1]", "安全": "[2]"} or numbers == {"网络安全": "[1]"}


def test_a_font_that_was_installed_later_is_found(
    tmp_path: Path, a_chinese_font: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = next(f.fname for f in fontManager.ttflist if f.name == a_chinese_font)
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    monkeypatch.setattr(fontManager, "ttflist",
                        [f for f in fontManager.ttflist if f.name != a_chinese_font])  # fmt: skip
    monkeypatch.setattr(labels, "findSystemFonts", lambda: [str(tmp_path / "broken.ttf"), path])
    labels._look_for_new_fonts.cache_clear()
    assert labels.families() == [labels.LATIN, a_chinese_font]


@pytest.mark.parametrize("section", [safety, attacks, planes])
@pytest.mark.usefixtures("no_chinese")
def test_long_and_chinese_names_leave_room_for_the_axes(section: Any) -> None:
    triples = [t | {"attack": t["attack"] and f"{t['attack']} {LONG}"} for t in TRIPLES]
    runs = [r for i in range(3) for r in runs_of(exactly, f"{i} {CHINESE} {LONG}", triples=triples)]
    guards = guards_of(runs, HOW)
    made = {
        safety: lambda: safety.section(guards),
        attacks: lambda: attacks.section(guards, HOW),
        planes: lambda: planes.section(guards, planes.ERRORS),
    }[section]()
    with matplotlib.style.context("default"), warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = made.drawings[0].draw()
        labels.make_legible(figure, {})
        FigureCanvasAgg(figure).draw()
    for axes in figure.axes:
        if axes.get_label() != "<colorbar>":
            assert axes.get_window_extent().width > 0.08 * figure.bbox.width
            assert axes.get_window_extent().height > 0.08 * figure.bbox.height
