"""Triples as items: what is shown, what is known of them, and where they come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks.evidence.made_triples import triple, write
from tests.benchmarks.evidence.test_freeze import said
from tests.benchmarks.evidence.test_human_merge import SPLIT, TIED, queued
from trace import config
from trace.annotation.item import Item
from trace.benchmarks.evidence.human import item, study, waiting_item
from trace.benchmarks.evidence.triple import COMPONENTS
from trace.errors import ConfigError, DataError


def test_items_are_blind_and_carry_what_the_set_says() -> None:
    one = triple(3, ["prompt", "response"], attack="DeepInception", language="zh")
    about = item(one)
    assert set(about.texts) == set(COMPONENTS)
    assert about.form == "zh"
    assert about.stratum == "unsafe/safe/unsafe, zh"
    assert about.cluster == one.prompt_id
    assert about.labels == {"attack": "DeepInception", "category": "Cybersecurity",
                            "prompt": "unsafe", "reasoning": "safe",
                            "response": "unsafe"}  # fmt: skip
    assert set(about.spans) == {"prompt", "response"}
    for component, spans in about.spans.items():
        for span in spans:
            assert about.texts[component][span.start : span.end] == span.text
    assert Item.from_json(json.loads(json.dumps(about.to_json()))) == about


def test_of_what_is_open_an_item_says_nothing() -> None:
    about = waiting_item(SPLIT)
    assert set(about.labels) == {"attack", "category", "reasoning", "response"}
    assert about.stratum == "open/unsafe/safe, en"
    unnamed = queued(said(prompt="safe"), said(prompt="unsafe", category="Cybersecurity"))
    assert set(waiting_item(unnamed).labels) == {"attack", "reasoning", "response"}
    assert set(about.texts) == set(COMPONENTS)


def test_the_bundled_triples_are_what_is_asked_about_without_a_path() -> None:
    found = study(config.Evidence(), queue=False)
    assert len(found.items) == 103
    assert {i.form for i in found.items} == {"en", "zh"}
    assert set(found.fingerprint) == {"triples.jsonl"}
    assert "CC BY-NC-SA" in found.terms
    assert not found.merge([], []).counts["waiting"]


def test_a_folder_of_a_build_has_its_queue(tmp_path: Path) -> None:
    settings_ = config.Evidence(path=str(tmp_path))
    with pytest.raises(ConfigError, match="nothing waits for people"):
        study(settings_, queue=True)
    line = TIED.to_json()
    (tmp_path / "queue.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    with pytest.raises(ConfigError, match=r"has none. Type annotate\.select=queue"):
        study(settings_, queue=False)
    (only,) = study(settings_, queue=True).items
    assert only.id == TIED.triple.id
    write(tmp_path / "dataset.jsonl", [triple(1)])
    found = study(settings_, queue=True)
    assert found.items == (only,)
    assert set(found.fingerprint) == {"dataset.jsonl", "queue.jsonl"}
    assert found.merge([], []).counts == {"triples": 1, "waiting": 1}
    assert [i.id for i in study(settings_, queue=False).items] == [triple(1).id]
    write(tmp_path / "dataset.jsonl", [triple(1), TIED.triple])
    with pytest.raises(DataError):
        study(settings_, queue=True)
