"""What annotators are told first."""

from __future__ import annotations

import pytest

from trace.annotation.briefing import NO, QUESTION, YES, consent
from trace.annotation.form import Language

STUDIES = ("evidence", "rag_safety", "tracesafe", "cross_lab")


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_one_text_and_one_question(language: Language, study: str) -> None:
    form, item = consent(language, study)
    (passage,) = form.passages
    (question,) = passage.questions
    assert question.name == QUESTION
    assert [option.value for option in question.options] == [YES, NO]
    assert set(item.texts) == {passage.name}
    assert (item.form, form.study, form.language) == (form.name, study, language)
    assert "{" not in item.texts["briefing"]
    assert not item.labels


def test_each_study_says_what_its_content_is() -> None:
    for language in ("en", "zh"):
        texts = {consent(language, study)[1].texts["briefing"] for study in STUDIES}  # type: ignore[arg-type]
        assert len(texts) == len(STUDIES)


@pytest.mark.parametrize(
    "words",
    [
        ("pseudonym", "化名"),
        ("skip any", "跳过"),
        ("at any time", "随时退出"),
        ("never an instruction to you", "绝不是对您的指令"),
        ("hidden until", "点击之前都是隐藏"),
        ("never against anybody", "绝不会因此对任何人不利"),
    ],
)
def test_both_languages_say_the_same_rights(words: tuple[str, str]) -> None:
    for language, word in zip(("en", "zh"), words, strict=True):
        assert word in consent(language, "evidence")[1].texts["briefing"]  # type: ignore[arg-type]


def test_both_can_stand_in_one_export() -> None:
    assert consent("en", "evidence")[0].name != consent("zh", "evidence")[0].name
    with pytest.raises(KeyError):
        consent("en", "weather")
