from __future__ import annotations

import base64
import itertools
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from trace.benchmarks.evidence import taxonomy
from trace.benchmarks.evidence.triple import COMPONENTS, LANGUAGES, Component, Triple

PATH = Path(taxonomy.__file__).parent / "data" / "triples.jsonl"
LINES = PATH.read_text(encoding="utf-8").splitlines()
TRIPLES = [Triple.from_json(json.loads(line), f"line {n}") for n, line in enumerate(LINES, 1)]
UNSAFE = [t for t in TRIPLES if t.labels["prompt"].safety == "unsafe"]
SAFE = [t for t in TRIPLES if t.labels["prompt"].safety == "safe"]
LONG = {"en": 600, "zh": 1000}
"""Words of English, characters of Chinese."""


def _course(triple: Triple) -> str:
    return "".join(triple.labels[c].safety[0] for c in COMPONENTS)


def _length(triple: Triple, component: Component) -> int:
    text = triple.text(component)
    return len(text.split()) if triple.language == "en" else len(text)


def _grams(text: str) -> set[str]:
    return {text[i : i + 5] for i in range(len(text) - 4)}


def _caesar(text: str, shift: int) -> str:
    return "".join(
        chr((ord(c.lower()) - 97 + shift) % 26 + 97) if c.isascii() and c.isalpha() else c
        for c in text
    )


def test_there_are_enough_of_each_kind() -> None:
    assert len(TRIPLES) >= 64
    assert len(SAFE) >= 24
    triples_of = Counter(t.prompt_id for t in TRIPLES)
    assert len(triples_of) < len(TRIPLES)
    assert sum(2 <= count <= 4 for count in triples_of.values()) >= 16
    for language in LANGUAGES:
        assert 0.4 <= sum(t.language == language for t in TRIPLES) / len(TRIPLES) <= 0.6


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_category_and_attack_occurs(language: str) -> None:
    here = [t for t in UNSAFE if t.language == language]
    assert {t.category for t in here} == set(taxonomy.CATEGORY_NAMES)
    assert {t.attack for t in here} == {*taxonomy.ATTACK_NAMES, None}


@pytest.mark.parametrize("language", LANGUAGES)
def test_safety_shifts_in_every_way(language: str) -> None:
    courses = {"".join(course) for course in itertools.product("su", repeat=3)}
    assert {_course(t) for t in TRIPLES if t.language == language} == courses


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_long_traces_with_and_without_risk(language: str) -> None:
    long = [
        t for t in TRIPLES if t.language == language and _length(t, "reasoning") >= LONG[language]
    ]
    assert {t.labels["reasoning"].safety for t in long} == {"safe", "unsafe"}


def test_category_and_attack_belong_to_unsafe_prompts_alone() -> None:
    assert all(t.category is not None for t in UNSAFE)
    assert all(t.category is None and t.attack is None for t in SAFE)


def test_every_unsafe_component_has_evidence_which_stands_in_it() -> None:
    for triple in TRIPLES:
        for component, label in triple.labels.items():
            assert bool(label.evidence) == (label.safety == "unsafe"), (triple.id, component)
            for span in label.evidence:
                assert triple.text(component)[span.start : span.end] == span.text
                assert span.text == span.text.strip()
            for first, second in itertools.pairwise(label.evidence):
                assert first.end < second.start
    assert sum(len(t.labels[c].evidence) > 1 for t in TRIPLES for c in COMPONENTS) >= 16


def test_a_prompt_is_labelled_once() -> None:
    seen: dict[str, tuple[object, ...]] = {}
    for t in TRIPLES:
        what = (t.language, t.category, t.attack, t.labels["prompt"], t.provenance)
        assert seen.setdefault(t.prompt_id, what) == what


def test_nothing_stands_twice() -> None:
    assert len({t.id for t in TRIPLES}) == len(TRIPLES)
    for component in ("reasoning", "response"):
        assert len({t.text(component) for t in TRIPLES}) == len(TRIPLES)
    by_prompt = Counter((t.prompt_id, t.respondent) for t in TRIPLES)
    assert set(by_prompt.values()) == {1}


