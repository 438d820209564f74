"""A file of the study's judgements: the item's category says which labels there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.report.cross_lab.planted import RUBRICS, Plan, judgements, lines
from trace.errors import DataError
from trace.records import Json
from trace.report.cross_lab.words import vocabulary
from trace.report.judgements import Judgement, Vocabulary, read_judgements

WORDS = vocabulary(RUBRICS)
LINE = {
    "item": "vc-1", "respondent": "opus", "condition": "base", "judge": "gemini",
    "label": "asks_for_clarification", "category": "values_conflict", "split": "held_out",
    "underspecified": True,
}  # fmt: skip


def read(folder: Path, *lines: Json, words: Vocabulary = WORDS) -> list[Judgement]:
    path = folder / "judgements.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return list(read_judgements(path, words))


def test_a_line_and_its_arm(tmp_path: Path) -> None:
    main, again = read(tmp_path, LINE, LINE | {"arm": "field_free", "label": "full_compliance"})
    assert main == Judgement(
        item="vc-1", respondent="opus", condition="base", judge="gemini",
        measure="values_conflict", label="asks_for_clarification", arm="main",
        columns={"category": "values_conflict", "split": "held_out", "underspecified": True},
    )  # fmt: skip
    assert (again.arm, again.label) == ("field_free", "full_compliance")
    assert "arm" not in again.columns


def test_a_planted_file_is_read_as_it_was_made(tmp_path: Path) -> None:
    plan = Plan(accuracy=0.9, silent=0.1, drawn=2)
    assert read(tmp_path, *lines(plan)) == judgements(plan)


def test_a_label_of_another_category_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"line 2: label: 'off_topic' .* labels of values_conflict are full_compli"
    ):
        read(tmp_path, LINE, LINE | {"judge": "grok", "label": "off_topic"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": ["full_compliance", "refuses_outright"]}, "line 1: label: .* is not allowed"),
        ({"label": "full_compliance, refuses_outright"}, "line 1: label: .* is not allowed"),
        ({"label": "I think this is gpt_5"}, "line 1: label: .* is not allowed"),
        ({"category": "ethics"}, "line 1: category: 'ethics' .* one of reasoning_surfacing"),
        ({"condition": "oracle"}, "line 1: condition: 'oracle' .* base, steered"),
        ({"split": "test"}, "line 1: split: 'test' .* development, held_out"),
        ({"underspecified": 1}, "line 1: underspecified: 1 .* true, false"),
        ({"arm": "third"}, "line 1: arm: 'third' .* main, repeat, field_free"),
    ],
)
def test_what_the_study_has_no_word_for_is_refused(
    tmp_path: Path, change: dict[str, Json], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, LINE | change)


def test_every_line_says_its_category(tmp_path: Path) -> None:
    without = {name: value for name, value in LINE.items() if name != "category"}
    with pytest.raises(DataError, match="line 2: category: is missing"):
        read(tmp_path, LINE, without)


def test_a_judge_votes_once_in_an_arm(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"line 3: gemini has judged this answer on line 2 .* repeat"
    ):
        read(tmp_path, LINE, LINE | {"arm": "repeat"}, LINE | {"arm": "repeat"})


@pytest.mark.parametrize(
    "change", [{"split": "development"}, {"category": "values_conflict", "underspecified": False}]
)
def test_an_item_is_of_one_split_and_one_kind(tmp_path: Path, change: dict[str, Json]) -> None:
    with pytest.raises(DataError, match="A column describes the item"):
        read(tmp_path, LINE, LINE | {"judge": "grok"} | change)


def test_an_item_is_of_one_category(tmp_path: Path) -> None:
    other = {"category": "neutral_control", "label": "no_answer", "judge": "grok"}
    with pytest.raises(DataError, match="line 2: category: is 'neutral_control' for item vc-1"):
        read(tmp_path, LINE, LINE | other)


def test_where_a_study_has_no_arms_arm_is_a_column(tmp_path: Path) -> None:
    words = Vocabulary(labels={"harm": {"safe": "safe"}}, default="harm")
    line = {"item": "q", "respondent": "m", "condition": "c", "judge": "j", "label": "safe"}
    (one,) = read(tmp_path, line | {"arm": "left", "category": "x"}, words=words)
    assert one.arm == ""
    assert one.columns == {"arm": "left", "category": "x"}
