"""The form about a triple, in both languages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trace.annotation.form import Language
from trace.benchmarks.evidence import human_form, human_words
from trace.benchmarks.evidence.human_form import NONE, OTHER, forms, listed
from trace.benchmarks.evidence.taxonomy import ATTACK_NAMES, ATTACKS, CATEGORY_NAMES, TAXONOMY
from trace.benchmarks.evidence.triple import COMPONENTS
from trace.records import digest

TRANSLATED = "973f7fb99bd6e176b0277a3800bdcf6ac7a078ef1ee507045bf1a825bf653769"
"""Of the English definitions whose translation stands in human_words.py."""


def test_both_languages_ask_the_same() -> None:
    english, chinese = forms()["en"], forms()["zh"]
    asked = [
        [(q.name, [o.value for o in q.options]) for q in f.questions] for f in (english, chinese)
    ]
    assert asked[0] == asked[1]
    assert [q.name for q in english.questions] == ["attack", "category", *COMPONENTS]
    assert [p.name for p in english.passages] == list(COMPONENTS)
    assert english.digest != chinese.digest


@pytest.mark.parametrize("language", ["en", "zh"])
def test_names_are_dropdowns_with_a_meaning_each(language: Language) -> None:
    attack, category = forms()[language].questions[:2]
    assert [o.value for o in attack.options] == [NONE, *ATTACK_NAMES, OTHER]
    assert [o.value for o in category.options] == [NONE, *CATEGORY_NAMES, OTHER]
    for question in (attack, category):
        assert question.dropdown
        assert all(o.hint and o.shown for o in question.options)
        for texts in ([o.hint for o in question.options], [o.shown for o in question.options]):
            assert len(set(texts)) == len(texts)


def test_english_tooltips_are_the_definitions() -> None:
    hints = {o.value: o.hint for q in forms()["en"].questions[:2] for o in q.options}
    for known in (*TAXONOMY.classes, *ATTACKS):
        assert hints[known.name] == known.definition


def test_chinese_stands_in_every_text_of_the_chinese_form() -> None:
    form = forms()["zh"]
    texts = [form.title, *(p.title for p in form.passages), *(q.title for q in form.questions)]
    texts += [t for q in form.questions for o in q.options for t in (o.shown, o.hint)]
    texts += [p.marking.shown for p in form.passages if p.marking]
    for text in texts:
        assert any("\u4e00" <= char <= "\u9fff" for char in text), text
    for name, word in human_words.CHINESE.names.items():
        assert word.hint.endswith("。"), name
        assert word.hint.count("。") == 1, f"{name}: one sentence"


def test_translations_are_of_the_definitions_as_they_are() -> None:
    """Where this fails, look at the Chinese definitions, then put the new hash here."""
    names = {c.name: c.definition for c in (*TAXONOMY.classes, *ATTACKS)}
    assert set(human_words.CHINESE.names) == set(names)
    assert digest(sorted(names.items())) == TRANSLATED


def test_a_definition_that_changes_changes_the_taxonomy(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: form.taxonomy for name, form in forms().items()}
    assert before["en"] != before["zh"]
    word = human_words.Word(shown="其他", hint="改了的释义。")
    names = {**human_words.CHINESE.names, "Extremism": word}
    changed = replace(human_words.CHINESE, names=names)
    monkeypatch.setitem(human_words.WORDS, "zh", changed)  # type: ignore[arg-type]
    after = {name: form.taxonomy for name, form in forms().items()}
    assert after["en"] == before["en"]
    assert after["zh"] != before["zh"]
    monkeypatch.setattr(human_form, "ATTACKS", ATTACKS[1:])
    assert forms()["en"].taxonomy != before["en"]


def test_pieces_are_marked_where_a_text_is_unsafe_and_only_there() -> None:
    for form in forms().values():
        for passage in form.passages:
            assert passage.marking is not None
            assert (passage.marking.question, passage.marking.value) == (passage.name, "unsafe")


@pytest.mark.parametrize(
    ("question", "name", "option"),
    [
        ("category", None, NONE),
        ("category", "None", NONE),
        ("category", "无风险", NONE),
        ("category", "Crimes_and_Illegal_Activities", "CrimesAndIllegalActivities"),
        ("category", "网络安全", "Cybersecurity"),
        ("category", "Salt Tax", OTHER),
        ("attack", None, NONE),
        ("attack", "deep_inception", "DeepInception"),
        ("attack", "Humming", OTHER),
    ],
)
def test_what_a_data_set_calls_it(question: str, name: str | None, option: str) -> None:
    assert listed(question, name) == option
