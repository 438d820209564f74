"""Files that people are asked about, made elsewhere."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from trace.annotation.decide import decided
from trace.annotation.form import Form, Option, Passage, Question
from trace.annotation.item import Answer
from trace.annotation.source import Source, item_of, merged, read_source
from trace.errors import DataError
from trace.records import Json

REQUIRED = {"text": "what is read"}
FORM = Form(
    study="s",
    name="f",
    title="t",
    language="en",
    passages=(
        Passage(
            name="text",
            title="Text",
            questions=(
                Question(
                    name="tone",
                    title="?",
                    options=tuple(Option(value=v, shown=v) for v in ("warm", "cold")),
                ),
            ),
        ),
    ),
)


def write(folder: Path, *lines: Json) -> Path:
    path = folder / "made.jsonl"
    text = (x if isinstance(x, str) else json.dumps(x, ensure_ascii=False) for x in lines)
    path.write_text("".join(f"{line}\n" for line in text), "utf-8")
    return path


def read(folder: Path, *lines: Json) -> Source:
    return read_source(write(folder, *lines), REQUIRED, others=("extra",))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ([], "should be an object. Write one object a line"),
        ({"id": "b"}, r'text: is missing. Write "text": "..." \(what is read\)'),
        ({"text": "x"}, r'id: is missing. Write "id"'),
        ({"id": 3, "text": "x"}, "id: should be text"),
        ({"id": "b", "text": " \n"}, "text: should be text that is not empty"),
        ({"id": "a", "text": "x"}, "id: 'a' stands on line 1 already"),
        ({"id": "b", "text": "x", "lables": {}}, r"lables: no field has this name.*labels.*meta"),
        ({"id": "b", "text": "x", "labels": "warm"}, 'labels: should be an object'),
        ({"id": "b", "text": "x", "cluster": 4}, "cluster: should be text"),
        ("{", "Every line must be one JSON value"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, line: Json, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        read(tmp_path, {"id": "a", "text": "x"}, "", line)
    assert "line 3" in str(error.value)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"tome": "warm"}, r"'tome' is no question of this form.*tone"),
        ({"tone": "hot"}, "tone: 'hot' is none of its answers. Write warm or cold"),
        ({"tone": ["warm"]}, "is none of its answers"),
    ],
)
def test_labels_are_those_of_the_form(tmp_path: Path, labels: dict[str, Any], message: str) -> None:
    source = read(tmp_path, {"id": "a", "text": "x", "labels": labels})
    with pytest.raises(DataError, match=f"line 1: labels: .*{message}"):
        item_of(source.lines[0], FORM, stratum="all", cluster="x")


def test_a_file_without_lines(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is empty\. Write one object a line"):
        read(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        read_source(tmp_path / "nowhere.jsonl", REQUIRED)


def test_an_item_shows_its_passages_and_nothing_else(tmp_path: Path) -> None:
    text = "\U0001f9ed e\u0301\u2028 <b>\u05d0</b>"
    line = {"id": "a", "text": text, "labels": {"tone": "warm"}, "meta": {"model": "M"}, "extra": 1}
    source = read(tmp_path, line, {"id": "b", "text": text, "stratum": "S", "cluster": "C"})
    first, second = (item_of(one, FORM, stratum="all", cluster=text) for one in source.lines)
    assert first.texts == {"text": text}
    assert first.labels == {"tone": "warm"}
    assert (first.stratum, second.stratum, second.cluster) == ("all", "S", "C")
    sha256 = hashlib.sha256((tmp_path / "made.jsonl").read_bytes()).hexdigest()
    assert source.fingerprint == {"made.jsonl": sha256}


def test_labels_are_replaced_and_the_rest_kept(tmp_path: Path) -> None:
    given = [
        {"id": "a", "text": "x", "labels": {"tone": "warm"}, "meta": {"model": "M"}, "extra": 1},
        {"id": "b", "text": "y"},
        {"id": "c", "text": "z", "labels": {"tone": "cold"}},
        {"id": "d", "text": "w"},
        {"id": "e", "text": "v", "labels": {"tone": "warm"}},
    ]
    source = read(tmp_path, *given)
    items = [item_of(one, FORM, stratum="all", cluster="x") for one in source.lines]
    said = {"a": ("cold", "cold"), "b": ("warm", "warm"), "c": ("warm", "cold"), "e": ("warm",) * 2}
    answers = [
        Answer(item=id_, annotator=f"A{n}", standing="done", at="2026-01-01T00:00:00Z",
               values={"tone": value})
        for id_, values in said.items() for n, value in enumerate(values)
    ]  # fmt: skip
    found = merged(source, decided(items, {"f": FORM}, answers))
    lines = found.files["merged.jsonl"]
    by = {"by": ["A0", "A1"], "at": "2026-01-01T00:00:00Z", "how": "agreed"}
    assert lines == [
        given[0] | {"labels": {"tone": "cold"}, "human": {"tone": by | {"replaced": "warm"}}},
        given[1] | {"labels": {"tone": "warm"}, "human": {"tone": by | {"replaced": None}}},
        given[2],
        given[3],
        given[4] | {"human": {"tone": by | {"replaced": "warm"}}},
    ]
    assert found.counts == {
        "lines": 5, "closed": 1, "confirmed": 1, "replaced": 1, "undecided": 2
    }  # fmt: skip
    again = read_source(write(tmp_path, *lines), REQUIRED, others=("extra",))
    assert [line.value for line in again.lines] == lines
    with pytest.raises(DataError, match="5 of the items are no lines of this file, a for one"):
        merged(Source(lines=(), fingerprint={}), decided(items, {"f": FORM}, answers))
