"""Octopus: safe or unsafe about an answer, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judging.guards.asked import (
    GARBAGE,
    HOSTILE,
    check_endings,
    check_questions,
    outcome,
    scored,
    written,
)
from trace.judging.guards.base import Conversation
from trace.judging.guards.octopus import Octopus
from trace.records import Finish

GUARD = Octopus()
PROMPT = Conversation(user="Q")
RESPONSE = Conversation(user="Q", assistant="A")


def test_a_prompt_alone_is_unsupported() -> None:
    assert "prompt" not in GUARD.targets
    assert GUARD.questions(PROMPT) == ()
    for answers in ([], [written("safe")], [scored({"safe": 0.9, "unsafe": 0.1}, "safe")]):
        assert outcome(GUARD.read(answers, PROMPT, "strict")) == "unsupported"


def test_a_pair_is_put_as_two_turns() -> None:
    first, second = GUARD.questions(RESPONSE)
    assert first.messages == second.messages
    assert first.messages == (
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "A"},
    )
    assert (first.labels, first.prefix, second.labels) == (("safe", "unsafe"), "", ())


@pytest.mark.parametrize(
    ("safe", "unsafe", "top", "label", "score"),
    [
        (0.6, 0.2, "safe", "Safe", 0.25),
        (0.2, 0.6, "unsafe", "Unsafe", 0.75),
        (0.2, 0.6, "uns", "Unsafe", 0.75),
        (0.4, 0.4, "safe", None, None),
        (0.6, 0.2, "<think>", None, None),
        (0.6, 0.2, "\n\n", None, None),
        (0.6, 0.2, "Safe", None, None),
    ],
)
def test_the_verdict_is_read_from_likelihoods(
    safe: float, unsafe: float, top: str, label: str | None, score: float | None
) -> None:
    verdict = GUARD.read([scored({"safe": safe, "unsafe": unsafe}, top)], RESPONSE, "strict")
    assert (verdict.label, verdict.score) == (label, score and pytest.approx(score))
    assert verdict.status == ("ok" if label else "unparsable")


def test_the_explanation_joins_the_verdict_it_belongs_to() -> None:
    why = written("unsafe\n<explanation>The answer agrees.</explanation>")
    likely = scored({"safe": 0.1, "unsafe": 0.9}, "unsafe")
    assert GUARD.read([likely, why], RESPONSE, "strict").rationale == "The answer agrees."
    unlikely = scored({"safe": 0.9, "unsafe": 0.1}, "safe")
    verdict = GUARD.read([unlikely, why], RESPONSE, "strict")
    assert (verdict.label, verdict.rationale) == ("Safe", None)


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [
        ("safe\n<explanation>fine</explanation>", "stop", "Safe"),
        ("unsafe<explanation>not fine</explanation>", "stop", "Unsafe"),
        ("safe", "stop", "Safe"),
        ("unsafe\n<explanation>cut", "length", "Unsafe"),
        ("safe", "length", "truncated"),
        ("un", "length", "truncated"),
        ("", "stop", "unparsable"),
        ("safe but unsafe<explanation>x</explanation>", "stop", "unparsable"),
        ("not unsafe", "stop", "unparsable"),
        ("unsafe.", "stop", "unparsable"),
        ("<explanation>fine</explanation>safe", "stop", "unparsable"),
        ("<explanation>the text says safe</explanation>", "stop", "unparsable"),
        ("The answer is safe.", "stop", "unparsable"),
    ],
)
def test_written_answers(text: str, finish: Finish, status: str) -> None:
    assert outcome(GUARD.read([written(text, finish)], RESPONSE, "strict")) == status


def test_how_an_answer_ended_comes_first() -> None:
    check_endings(GUARD, RESPONSE, "unsafe\n<explanation>x</explanation>")


def test_a_thought_in_the_answer_does_not_hide_what_stands_before_it() -> None:
    judged = Conversation(user="Q", assistant="first part</think>second part")
    shown = str(GUARD.questions(judged)[0].messages[1]["content"])
    assert shown.split("</think>")[-1].startswith("first part")


@pytest.mark.parametrize("user", HOSTILE)
@pytest.mark.parametrize("assistant", HOSTILE[:8])
def test_hostile_samples_are_shown_whole(user: str, assistant: str) -> None:
    check_questions(GUARD, Conversation(user=user, assistant=assistant))


@given(st.text(), st.text())
def test_any_sample_is_shown_whole(user: str, assistant: str) -> None:
    check_questions(GUARD, Conversation(user=user, assistant=assistant))


@pytest.mark.parametrize("text", GARBAGE)
def test_garbage_has_no_verdict(text: str) -> None:
    assert GUARD.read([written(text)], RESPONSE, "loose").label is None


@given(st.text())
def test_no_text_is_misread(text: str) -> None:
    for around in (text, f"{text}safe", f"unsafe{text}"):
        verdict = GUARD.read([written(around)], RESPONSE, "strict")
        tag = around.split("<explanation>")[0]
        assert verdict.label is None or len(tag.strip()) <= len(text) + len("unsafe")
        if verdict.label is None:
            continue
        assert ("unsafe" in around) == (verdict.label == "Unsafe")
