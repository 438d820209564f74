"""YuFeng-XGuard: an id of 29, its risk, and an explanation."""

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
from trace.judging.guards.yufeng_xguard import CATEGORIES, YuFengXGuard
from trace.records import Completion, Finish

GUARD = YuFengXGuard()
PROMPT = Conversation(user="Q")
RESPONSE = Conversation(user="Q", assistant="A")


def ids(top: str | None = None, **shares: float) -> Completion:
    rest = (1 - sum(shares.values())) / (len(CATEGORIES) - len(shares))
    likely = max(shares, key=lambda code: shares[code])
    return scored({code: shares.get(code, rest) for code in CATEGORIES}, top or likely)


def test_the_id_is_read_and_the_explanation_written_after_the_same_prompt() -> None:
    first, second = GUARD.questions(RESPONSE)
    assert first.messages == (
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "A"},
    )
    assert (first.messages, first.template_args) == (second.messages, second.template_args)
    assert first.template_args == {"reason_first": False}
    assert (set(first.labels), first.prefix, second.labels) == (set(CATEGORIES), "", ())
    assert len(first.labels) == 29
    assert len(GUARD.questions(PROMPT)[0].messages) == 1


def test_the_score_is_the_share_of_all_ids_but_sec() -> None:
    # The README's spread mass: dw is first, and much of the rest is sec.
    verdict = GUARD.read([ids(dw=0.68, sec=0.17)], PROMPT, "strict")
    assert (verdict.label, verdict.categories) == ("Unsafe", ("dw",))
    assert verdict.score == pytest.approx(0.83)
    safe = GUARD.read([ids(sec=0.999999, dw=4e-7)], PROMPT, "strict")
    assert (safe.label, safe.categories) == ("Safe", ())
    assert safe.score == pytest.approx(1e-6, rel=1e-3)


def test_risk_spread_over_ids_does_not_outvote_sec() -> None:
    verdict = GUARD.read([ids(sec=0.4, ac=0.3, acc=0.3 - 1e-6)], PROMPT, "strict")
    assert verdict.label == "Safe"
    assert verdict.score == pytest.approx(0.6)


def test_ac_is_not_acc() -> None:
    for code in ("ac", "acc"):
        verdict = GUARD.read([written(f"{code}\n<explanation>x</explanation>")], PROMPT, "strict")
        assert verdict.categories == (code,)
        assert GUARD.read([ids(**{code: 0.9})], PROMPT, "strict").categories == (code,)
    assert CATEGORIES["ac"] == "Abusive Curses"
    assert CATEGORIES["acc"] == "Access Control"


def test_the_explanation_joins_the_verdict_it_belongs_to() -> None:
    why = written("dw\n<explanation>It names\na weapon.</explanation>")
    verdict = GUARD.read([ids(dw=0.9), why], PROMPT, "strict")
    assert (verdict.rationale, verdict.categories) == ("It names\na weapon.", ("dw",))
    other = GUARD.read([ids(sec=0.9), why], PROMPT, "strict")
    assert (other.label, other.rationale, other.categories) == ("Safe", None, ())
    alone = GUARD.read([written("", "error"), why], PROMPT, "strict")
    assert (alone.label, alone.score, alone.rationale) == ("Unsafe", None, "It names\na weapon.")


def test_a_cut_explanation_is_kept_as_far_as_it_goes() -> None:
    cut = written("sec\n<explanation>A question about", "length")
    verdict = GUARD.read([ids(sec=0.9), cut], PROMPT, "strict")
    assert (verdict.label, verdict.rationale) == ("Safe", "A question about")


@pytest.mark.parametrize("top", ["<think>", "<explanation>", "\n", "", "Sec", "z", "security"])
def test_an_id_it_would_not_have_written_is_none(top: str) -> None:
    scores = ids(sec=0.9).scores
    answer = Completion(key="k", scores=scores, top=top)
    assert outcome(GUARD.read([answer], PROMPT, "strict")) == "unparsable"


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [
        ("sec\n<explanation></explanation>", "stop", "Safe"),
        ("sec", "stop", "Safe"),
        ("\u200bsec\n<explanation>fine", "length", "Safe"),
        ("ac", "length", "truncated"),  # it may go on to acc
        ("<explanation>fine</explanation>\nsec", "stop", "unparsable"),  # reason_first was not set
        ("sec dw\n<explanation>x</explanation>", "stop", "unparsable"),
        ("sec,dw", "stop", "unparsable"),
        ("Sec", "stop", "unparsable"),
        ("zz\n<explanation>x</explanation>", "stop", "unparsable"),
        ("a\n<explanation>x</explanation>", "stop", "unparsable"),  # no policy of ours has an `a`
        ("safe\n<explanation>x</explanation>", "stop", "unparsable"),
        ("security\n<explanation>x</explanation>", "stop", "unparsable"),
        ("Safe-Safe", "stop", "unparsable"),
        ("sec\nfine\n<explanation>x</explanation>", "stop", "unparsable"),
        ("It is sec\n<explanation>x</explanation>", "stop", "unparsable"),
    ],
)
def test_written_answers(text: str, finish: Finish, status: str) -> None:
    assert outcome(GUARD.read([written(text, finish)], RESPONSE, "strict")) == status


def test_how_an_answer_ended_comes_first() -> None:
    check_endings(GUARD, PROMPT, "dw\n<explanation>x</explanation>")


@pytest.mark.parametrize("user", HOSTILE)
@pytest.mark.parametrize("assistant", [None, *HOSTILE[:6]])
def test_hostile_samples_are_shown_whole(user: str, assistant: str | None) -> None:
    check_questions(GUARD, Conversation(user=user, assistant=assistant))


@given(st.text(), st.none() | st.text())
def test_any_sample_is_shown_whole(user: str, assistant: str | None) -> None:
    check_questions(GUARD, Conversation(user=user, assistant=assistant))


@pytest.mark.parametrize("text", GARBAGE)
def test_garbage_has_no_verdict(text: str) -> None:
    assert GUARD.read([written(text)], PROMPT, "loose").label is None


@given(st.text())
def test_a_verdict_is_an_id_written_whole(text: str) -> None:
    verdict = GUARD.read([written(text)], PROMPT, "strict")
    assert verdict.label is None or any(code in text for code in CATEGORIES)
    assert GUARD.read([written(f"sec x{text}")], PROMPT, "strict").label is None
