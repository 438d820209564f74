"""Items of one's own: what is read, and what is refused with the line and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.cross_lab.made_items import LINE, SECOND, item, write_items
from trace.benchmarks.cross_lab.items import read_items
from trace.errors import DataError
from trace.records import Json


def refused(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_items(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_line_is_read_back_as_it_was(tmp_path: Path) -> None:
    (read,) = read_items(write_items(tmp_path / "i.jsonl", LINE)).items
    assert read.to_json() == LINE
    assert (read.prompt("base"), read.prompt("steered")) == (LINE["base"], LINE["steered"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"steered": LINE["base"]}, "steered: is the same text as base"),
        ({"steered": f" {LINE['base']}\n"}, "steered: is the same text as base"),
        ({"base": ""}, "base: is empty"),
        ({"context": None}, "context: None should be a text"),
        ({"underspecified": "no"}, "underspecified: 'no' should be true or false"),
        ({"underspecified": 0}, "underspecified: 0 should be true or false"),
        ({"split": "test"}, "split: 'test' should be development or held_out"),
        ({"value": 3}, "value: 3 should be a text"),
    ],
)
def test_a_wrong_field_is_named_with_its_line(
    tmp_path: Path, change: dict[str, Json], said: str
) -> None:
    message = refused(write_items(tmp_path / "i.jsonl", SECOND, LINE | change))
    assert f"i.jsonl:2: {said}" in message


@pytest.mark.parametrize("field", LINE)
def test_every_field_is_needed(tmp_path: Path, field: str) -> None:
    line = {name: value for name, value in LINE.items() if name != field}
    assert f"has no {field}" in refused(write_items(tmp_path / "i.jsonl", line))


def test_an_id_stands_once_over_all_files(tmp_path: Path) -> None:
    write_items(tmp_path / "a.jsonl", LINE)
    write_items(tmp_path / "b.jsonl", SECOND | {"id": LINE["id"]})
    message = refused(tmp_path)
    assert "b.jsonl:1: id: vc-1 stands at" in message
    assert "a.jsonl:1" in message


def test_an_item_is_in_one_split(tmp_path: Path) -> None:
    twin = LINE | {"id": "x", "split": "held_out", "base": LINE["base"].replace(" ", "  ")}
    assert "i.jsonl:2: split: is held_out" in refused(write_items(tmp_path / "i.jsonl", LINE, twin))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"),
        (b"", "is empty"),
        (b"[1]\n", "should be one JSON object"),
        (b'{"id": "a",\n', "not JSON"),
        (b'{"id": "\xff"}\n', "not UTF-8"),
    ],
)
def test_what_is_no_file_of_items_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "i.jsonl"
    path.write_bytes(content)
    assert said in refused(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "nowhere.jsonl does not exist" in refused(tmp_path / "nowhere.jsonl")
    assert "holds no *.json or *.jsonl file" in refused(tmp_path)


def test_the_hash_is_of_the_items_and_not_of_their_files(tmp_path: Path) -> None:
    one = read_items(write_items(tmp_path / "one.jsonl", LINE, SECOND))
    folder = tmp_path / "two"
    folder.mkdir()
    write_items(folder / "a.jsonl", LINE)
    write_items(folder / "b.jsonl", SECOND)
    two = read_items(folder)
    assert one.hash == two.hash
    assert one.fingerprint != two.fingerprint
    changed = write_items(tmp_path / "three.jsonl", LINE | {"context": "Other."}, SECOND)
    assert read_items(changed).hash != one.hash


def test_unicode_stays(tmp_path: Path) -> None:
    odd = "Übersetze \u2028 «数据» 🌳."
    (read,) = read_items(write_items(tmp_path / "i.jsonl", LINE | {"base": odd})).items
    assert read.base == odd
    assert read == item(base=odd)
