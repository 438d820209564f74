"""A file of judgements, line by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trace.errors import DataError
from trace.records import Json
from trace.report.judgements import Judgement, Vocabulary, read_judgements

WORDS = Vocabulary(
    labels={"harm": {"safe": "safe", "unsafe": "unsafe", "harmful": "unsafe"},
            "refusal": {"none": "none", "both": "both"}},
    default="harm",
    conditions={"rag_oracle_unsafe": "oracle"},
    columns={"taxonomy_family": "family"},
)  # fmt: skip
LINE = {
    "item": "q1", "respondent": "m", "condition": "oracle", "judge": "guard", "label": "unsafe",
}  # fmt: skip


def read(folder: Path, *lines: Json) -> list[Judgement]:
    path = folder / "judgements.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return list(read_judgements(path, WORDS))


def test_a_line_needs_five_names_and_may_have_more(tmp_path: Path) -> None:
    more = {"measure": "refusal", "label": "both", "status": "ok", "score": 1, "epoch": 2,
            "family": "lamps", "length": 3, "known": None}  # fmt: skip
    first, second = read(tmp_path, LINE, LINE | more)
    assert first == Judgement(
        item="q1", respondent="m", condition="oracle", judge="guard", measure="harm",
        label="unsafe",
    )  # fmt: skip
    assert (second.measure, second.label, second.score, second.epoch) == ("refusal", "both", 1.0, 2)
    assert second.columns == {"family": "lamps", "length": 3}


def test_both_spellings_are_one(tmp_path: Path) -> None:
    other = {"condition": "rag_oracle_unsafe", "label": "harmful", "judge": "b",
             "taxonomy_family": "lamps"}  # fmt: skip
    first, second = read(tmp_path, LINE | {"family": "lamps"}, LINE | other)
    assert (second.condition, second.label) == (first.condition, first.label)
    assert second.columns == first.columns
    with pytest.raises(DataError, match="line 1: taxonomy_family: is 'x', and family is 'y'"):
        read(tmp_path, LINE | {"family": "y", "taxonomy_family": "x"})


def test_no_label_comes_with_a_status(tmp_path: Path) -> None:
    (one,) = read(tmp_path, LINE | {"label": None, "status": "truncated"})
    assert (one.label, one.status) == (None, "truncated")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": None}, "label: is null, and `status` does not say why"),
        ({"label": None, "status": "ok"}, "does not say why"),
        ({"status": "error"}, "status: is error, beside the label 'unsafe'"),
        ({"status": "lost"}, "status: 'lost' is not allowed. Choose one of ok, unparsable"),
        (
            {"label": "Unsafe"},
            "label: 'Unsafe' is not allowed. The labels of harm are safe, unsafe",
        ),
        ({"label": ["safe"]}, r"label: \['safe'\] is not allowed"),
        ({"measure": "speed"}, "measure: 'speed' is not allowed. Choose one of harm, refusal"),
        ({"measure": "refusal"}, "The labels of refusal are none, both"),
        ({"item": " "}, "item: ' ' is not allowed. It is a text"),
        ({"judge": 7}, "judge: 7 is not allowed"),
        ({"epoch": -1}, "epoch: -1 is not allowed"),
        ({"epoch": True}, "epoch: True is not allowed"),
        ({"score": 1.2}, "score: 1.2 is not allowed"),
        ({"score": "1"}, "score: '1' is not allowed"),
        ({"tags": ["a"]}, r"tags: \['a'\] is not allowed. A column is text"),
        ({"wide": 1e999}, "Infinity is not a JSON value"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, change: dict[str, Json], message: str) -> None:
    with pytest.raises(DataError, match=f"line 2: .*{message}"):
        read(tmp_path, LINE | {"item": "q0"}, LINE | change)


@pytest.mark.parametrize("name", list(LINE))
def test_a_missing_name_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=rf'line 1: {name}: is missing. A line is like {{"item"'):
        read(tmp_path, {k: v for k, v in LINE.items() if k != name})


def test_no_judge_judges_twice(tmp_path: Path) -> None:
    repeats = [LINE | {"epoch": 0}, LINE | {"epoch": 1}, LINE | {"judge": "b"},
               LINE | {"measure": "refusal", "label": "none"}]  # fmt: skip
    assert len(read(tmp_path, *repeats)) == 4
    with pytest.raises(DataError, match=r"line 5: guard has judged the harm .* on line 1"):
        read(tmp_path, *repeats, LINE | {"label": "safe"})


def test_a_column_is_the_same_on_all_lines_of_an_item(tmp_path: Path) -> None:
    lines = [LINE | {"family": "lamps"}, LINE | {"judge": "b"},
             LINE | {"item": "q2", "family": "tides"}]  # fmt: skip
    assert len(read(tmp_path, *lines)) == 3
    with pytest.raises(DataError, match=r"line 4: family: is 'tides' for item q1, and 'lamps' on "):
        read(tmp_path, *lines, LINE | {"judge": "c", "family": "tides"})
    with pytest.raises(DataError, match="line 2: benign: is 1 for item q1, and True on line 1"):
        read(tmp_path, LINE | {"benign": True}, LINE | {"judge": "b", "benign": 1})


def test_files_that_hold_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no judgement"):
        read(tmp_path)
    with pytest.raises(DataError, match="line 1: is no JSON object"):
        read(tmp_path, [1])
    with pytest.raises(DataError, match="cannot be read"):
        list(read_judgements(tmp_path / "none.jsonl", WORDS))


def test_lines_before_a_bad_one_have_come(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text(json.dumps(LINE) + "\nnot json\n", "utf-8")
    lines = read_judgements(path, WORDS)
    assert next(lines).item == "q1"
    with pytest.raises(DataError, match="line 2"):
        next(lines)
