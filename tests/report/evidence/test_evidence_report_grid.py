"""The best of a column is bold and the second underlined, in both forms of a table."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from trace.report.grid import Grid


def made(values: list[float | None], **how: bool) -> Grid:
    grid = Grid(title="t", header=["a", "b"])
    grid.rows = [[("x",), ("–" if v is None else f"{v:g}", "(1–2)")] for v in values]
    grid.rank(1, values, **how)
    return grid


def test_markdown_marks_the_number_and_not_its_interval() -> None:
    text = made([1.0, 3.0, None, 2.0, 3.0]).markdown()
    assert text.count("| **3** (1–2) |") == 2
    assert text.count("| <ins>2</ins> (1–2) |") == 1
    assert "| 1 (1–2) |" in text


def test_the_terminal_shows_the_same() -> None:
    grid = made([1.0, 3.0, 2.0], higher_is_better=False)
    shown = list(grid.terminal().columns[1].cells)
    assert all(isinstance(cell, Text) for cell in shown)
    spans = [[(s.start, s.end, s.style) for s in cell.spans] for cell in shown]
    assert spans == [[(0, 1, "bold")], [], [(0, 1, "underline")]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\u2028"])
def test_a_line_break_in_a_name_breaks_no_row(end: str) -> None:
    grid = Grid(title=f"a{end}b", header=["Category", "n"], notes={"": f"c{end}d"})
    grid.rows = [[(f"one{end}two",), ("1", "(0–1)")], [("  at least",), ("2",)]]
    console = Console(width=60, record=True, file=StringIO())
    console.print(grid.terminal())
    lines = console.export_text().splitlines()
    assert [line.strip() for line in lines[:1] + lines[-1:]] == ["a b", "c d"]
    assert any(line.startswith("one two") and line.rstrip().endswith("1") for line in lines)
    assert any(line.startswith("  at least") for line in lines)
    assert "| one two | 1 (0–1) |" in grid.markdown()


@pytest.mark.parametrize("values", [[], [1.0], [None, 2.0], [2.0, 2.0]])
def test_without_two_values_nothing_is_best(values: list[float | None]) -> None:
    assert made(values).places == {}


@given(st.lists(st.one_of(st.none(), st.integers(0, 5).map(float)), max_size=12), st.booleans())
def test_places_are_those_of_sorting(values: list[float | None], high: bool) -> None:
    places = made(values, higher_is_better=high).places
    known = [v for v in values if v is not None]
    for row, value in enumerate(values):
        better = {v for v in known if value is not None and (v > value if high else v < value)}
        wanted = None if value is None or len(set(known)) < 2 else 1 + len(better)
        assert places.get((row, 1)) == (wanted if wanted in (1, 2) else None)
