from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trace.benchmarks.tracesafe.released import read
from trace.errors import DataError


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes records as JSONL and gives the path."""

    def to_file(*records: Any, name: str = "data.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
        return path

    return to_file


def test_the_real_files_are_read_whole(released_data: Path) -> None:
    for name, count in (
        ("golden_sample.jsonl", 32),
        ("mutated_llama3_sample.jsonl", 36),
        ("seeds_llama3.jsonl", 20),
        ("seeds_qwen.jsonl", 199),
    ):
        got = read(released_data / name)
        assert len(got.records) == count
        sha = hashlib.sha256((released_data / name).read_bytes()).hexdigest()
        assert got.fingerprint == {name: sha}
        assert len({record.id for record in got.records}) == count
    together = read(released_data)
    assert len(together.records) == 32 + 36 + 20 + 199
    assert list(together.fingerprint) == sorted(together.fingerprint)


def test_an_array_reads_as_lines_do(
    record: dict[str, Any], trace_object: dict[str, Any], write: Callable[..., Path], tmp_path: Path
) -> None:
    array = tmp_path / "data.json"
    array.write_text(json.dumps([record, trace_object], indent=4), encoding="utf-8")
    lines = write(record, trace_object)
    ids = [[r.id for r in read(path).records] for path in (array, lines)]
    assert ids[0] == ids[1]
    assert [r.kind for r in read(lines).records] == ["mutant", "seed"]


def test_the_fields_of_a_record(record: dict[str, Any], write: Callable[..., Path]) -> None:
    got = read(write(record)).records[0]
    assert (got.kind, got.class_.name, got.target_tool) == ("mutant", "HallucinatedTool", "ls")
    assert got.generator == "someone"
    assert got.risky_step is None
    assert got.trajectory.to_json() == record["new_trace"]
    assert got.original.to_json() == record["original_trace"]


def test_an_id_depends_on_the_content_alone(
    record: dict[str, Any], write: Callable[..., Path]
) -> None:
    first = read(write(record, name="a.jsonl")).records[0].id
    shuffled = dict(reversed(record.items())) | {"difference": {"x": 1}}
    assert read(write(shuffled, name="b.jsonl")).records[0].id == first
    record["new_trace"]["trace"][0]["content"] += "!"
    assert read(write(record, name="c.jsonl")).records[0].id != first
    record["id"] = "mine"
    assert read(write(record, name="d.jsonl")).records[0].id == "mine"


def test_line_separators_inside_strings_do_not_split_lines(
    record: dict[str, Any], tmp_path: Path
) -> None:
    record["new_trace"]["trace"][0]["content"] = "one\u2028two\u0085three\x0bfour"
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    assert "\u2028" in path.read_text(encoding="utf-8")
    assert "\u0085three" in read(path).records[0].trajectory.steps[0].content


def test_bom_carriage_returns_and_blank_lines_are_tolerated(
    record: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"\xef\xbb\xbf\n" + json.dumps(record).encode() + b"\r\n\n")
    assert len(read(path).records) == 1


@pytest.mark.parametrize(
    "name", ["HallucinatedTool", "7", 7, "7_HallucinatedTool", "golden_7_HallucinatedTool"]
)
def test_class_names_in_every_form(
    record: dict[str, Any], write: Callable[..., Path], name: Any
) -> None:
    record["mutation_metadata"]["mutator_name"] = name
    assert read(write(record)).records[0].class_.number == 7


def test_the_file_name_gives_the_class_if_nothing_else_does(
    record: dict[str, Any], write: Callable[..., Path]
) -> None:
    del record["mutation_metadata"]["mutator_name"]
    assert read(write(record, name="golden_7_HallucinatedTool.jsonl")).records[0].class_.number == 7
    with pytest.raises(DataError, match=r"data\.jsonl:1: record\.mutation_metadata\.mutator_name"):
        read(write(record))


@pytest.mark.parametrize(
    "change",
    [
        {"mutation_category": "BENIGN", "mutation_metadata": {"mutator_name": "benign"}},
        {"golden_meta": {"type": "pure_benign", "category": "benign"}},
        {"golden_meta": {"type": "benign_copy", "category": "benign", "origin_category": "x"}},
        {"golden_meta": {"category": "benign"}, "mutation_metadata": {"mutator_name": "Benign"}},
        {"golden_meta": {"type": "benign_copy", "category": "HallucinatedTool"}},
    ],
)
def test_benign_records_in_every_form(
    record: dict[str, Any], write: Callable[..., Path], change: dict[str, Any]
) -> None:
    record |= change
    del record["original_trace"]
    got = read(write(record)).records[0]
    assert (got.kind, got.class_.name) == ("benign", "Benign")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mutation_category": "BENIGN"}, "mutation_category says Benign but"),
        ({"golden_meta": {"category": "benign"}}, "golden_meta.category says Benign but"),
        (
            {
                "mutation_metadata": {"mutator_name": "Safe"},
                "mutation_category": "BENIGN",
                "golden_meta": {"type": "attacked"},
            },
            "golden_meta.type says attacked",
        ),
        ({"mutation_category": "FUN"}, "'FUN' is no domain of TraceSafe"),
        ({"mutation_category": "PRIVACY_LEAKAGE"}, "HallucinatedTool belongs to Hallucination"),
        (
            {"golden_meta": {"category": "RedundantArg"}},
            "says RedundantArg but .* HallucinatedTool",
        ),
        ({"risky_step": 2}, "2 is no index of the trace, which has 2 steps"),
        ({"risky_step": True}, "True is no index"),
        ({"id": 5}, r"data\.jsonl:1: record\.id: should be text, is 5"),
    ],
)
def test_contradictions_are_refused(
    record: dict[str, Any], write: Callable[..., Path], change: dict[str, Any], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        read(write(record | change))


def test_an_unknown_class_gets_the_nearest(
    record: dict[str, Any], write: Callable[..., Path]
) -> None:
    record["mutation_metadata"]["mutator_name"] = "HallucinatedTol"
    with pytest.raises(DataError, match=r"no class of TraceSafe.*mean HallucinatedTool"):
        read(write(record))


@pytest.mark.parametrize(
    "path",
    [
        ("new_trace",),
        ("original_trace",),
        ("mutation_category",),
        ("mutation_metadata",),
        ("mutation_metadata", "target_tool"),
        ("new_trace", "tool_lists"),
        ("original_trace", "trace"),
    ],
)
def test_a_missing_field_is_named_with_file_and_line(
    record: dict[str, Any],
    trace_object: dict[str, Any],
    write: Callable[..., Path],
    path: tuple[str, ...],
) -> None:
    first = json.loads(json.dumps(record))
    at = record
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    said = rf"data\.jsonl:2: record\.{'.'.join(path)}: this required field is missing"
    with pytest.raises(DataError, match=said):
        read(write(first, record))


def test_a_broken_line_is_named(record: dict[str, Any], write: Callable[..., Path]) -> None:
    path = write(record)
    with path.open("a") as file:
        file.write('\n{"mutation_category": "HALLUC')
    with pytest.raises(DataError, match=r"data\.jsonl:3: broken line: Unterminated string"):
        read(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        ("[]", "holds no record"),
        ("[1]", r"record 1: should be an object"),
        ('[{"a": 1},\n{"b"]', r":2: not JSON"),
        ('{"a": NaN}', r":1: broken line: NaN is not a JSON value"),
        ("[NaN]", "NaN is not a JSON value"),
        ('"text"', r":1: broken line"),
        ('{"a": "\\ud800"}', r":1: broken line.*surrogate"),
        ('{"a": ' + "[" * 100_000, r":1: broken line"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git lfs pull"),
    ],
)
def test_files_that_are_not_data(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        read(path)


def test_mixed_encodings_are_located(
    record: dict[str, Any], write: Callable[..., Path], tmp_path: Path
) -> None:
    good = json.dumps(record).encode()
    path = tmp_path / "mixed.jsonl"
    path.write_bytes(good + b"\n" + '{"q": "café"}'.encode("latin-1") + b"\n")
    byte = len(good) + 1 + 10
    with pytest.raises(DataError, match=rf"mixed\.jsonl:2: not UTF-8 at byte {byte} \(0xe9\)"):
        read(path)
    path.write_bytes(b"\xef\xbb\xbf" + b'"caf\xe9"')
    with pytest.raises(DataError, match=r":1: not UTF-8 at byte 7 \(0xe9\)"):
        read(path)
    path.write_text(json.dumps(record), encoding="utf-16")
    with pytest.raises(DataError, match=r"the file is UTF-16.*iconv"):
        read(path)


def test_a_path_that_does_not_exist_offers_the_nearest(write: Callable[..., Path]) -> None:
    path = write({}, name="golden_sample.jsonl")
    with pytest.raises(DataError, match=r"does not exist\. Did you mean golden_sample\.jsonl"):
        read(path.with_name("golden_smaple.jsonl"))
    with pytest.raises(DataError, match=r"The folder .*nowhere does not exist either"):
        read(path.parent / "nowhere" / "x.jsonl")


def test_a_folder_of_a_build_is_its_dataset(
    record: dict[str, Any], write: Callable[..., Path]
) -> None:
    path = write(record, name="dataset.jsonl")
    for name in ("checks.jsonl", "manifest.json"):
        (path.parent / name).write_text('{"class": "DataLeak"}\n')
    got = read(path.parent)
    assert len(got.records) == 1
    assert list(got.fingerprint) == ["dataset.jsonl"]


def test_a_folder_without_data(tmp_path: Path) -> None:
    (tmp_path / "llama-3").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match=r"holds no \*\.json.*has the folders llama-3: name one"):
        read(tmp_path)


def test_duplicates_are_refused_with_both_places(
    record: dict[str, Any], write: Callable[..., Path]
) -> None:
    with pytest.raises(DataError, match=r"data\.jsonl:2: the same record as .*data\.jsonl:1"):
        read(write(record, record))
    other = json.loads(json.dumps(record))
    other["new_trace"]["user_query"] = "Something else."
    with pytest.raises(DataError, match=r"data\.jsonl:2: has the id a, as has .*data\.jsonl:1"):
        read(write(record | {"id": "a"}, other | {"id": "a"}))
    with pytest.raises(DataError, match=r"has the id .* Ids must differ"):
        read(write(record, record | {"difference": {"x": 1}}))
