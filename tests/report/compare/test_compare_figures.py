from __future__ import annotations

from typing import Any

import matplotlib.style
import pytest

from tests.report.compare.conftest import HOW
from tests.report.legible import check_texts
from trace.report import canvas
from trace.report.compare import (
    capability,
    classes,
    confusion,
    dangers,
    kinship,
    length,
    plane,
    rerun,
    size,
    spread,
    subsample,
    table,
)
from trace.report.compare.judged import Judge
from trace.report.compare.section import Section

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def sections(thirteen: list[Judge], reworded: list[Judge]) -> list[Section]:
    scores = {
        name: {f"judge_number_{i:02d}": (i * step % 13) / 13 for i in range(13 - step)}
        for step, name in enumerate(("LiveCodeBench", "GPQA", "IFBench", "RAGTruth Data2txt"), 1)
    }
    return [
        table.section(thirteen),
        classes.section(thirteen, HOW),
        confusion.section(thirteen),
        dangers.section(thirteen, HOW),
        size.section(thirteen),
        plane.section(thirteen),
        length.section(thirteen, HOW),
        capability.section(thirteen, scores, HOW),
        subsample.section(thirteen, HOW),
        rerun.section(thirteen, HOW),
        spread.section(reworded),
        kinship.section(thirteen, HOW),
    ]


STEMS = [
    "balanced_accuracy", "classes_binary", "classes_schema", "classes_coarse", "classes_fine",
    "confusion", "dangers", "size", "plane", "length_steps", "length_chars", "capability",
    "subsample", "rerun", "spread", "kinship",
]  # fmt: skip


def test_every_analysis_has_its_figure(sections: list[Section]) -> None:
    assert [section.reason for section in sections] == [None] * len(sections)
    assert [d.stem for section in sections for d in section.drawings] == STEMS


@pytest.mark.parametrize("stem", STEMS)
def test_no_text_is_cut_or_overlaps_at_13_judges(sections: list[Section], stem: str) -> None:
    drawing = next(d for section in sections for d in section.drawings if d.stem == stem)
    with matplotlib.style.context(["default", {"text.parse_math": False}]):
        figure = drawing.draw()
        check_texts(figure, more_than=8)


def test_equal_numbers_give_equal_bytes(sections: list[Section]) -> None:
    drawing = next(d for section in sections for d in section.drawings if d.stem == "plane")
    first = canvas.png(drawing.draw)
    with matplotlib.rc_context({"font.size": 20}):
        assert canvas.png(drawing.draw) == first


def test_tables_hold_every_judge_and_class(sections: list[Section], thirteen: Any) -> None:
    text = sections[0].markdown()
    assert text.count("judge_number_04") == 3  # it is missing under binary
    assert text.count("judge_number_05") == 4
    assert "judge_number_11 \\*" in text  # a guard
    by_class = sections[1].markdown()
    assert by_class.count("DescriptionMismatch") == 4