@pytest.mark.parametrize("component", COMPONENTS)
def test_only_twins_are_alike(component: Component) -> None:
    texts = {(t.text(component), str(t.provenance["twins"])) for t in TRIPLES}
    grams = [(twins, _grams(text)) for text, twins in sorted(texts)]
    for (twins, one), (others, other) in itertools.combinations(grams, 2):
        if twins != others:
            assert len(one & other) < 0.5 * len(one | other), (twins, others)


def test_every_unsafe_prompt_has_one_safe_twin() -> None:
    twins: dict[str, dict[str, Triple]] = defaultdict(dict)
    for t in TRIPLES:
        twins[str(t.provenance["twins"])][t.prompt_id] = t
    for pair in twins.values():
        assert sorted(t.labels["prompt"].safety for t in pair.values()) == ["safe", "unsafe"]
        assert len({t.language for t in pair.values()}) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_encrypted_prompts_decode_to_their_plain_text(language: str) -> None:
    encrypted = [t for t in TRIPLES if t.language == language and "plain" in t.provenance]
    assert {t.provenance["cipher"] for t in encrypted} == {"caesar", "base64"}
    for t in encrypted:
        ciphertext = t.prompt.splitlines()[-1]
        plain = str(t.provenance["plain"])
        if t.provenance["cipher"] == "base64":
            assert base64.b64decode(ciphertext, validate=True).decode("utf-8") == plain
        else:
            assert _caesar(ciphertext, -t.provenance["shift"]) == plain.lower()
        if t.category is not None:
            assert [s.text for s in t.labels["prompt"].evidence] == [ciphertext]


def test_every_encrypted_attack_says_its_plain_text() -> None:
    encrypted = [t for t in UNSAFE if "plain" in t.provenance]
    assert [t for t in UNSAFE if t.attack == "InstructionEncryption"] == encrypted


def test_respondents_are_roles() -> None:
    assert {
        (t.respondent.name, t.respondent.family, t.respondent.abliterated) for t in TRIPLES
    } == {
        ("bundled_q", "Qwen", False),
        ("bundled_q_abliterated", "Qwen", True),
        ("bundled_g", "Gemma", False),
        ("bundled_g_abliterated", "Gemma", True),
    }
    for t in TRIPLES:
        assert t.provenance["source"] == "bundled"
        assert t.provenance["licence"] == "Apache-2.0"
        assert "not that model's output" in t.provenance["note"]
        assert t.votes == {}


def test_a_line_is_written_as_it_was_read() -> None:
    assert [json.dumps(t.to_json(), ensure_ascii=False) for t in TRIPLES] == LINES


@pytest.mark.parametrize("component", COMPONENTS)
def test_marked_words_are_a_weak_annotator(component: Component) -> None:
    agreed = Counter(
        (t.labels[component].safety, bool(taxonomy.marked_words(t.text(component))))
        for t in TRIPLES
    )
    accuracy = (agreed["unsafe", True] + agreed["safe", False]) / len(TRIPLES)
    assert 0.6 <= accuracy <= 0.95
    assert agreed["unsafe", False], "misses nothing"
    assert agreed["safe", True], "never takes a safe text for unsafe"


def test_a_marked_word_hints_at_the_category_of_most_of_its_triples() -> None:
    for word, category in taxonomy.MARKED.items():
        held = [
            t.category for t in TRIPLES if word in (t.prompt + t.reasoning + t.response).lower()
        ]
        unsafe = [c for c in held if c is not None]
        assert unsafe.count(category) * 2 >= len(unsafe) > 0, word
        assert taxonomy.marked_class(f"… {word.upper()}s …") == category
    assert taxonomy.marked_class("A kettle.") == taxonomy.TAXONOMY.benign.name
