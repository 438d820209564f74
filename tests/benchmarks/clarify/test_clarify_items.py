"""The bundled requests, and the files that are refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from statistics import mean

import pytest

from trace.benchmarks.clarify.items import read_items
from trace.errors import DataError

LINES = [
    {"id": f"{topic}-{i}-{kind[0]}", "pair": f"{topic}-{i}", "kind": kind, "topic": topic,
     "text": f"{kind} request {i} about {topic}"}
    for topic in ("soup", "boats")
    for i in range(3)
    for kind in ("underspecified", "specified")
]  # fmt: skip


def write(path: Path, rows: list[dict[str, str]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def test_the_bundled_set_is_sixty_whole_pairs() -> None:
    found = read_items(None)
    assert len(found.pairs) == 60
    assert Counter(item.kind for item in found.items) == {"underspecified": 60, "specified": 60}
    assert len({item.id for item in found.items}) == 120
    assert len({item.text.casefold() for item in found.items}) == 120
    topics = Counter(pair.topic for pair in found.pairs)
    assert len(topics) >= 10
    assert set(topics.values()) == {5}


def test_the_bundled_requests_are_short_and_what_was_missing_makes_them_longer() -> None:
    words = {
        kind: [len(item.text.split()) for item in read_items(None).items if item.kind == kind]
        for kind in ("underspecified", "specified")
    }
    assert max(map(max, words.values())) <= 40
    longer = mean(words["specified"]) - mean(words["underspecified"])
    assert 3 < longer < 12, f"docs/clarify.md says how much: {longer}"


def test_a_limit_keeps_whole_pairs_of_every_topic(tmp_path: Path) -> None:
    path = write(tmp_path / "own.jsonl", LINES)
    found = read_items(path, limit=2, seed=3)
    assert Counter(pair.topic for pair in found.pairs) == {"soup": 2, "boats": 2}
    assert {pair.id for pair in read_items(path, limit=1, seed=3).pairs} < {
        pair.id for pair in found.pairs
    }
    assert len(found.items) == 8
    assert list(found.fingerprint) == ["own.jsonl"]


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        ({"kind": "vague"}, 1, "kind: 'vague' should be underspecified or specified"),
        ({"text": " "}, 1, "text: is empty"),
        ({"id": "soup-0-s"}, 2, "id: 'soup-0-s' stands at"),
        ({"text": "specified  request 0 about soup"}, 2, "text: 'specified request 0 about soup'"),
        ({"topic": "boats"}, 2, "topic: is 'soup', and 'boats' at"),
        ({"pair": "soup-1"}, 3, "pair: soup-1 has its underspecified request at"),
        ({"pair": "other"}, 1, "pair: other has no specified request"),
        ({"kind": "specified"}, 2, "pair: soup-0 has its specified request at"),
    ],
)
def test_a_wrong_line_is_named(
    tmp_path: Path, change: dict[str, str], line: int, said: str
) -> None:
    path = write(tmp_path / "own.jsonl", [{**LINES[0], **change}, *LINES[1:]])
    with pytest.raises(DataError) as refused:
        read_items(path)
    assert str(refused.value).startswith(f"{path}:{line}: ")
    assert said in str(refused.value)


def test_what_is_no_object_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("[1]\n")
    with pytest.raises(DataError, match=r"own\.jsonl:1: should be one JSON object"):
        read_items(str(path))
