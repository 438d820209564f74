"""Figures of the evidence study at the 18 guards of the paper: nothing is cut or overlaps."""

from __future__ import annotations

import itertools

import matplotlib.style
import pytest

from tests.report.compare.test_compare_figures import texts
from tests.report.evidence.conftest import HOW
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
        boxes = texts(figure)
    assert len(boxes) > 5
    assert figure.get_figwidth() < 8.2
    for text, box in boxes:
        assert text.get_fontsize() >= 6.5, text
        inside = box.x0 >= 0 and box.y0 >= 0
        assert inside and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, text  # noqa: PT018
    straight = [(t.get_text(), box) for t, box in boxes if t.get_rotation() in (0, 90)]
    for (one, a), (other, b) in itertools.combinations(straight, 2):
        assert not (a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1), (one, other)


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
