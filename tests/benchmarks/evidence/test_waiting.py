"""Lines of a build's queue: read as the build would have frozen them, and written again."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.evidence.test_freeze import annotated, said
from trace.benchmarks.evidence.freeze import Annotated
from trace.benchmarks.evidence.triple import COMPONENTS
from trace.benchmarks.evidence.waiting import Waiting, read_queue
from trace.errors import DataError

TIED = tuple(said(response=r, category="Cybersecurity") for r in ("safe", "unsafe"))
"""Two annotators who differ on the response alone; what else they say follows."""


def waiting(one: Annotated) -> Waiting:
    return Waiting.from_json(json.loads(json.dumps(one.question())), "q:1")


@pytest.mark.parametrize(
    ("prompt", "categories", "attacks"),
    list(itertools.product(
        ("safe", "unsafe"),
        (("None", "None"), ("Cybersecurity", "Cybersecurity"), ("Salt Tax", "Salt Tax"),
         ("Cybersecurity", "DataPrivacy")),
        (("None", "None"), ("DeepInception", "DeepInception"), ("Humming", "Humming"),
         ("None", "DeepInception")),
    )),
)  # fmt: skip
def test_names_are_those_that_the_build_would_have_frozen(
    prompt: str, categories: tuple[str, str], attacks: tuple[str, str]
) -> None:
    """The response alone is tied; had it been decided, the build would have named both."""
    pairs = list(zip(categories, attacks, strict=True))
    tied = annotated(*(said(prompt, response=r, quote="gl" if r == "safe" else "I", category=c,
                            attack=a)
                       for r, (c, a) in zip(("safe", "unsafe"), pairs, strict=True)))  # fmt: skip
    twin = annotated(*(said(prompt, quote="gl", category=c, attack=a) for c, a in pairs)).triple()
    read = waiting(tied)
    assert "response" in read.open
    if twin is None:
        assert "category" in read.open
        return
    assert (read.triple.category, read.triple.attack) == (twin.category, twin.attack)
    for by in ("category_by", "attack_by"):
        assert read.triple.provenance[by] == twin.provenance[by]


def test_a_line_is_written_as_it_was_read() -> None:
    once = waiting(annotated(*TIED))
    again = Waiting.from_json(json.loads(json.dumps(once.to_json())), "q:1")
    assert again == once
    assert set(once.triple.labels) == {"prompt", "reasoning"}
    assert once.to_json()["open"] == annotated(*TIED).question()["open"]
    assert once.triple.id == annotated(*TIED).id


def edited(**changes: Any) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(json.dumps(annotated(*TIED).question()))
    return line | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"open": []}, "says nothing of what is open"),
        ({"open": [{"item": "weather", "reason": "tie"}]}, "is no item with its reason"),
        ({"open": [{"item": "response"}]}, "is no item with its reason"),
        ({"open": [{"item": "prompt", "reason": "tie"}]}, "prompt: should be labelled or open"),
        ({"labels": None}, "has no labels"),
        ({"category": "Cybersecurity"}, "category: should be"),
        ({"category": None, "provenance": {}}, "is unsafe, without a category"),
        ({"response": "another"}, "id:"),
    ],
)
def test_what_is_no_line_of_a_queue(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        Waiting.from_json(edited(**changes), "queue.jsonl:3")
    assert str(error.value).startswith("queue.jsonl:3: ")


def test_a_queue_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "queue.jsonl"
    path.write_text("")
    assert read_queue(path) == ([], hashlib.sha256(b"").hexdigest())
    line = json.dumps(edited(), ensure_ascii=False)
    path.write_text(line + "\n", "utf-8")
    (one,), sha256 = read_queue(path)
    assert one.triple.text(COMPONENTS[0]) == edited()["prompt"]
    assert len(sha256) == 64
    path.write_text(f"{line}\n{line}\n", "utf-8")
    with pytest.raises(DataError, match=r":2: .* again"):
        read_queue(path)
