from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.errors import DataError
from trace.tracking.files import atomic_path, read_jsonl, safe_name, write_json, write_jsonl

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_the_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "figure.png"
    with atomic_path(target) as temporary:
        temporary.write_bytes(b"half")
        assert not target.exists()
        assert temporary.parent == target.parent
        assert temporary.suffix == ".png"
        temporary.write_bytes(b"whole")
    assert target.read_bytes() == b"whole"
    assert list(target.parent.iterdir()) == [target]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "metrics.json"
    write_json(target, {"old": 1})

    def unfinished() -> Iterator[int]:
        yield 1
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_jsonl(target, unfinished())
    assert json.loads(target.read_text()) == {"old": 1}
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_refused(tmp_path: Path, number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"x": number})
    with pytest.raises(ValueError, match="JSON"):
        write_jsonl(tmp_path / "a.jsonl", [{"x": 1}, {"x": number}])
    assert list(tmp_path.iterdir()) == []


def test_the_bytes(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"z": "é", "a": [1]})
    assert (
        tmp_path / "a.json"
    ).read_bytes() == '{\n  "z": "é",\n  "a": [\n    1\n  ]\n}\n'.encode()
    write_jsonl(tmp_path / "a.jsonl", iter([{"z": "é", "a": 1}, None]))
    assert (tmp_path / "a.jsonl").read_bytes() == '{"z":"é","a":1}\nnull\n'.encode()


@given(rows=st.lists(values))
def test_lines_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, rows: list[object]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    write_jsonl(path, rows)
    assert list(read_jsonl(path)) == rows
    assert path.read_bytes().count(b"\n") == len(rows)


@pytest.mark.parametrize("text", ["a\u2028b\u2029c\x85d\x0be\rf\ng", "lone \ud800 surrogate"])
def test_odd_characters_survive(tmp_path: Path, text: str) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"text": text}, 2])
    assert list(read_jsonl(tmp_path / "a.jsonl")) == [{"text": text}, 2]
    write_json(tmp_path / "a.json", text)
    assert json.loads((tmp_path / "a.json").read_bytes()) == text


def test_what_other_programs_write_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a":1}\r\n\n{"text":"\xe2\x80\xa8"}')
    assert list(read_jsonl(path)) == [{"a": 1}, {"text": "\u2028"}]


@pytest.mark.parametrize(
    "broken",
    [b"{", b"caf\xe9", b'{"a":NaN}', b"{} {}", b"version https://git-lfs", b"[" * 100_000],
    ids=["cut", "latin1", "nan", "two", "words", "deep"],
)
def test_a_broken_line_is_named(tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":1}\n\n' + broken + b'\n{"a":2}\n')
    with pytest.raises(DataError, match=r"a\.jsonl, line 3: .*correct or remove"):
        list(read_jsonl(path))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.jsonl: cannot be read"):
        list(read_jsonl(tmp_path / "absent.jsonl"))


@given(text=st.text(), length=st.integers(16, 128))
def test_names_are_safe(text: str, length: int) -> None:
    name = safe_name(text, length)
    assert 1 <= len(name) <= length
    assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
    assert not name.startswith(".")
    assert safe_name(name, length) == name


def test_names_stay_readable_and_apart() -> None:
    assert safe_name("org/model-7B_v1.5") == "org-model-7B_v1.5"
    assert safe_name("..") == "-"
    assert safe_name("a" * 200 + "1") != safe_name("a" * 200 + "2")
