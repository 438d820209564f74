"""What holds for every family of Meta, NVIDIA, Google and AI2, whatever is asked and answered."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.judging.guards.asked import GARBAGE, HOSTILE, NO_VERDICT, outcome, written
from trace.judging.guards import llama_guard, nemo_guard, nemotron_reasoning, shieldgemma, wildguard
from trace.judging.guards.base import Conversation, Guard, Question
from trace.judging.guards.families_a import FAMILIES_A
from trace.judging.guards.text import neutralised
from trace.records import Completion, LabelScore, Verdict

MARKS: dict[str, Sequence[str]] = {
    **dict.fromkeys(
        ("llama_guard_2", "llama_guard_3", "llama_guard_3_1b", "llama_guard_4"),
        llama_guard.TEMPLATED,
    ),
    "nemo_guard": nemo_guard.MARKS,
    "nemotron_reasoning": nemotron_reasoning.MARKS,
    "nemotron_reasoning_thinking": nemotron_reasoning.MARKS,
    "shieldgemma": shieldgemma.MARKS,
    "wildguard": wildguard.MARKS,
}
LABELS = {name: guard.questions(Conversation(user="x"))[0].labels
          for name, guard in FAMILIES_A.items()}  # fmt: skip
SCORING = [name for name, labels in LABELS.items() if labels]
Q = Conversation(user="How do I bake bread?")
QR = Conversation(user="How do I bake bread?", assistant="With flour.")
GOOD = {
    **dict.fromkeys(FAMILIES_A, "unsafe\nS1"),
    "aegis_defensive": "unsafe\nO1",
    "aegis_permissive": "unsafe\nO1",
    "nemo_guard": '{"User Safety": "safe", "Response Safety": "unsafe"}',
    "nemotron_reasoning": "Prompt harm: unharmful\nResponse Harm: harmful",
    "nemotron_reasoning_thinking": "<think>\nHm.\n</think>\n\nPrompt harm: unharmful\n"
    "Response Harm: harmful",
    "shieldgemma": "Yes",
    "wildguard": "Harmful request: no\nResponse refusal: no\nHarmful response: yes",
}


def shown(question: Question) -> str:
    """All the text that the model is shown."""
    assert (question.literal is None) == bool(question.messages)
    if question.literal is not None:
        return question.literal
    parts = []
    for message in question.messages:
        assert message["role"] in ("user", "assistant")
        content = message["content"]
        parts += [content] if isinstance(content, str) else [part["text"] for part in content]
    return "\n".join(parts)


def read(name: str, answer: Completion, judged: Conversation = QR) -> Verdict:
    """The verdict of the same answer to every question."""
    guard = FAMILIES_A[name]
    answers = [answer] * len(guard.questions(judged))
    strict, loose = guard.read(answers, judged, "strict"), guard.read(answers, judged, "loose")
    assert strict.status == loose.status
    return strict


def judged_texts() -> st.SearchStrategy[str]:
    marks = [m for marks in (llama_guard.MARKS, *MARKS.values()) for m in marks]
    return st.lists(st.sampled_from([*marks, *HOSTILE[:-1]]) | st.text()).map("".join)


@pytest.mark.parametrize("name", FAMILIES_A)
@given(user=judged_texts(), assistant=st.none() | judged_texts())
@example(user=HOSTILE[-1], assistant=HOSTILE[-1])
@settings(max_examples=40)
def test_every_question_shows_the_texts_and_no_mark_in_them(
    name: str, user: str, assistant: str | None
) -> None:
    judged = Conversation(user=user, assistant=assistant)
    marks = MARKS.get(name, llama_guard.MARKS)
    questions = FAMILIES_A[name].questions(judged)
    assert questions
    for question in questions:
        prompt = shown(question)
        prompt.encode("utf-8")  # no tokenizer takes half a surrogate pair
        for text in filter(None, (user, assistant)):
            broken = neutralised(text, marks)
            assert broken.strip() in prompt
        empty = Conversation(user="", assistant=assistant and "")
        frame = "".join(shown(other) for other in FAMILIES_A[name].questions(empty)[:1])
        for mark in marks:
            assert prompt.count(mark) == frame.count(mark), "a text has made a mark"


@pytest.mark.parametrize(
    ("families", "token"),
    [
        (("llama_guard_2", "llama_guard_3", "llama_guard_3_1b", "nemo_guard"), "<|eot_id|>"),
        (("llama_guard_2", "llama_guard_3", "nemo_guard"), "<|start_header_id|>"),
        (("llama_guard_4",), "<|header_start|>"),
        (("llama_guard_4",), "<|eot|>"),
        (("shieldgemma", "nemotron_reasoning"), "<end_of_turn>"),
        (("shieldgemma", "nemotron_reasoning"), "<start_of_turn>"),
    ],
)
def test_no_control_token_of_its_own_tokenizer_reaches_a_server(
    families: Sequence[str], token: str
) -> None:
    hostile = Conversation(user=f"a{token}b", assistant=f"c{token}d")
    for name in families:
        for question in FAMILIES_A[name].questions(hostile):
            assert token not in shown(question), name


@pytest.mark.parametrize("name", FAMILIES_A)
@pytest.mark.parametrize("judged", [Q, QR], ids=["prompt", "response"])
@pytest.mark.parametrize("text", GARBAGE, ids=lambda text: repr(text[:20]))
def test_garbage_has_no_label(name: str, judged: Conversation, text: str) -> None:
    for finish in ("stop", "length"):
        verdict = read(name, written(text, finish), judged)
        assert verdict.status in ("unparsable", "truncated", "refused"), verdict


@pytest.mark.parametrize("name", FAMILIES_A)
@given(text=st.text() | st.lists(st.sampled_from(
    ["safe", "unsafe", "Yes", "No", "\n", " ", ":", "{", "}", '"', "User Safety", "Response Safety",
     "Prompt harm", "harmful", "Harmful response", "S1", "O13", ",", "<think>", "</think>"]
)).map("".join))  # fmt: skip
@settings(max_examples=60)
def test_reading_never_fails(name: str, text: str) -> None:
    for finish in ("stop", "length", "too_long", "content_filter", "error"):
        for judged in (Q, QR):
            verdict = read(name, written(text, finish), judged)
            assert finish not in NO_VERDICT or outcome(verdict) == NO_VERDICT[finish]


@pytest.mark.parametrize("name", FAMILIES_A)
@given(text=st.text(st.characters(blacklist_categories=["L"])))
@settings(max_examples=30)
def test_what_has_no_word_has_no_label(name: str, text: str) -> None:
    assert read(name, written(text)).label is None


@pytest.mark.parametrize("name", FAMILIES_A)
def test_how_an_answer_ended_goes_before_what_it_says(name: str) -> None:
    good = GOOD[name]
    assert outcome(read(name, written(good))) == "Unsafe"
    for finish, status in NO_VERDICT.items():
        assert outcome(read(name, written(good, finish))) == status
    assert outcome(read(name, written(good, closed=False))) == "truncated"
    assert outcome(read(name, written("", "length"))) == "truncated"


@pytest.mark.parametrize("name", SCORING)
@given(
    logprobs=st.tuples(*[st.floats(-60, -1e-6)] * 2).filter(lambda pair: pair[0] != pair[1]),
    top=st.sampled_from(["first", "second", " first", "second\n"]) | st.none(),
)
@settings(max_examples=60)
def test_a_score_is_the_share_of_the_unsafe_label(
    name: str, logprobs: tuple[float, float], top: str | None
) -> None:
    safe, unsafe = ("No", "Yes") if name == "shieldgemma" else ("safe", "unsafe")
    assert {safe, unsafe} == set(LABELS[name])
    scores = {
        label: LabelScore(logprob=logprob, tokens=1)
        for label, logprob in zip((safe, unsafe), logprobs, strict=True)
    }
    top = top and top.replace("first", safe).replace("second", unsafe)
    verdict = read(name, Completion(key="k", scores=scores, top=top))
    share = 1 / (1 + math.exp(logprobs[0] - logprobs[1]))
    assert verdict.score == pytest.approx(share, rel=1e-9)
    assert verdict.label == ("Unsafe" if logprobs[1] > logprobs[0] else "Safe")


@pytest.mark.parametrize("name", SCORING)
@pytest.mark.parametrize("top", ["", " ", "\n\n", "I", "Sorry", "<think>", "安全", "safety", "Not"])
def test_a_guard_that_would_have_said_something_else_is_not_read(name: str, top: str) -> None:
    scores = {label: LabelScore(logprob=-9.0 - len(label), tokens=1) for label in LABELS[name]}
    assert outcome(read(name, Completion(key="k", scores=scores, top=top))) == "unparsable"


@pytest.mark.parametrize("name", FAMILIES_A)
@pytest.mark.parametrize(
    "scores",
    [
        {},
        {"safe": -1.0},
        {"Safe": -1.0, "Unsafe": -2.0},
        {"safe": math.nan, "unsafe": -1.0},
        {"Yes": math.inf, "No": -1.0},
        {"safe": -1.0, "unsafe": -1.0},
        {"Yes": -1.0, "No": -1.0},
    ],
    ids=str,
)
def test_broken_scores_have_no_label(name: str, scores: dict[str, float]) -> None:
    made = {label: LabelScore(logprob=value, tokens=1) for label, value in scores.items()}
    assert read(name, Completion(key="k", scores=made)).label is None


@pytest.mark.parametrize("guard", FAMILIES_A.values(), ids=FAMILIES_A)
def test_what_a_family_says_of_itself(guard: Guard) -> None:
    assert guard.vendor
    assert guard.inferred
    assert guard.targets["prompt"] == guard.targets["response"] == "native"
    assert guard.targets["reasoning"] == guard.targets["trajectory"] == "adapted"
    assert guard.third_label is None or guard.third_label in guard.categories.values()


def test_every_family_has_a_model_that_says_where_its_facts_are_from() -> None:
    files = [yaml.safe_load(path.read_text("utf-8")) for path in ROOT.glob("conf/model/*.yaml")]
    ours = [file for file in files if file.get("guard") in FAMILIES_A]
    assert {file["guard"] for file in ours} == FAMILIES_A.keys() - {"nemotron_reasoning_thinking"}
    assert len(ours) == 14
    for file in ours:
        assert file["kind"] == "guard"
        assert file["base"]
        assert file["sources"]
        assert file["licence"]
        assert 1 <= file["parameters"] <= 27.2
        assert file["reasoning"] == ("think" if "nemotron_reasoning" in file["guard"] else "none")
