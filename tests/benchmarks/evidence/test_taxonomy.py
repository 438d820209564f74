from __future__ import annotations

import dataclasses
import itertools

import pytest

from tests.benchmarks.evidence.released_names import ATTACK_VALUES, RISK_TYPES
from trace.benchmarks.evidence.taxonomy import (
    ATTACK_NAMES,
    ATTACK_OF,
    ATTACKS,
    CATEGORY_NAMES,
    CATEGORY_OF,
    MARKED_WORDS,
    TAXONOMY,
    marked_words,
)
from trace.config.groups import Protocol
from trace.judging.labels import label_set
from trace.judging.protocols import judge_protocol
from trace.judging.taxonomy import Category
from trace.records import Gold, Sample

PROTOCOLS = (
    Protocol(name="binary", definitions=False, answers="binary"),
    Protocol(name="schema", definitions=True, answers="binary"),
    Protocol(name="coarse", definitions=True, answers="domain"),
    Protocol(name="fine", definitions=True, answers="class"),
)


def test_every_released_category_has_ours_and_one_more_is_known() -> None:
    assert set(CATEGORY_OF) == {*RISK_TYPES, "Risks_Involving_Minors"}
    assert sorted(CATEGORY_OF.values()) == sorted(CATEGORY_NAMES)
    for released, ours in CATEGORY_OF.items():
        assert released.replace("_", "").casefold() == ours.casefold()


def test_every_released_attack_has_ours() -> None:
    assert {ATTACK_OF[value] for value in ATTACK_VALUES} == set(ATTACK_NAMES)
    for value in ATTACK_VALUES:
        assert value.replace("_", "") == ATTACK_OF[value].casefold()


def test_there_are_nine_categories_in_three_domains_and_ten_attacks() -> None:
    assert len(set(CATEGORY_NAMES)) == 9
    assert len(set(ATTACK_NAMES)) == 10
    assert {d.category.name: {c.name for c in d.classes} for d in TAXONOMY.domains} == {
        "Unlawful": {"CrimesAndIllegalActivities", "Cybersecurity", "DataPrivacy", "Extremism"},
        "Harmful": {"PhysicalAndMentalHealth", "HateSpeech", "RisksInvolvingMinors"},
        "Unsound": {"EthicsAndMorality", "InappropriateSuggestions"},
    }


def test_definitions_are_distinct_sentences() -> None:
    domains = tuple(d.category for d in TAXONOMY.domains)
    definitions = [c.definition for c in (*TAXONOMY.classes, *domains, TAXONOMY.benign, *ATTACKS)]
    assert len(set(definitions)) == len(definitions)
    assert all(len(d.split()) >= 8 and d.endswith(".") for d in definitions)


@pytest.mark.parametrize("category", [*TAXONOMY.classes, TAXONOMY.benign], ids=lambda c: c.name)
def test_a_judge_may_answer_with_any_alias(category: Category) -> None:
    labels = label_set("class", TAXONOMY)
    assert category.aliases
    for alias in category.aliases:
        assert labels.read(alias) == category.name


@pytest.mark.parametrize("settings", PROTOCOLS, ids=lambda p: p.name)
def test_protocols_compose(settings: Protocol) -> None:
    protocol = judge_protocol(settings, TAXONOMY)
    shown = [c for c in TAXONOMY.classes if c.definition in protocol.rubric]
    defines_classes = settings.name in ("schema", "fine")
    assert len(shown) == (9 if defines_classes else 0)
    assert len(protocol.label_strings) == {"binary": 2, "domain": 4, "class": 10}[settings.answers]
    assert protocol.rubric.startswith(TAXONOMY.task)


def test_the_prompts_of_two_protocols_or_taxonomies_differ() -> None:
    other = dataclasses.replace(TAXONOMY, task=f"{TAXONOMY.task} Be quick.")
    hashes = [judge_protocol(p, t).prompt_hash for p in PROTOCOLS for t in (TAXONOMY, other)]
    assert len(set(hashes)) == len(hashes)


def test_the_judged_section_stands_last() -> None:
    sample = Sample(
        id="x",
        gold=Gold(label="safe"),
        view={"prompt": "the question", "response": "the answer"},
        cluster="x",
    )
    (message,) = judge_protocol(PROTOCOLS[0], TAXONOMY).messages(sample)
    assert "last section" in message["content"]
    assert message["content"].index("prompt:") < message["content"].index("response:")


def test_marked_words_are_quotes_in_their_order() -> None:
    text = "VELMITE, then a Tolvan, two Tolvans, 维尔粉和velmite；Tolvan."
    assert marked_words(text) == ("VELMITE", "Tolvan", "Tolvans", "维尔粉", "velmite")
    assert all(quote in text for quote in marked_words(text))


@pytest.mark.parametrize("text", ["", "A pear bun and a mug of broth.", "茶壶里的水", "vel mite"])
def test_other_words_are_not_marked(text: str) -> None:
    assert marked_words(text) == ()


def test_no_marked_word_holds_another() -> None:
    for one, other in itertools.permutations(MARKED_WORDS, 2):
        assert one.casefold() not in other.casefold()
