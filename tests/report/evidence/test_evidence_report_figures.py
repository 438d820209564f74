"""Figures of the evidence study at the 18 guards of the paper: nothing is cut or overlaps."""

from __future__ import annotations

import matplotlib.style
import pytest

from tests.report.evidence.conftest import HOW
from tests.report.legible import check_texts
from trace.report import canvas
from trace.report.compare.section import Section
from trace.report.evidence.sections import sections
from trace.report.runs import Run

pytestmark = pytest.mark.slow

STEMS = [
    "evidence_safety", "evidence_stages", "evidence_attribution", "evidence_categories",
    "evidence_encryption", "evidence_family", "evidence_aligned", "evidence_language",
    "evidence_errors", "evidence_attacks", "evidence_scale", "evidence_precision",
]  # fmt: skip


@pytest.fixture(scope="session")
def shown(eighteen_runs: list[Run]) -> list[Section]:
    return sections(eighteen_runs, HOW)


def test_every_table_and_figure_of_the_paper_is_there(shown: list[Section]) -> None:
    assert [section.reason for section in shown] == [None] * len(shown)
    assert [d.stem for section in shown for d in section.drawings] == STEMS
    titles = " ".join(section.title for section in shown)
    for what in (*(f"Table {i}" for i in range(2, 8)), *(f"Figure {i}" for i in range(4, 8))):
        assert f"({what})" in titles


@pytest.mark.parametrize("stem", STEMS)
def test_no_text_is_cut_or_overlaps_at_18_guards(shown: list[Section], stem: str) -> None:
    drawing = next(d for section in shown for d in section.drawings if d.stem == stem)
    with matplotlib.style.context(["default", {"text.parse_math": False}]):
        figure = drawing.draw()
        shown_texts = check_texts(figure, more_than=5)
    assert figure.get_figwidth() < 8.2
    assert min(text.get_fontsize() for text in shown_texts) >= 6.5


@pytest.mark.parametrize("stem", STEMS)
def test_the_csv_behind_a_figure_has_a_header_and_even_rows(
    shown: list[Section], stem: str
) -> None:
    drawing = next(d for section in shown for d in section.drawings if d.stem == stem)
    header, *rows = drawing.rows
    assert rows
    assert {len(row) for row in rows} == {len(header)}
    assert all(isinstance(name, str) for name in header)
    assert b"nan" not in canvas.table(drawing.rows)


def test_equal_numbers_give_equal_bytes(shown: list[Section]) -> None:
    drawing = shown[0].drawings[0]
    assert canvas.png(drawing.draw) == canvas.png(drawing.draw)
