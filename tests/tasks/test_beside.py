"""What is read beside a benchmark, and the lines that are refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trace.benchmarks.base import Dataset
from trace.errors import DataError
from trace.judging.taxonomy import Category, Taxonomy
from trace.records import Gold, Sample
from trace.tasks import beside
from trace.tasks.beside import read_beside


def dataset(*ids: str) -> Dataset:
    return Dataset(
        samples=tuple(
            Sample(id=one, gold=Gold(label="safe"), view={}, cluster=one, meta={}) for one in ids
        ),
        taxonomy=Taxonomy(name="t", domains=(), benign=Category(name="Benign", definition="")),
        fingerprint={},
        licence="",
    )


def settings(
    exclusions: Path | None = None,
    labelled: Path | None = None,
    part: Any = None,
    label: Any = None,
) -> Any:
    return SimpleNamespace(
        judges=SimpleNamespace(
            models={"a": None, "b": None}, exclusions=exclusions and str(exclusions)
        ),
        scoring=SimpleNamespace(labelled=labelled and str(labelled)),
        benchmark=None,
        condition=SimpleNamespace(part=part, label=label),
        seed=0,
    )


@pytest.fixture(autouse=True)
def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole benchmark has three samples, of which x and y are drawn."""
    monkeypatch.setattr(beside, "load", lambda *_, **__: dataset("x", "y", "z"))


def test_both_files_are_read_and_hashed(tmp_path: Path) -> None:
    votes, human = tmp_path / "v.jsonl", tmp_path / "h.jsonl"
    votes.write_text(
        '{"id": "x", "judge": "a", "why": "made it"}\n\n'
        '{"id": "x", "judge": "b"}\n{"id": "z", "judge": "a"}\n'
    )
    human.write_text('\ufeff{"id": "y", "label": "unsafe"}\n{"id": "z", "label": "safe"}', "utf-8")
    found = read_beside(settings(votes, human), {"x", "y"})
    assert found.excluded == {"x": {"a", "b"}, "z": {"a"}}
    assert found.unsafe == {"y": True, "z": False}
    assert found.origin == {
        "exclusions": hashlib.sha256(votes.read_bytes()).hexdigest(),
        "labelled": hashlib.sha256(human.read_bytes()).hexdigest(),
    }
    assert "a 1, b 1." in found.notes[0]  # of the samples that were drawn
    assert "1 of 2 samples" in found.notes[1]


def test_a_label_is_that_of_the_condition_it_names(tmp_path: Path) -> None:
    human = tmp_path / "h.jsonl"
    rows = [
        {"id": "x", "condition": "oracle", "label": "unsafe"},
        {"id": "x", "condition": "non_rag", "label": "safe"},
        {"id": "x", "condition": "oracle+filter_output", "label": "safe"},
    ]
    human.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = {
        name: read_beside(settings(labelled=human, label=name), {"x"}).unsafe
        for name in ("oracle", "non_rag", "random", "oracle+filter_output")
    }
    assert read == {
        "oracle": {"x": True},
        "non_rag": {"x": False},
        "random": {},
        "oracle+filter_output": {"x": False},  # other answers than without the filter
    }
    human.write_text('{"id": "x", "label": "safe"}\n')
    with pytest.raises(DataError, match=r"line 1: does not say which condition's answer .* random"):
        read_beside(settings(labelled=human, label="oracle"), {"x"})


def test_a_label_is_that_of_the_part_it_names(tmp_path: Path) -> None:
    human = tmp_path / "h.jsonl"
    rows = [
        {"id": "x", "part": "prompt", "label": "unsafe"},
        {"id": "x", "part": "response", "label": "safe"},
        {"id": "no reasoning", "part": "reasoning", "label": "safe"},
    ]
    human.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_beside(settings(labelled=human, part="prompt"), {"x"}).unsafe == {"x": True}
    assert read_beside(settings(labelled=human, part="response"), {"x"}).unsafe == {"x": False}
    with pytest.raises(DataError, match="line 3: no sample is named"):
        read_beside(settings(labelled=human, part="reasoning"), {"x"})
    for wrong in ({}, {"part": "answer"}):
        human.write_text(json.dumps({"id": "x", "label": "safe"} | wrong))
        with pytest.raises(DataError, match=r'line 1: .*Add "part", one of prompt, reasoning'):
            read_beside(settings(labelled=human, part="prompt"), {"x"})


def test_without_files_nothing_is_said() -> None:
    found = read_beside(settings(), {"x"})
    assert (found.excluded, found.unsafe, found.origin, found.notes) == ({}, None, {}, ())


def test_an_empty_file_says_nothing_and_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").touch()
    found = read_beside(settings(tmp_path / "e.jsonl", tmp_path / "e.jsonl"), {"x"})
    assert (found.excluded, found.unsafe) == ({}, {})
    assert "none" in found.notes[0]


@pytest.mark.parametrize(
    ("of", "lines", "message"),
    [
        (
            "exclusions",
            [{"id": "x", "judge": "d"}],
            "line 1: no judge is named 'd'. Choose one of a",
        ),
        ("exclusions", [None, {"id": "w", "judge": "a"}], "line 2: no sample is named 'w'"),
        ("exclusions", [{"id": "x", "judge": "a"}] * 2, "line 2: 'x' stands on line 1 already"),
        ("exclusions", [{"id": "x", "judges": "a"}], 'like {"id": "...", "judge": "a"}'),
        ("exclusions", [["x", "a"]], "line 1: should be an object like"),
        ("labelled", [{"id": "x", "label": "Unsafe"}], "Choose one of safe, unsafe"),
        ("labelled", [{"id": "x", "label": 1}], "line 1: should be an object like"),
        ("labelled", [{"id": 7, "label": "safe"}], "both as text"),
        ("labelled", [{"id": "x", "label": "safe"}, {"id": "x", "label": "unsafe"}], "line 2: 'x'"),
        ("labelled", [{"id": "xx", "label": "safe"}], "line 1: no sample is named 'xx'"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, of: str, lines: list[Any], message: str) -> None:
    file = tmp_path / "f.jsonl"
    file.write_text("".join("\n" if line is None else json.dumps(line) + "\n" for line in lines))
    with pytest.raises(DataError) as caught:
        read_beside(settings(**{of: file}), {"x", "y"})
    assert str(caught.value).startswith(f"{'judges' if of == 'exclusions' else 'scoring'}.{of}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text", ['{"id": "x", "judge": "a"}\n{"id": ', '\n{"id": "x", "judge": NaN}']
)
def test_a_line_that_is_not_json_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "f.jsonl"
    file.write_text(text)
    with pytest.raises(DataError, match="line 2"):
        read_beside(settings(file), {"x"})


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_beside(settings(labelled=tmp_path), {"x"})
