"""The rule that reads whether an answer asks back, on plain cases and on real answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.benchmarks.clarify.items import read_items
from trace.benchmarks.clarify.rule import asks_back, judged
from trace.benchmarks.clarify.taxonomy import TAXONOMY
from trace.judging.labels import label_set
from trace.stats.agreement import agreement

LABELLED = Path(__file__).parent / "labelled_answers.jsonl"
"""Answers of SmolLM2-135M and Gemma 3 270M to bundled and similar requests, labelled by hand."""


@pytest.mark.parametrize(
    "answer",
    [
        "Which language should I translate it into? Please tell me.",
        "Sure! What's the text you want translated?",
        "Please provide the text.",
        "I’m sorry, but I don’t see a recipe. Could you share it?",
        "I'd be happy to help. What is it about?",
        "I need more information about the plant.",
        "That depends. Let me know what kind of meat it is and how thick.",
        "1. Where are you travelling from?\n2. When?",
        "If you share your code, I can look at it.",
        "Is it a game, a tool, or something else?",
        "I'm ready to help. What can I do for you?",
        "Simply copy and paste your text, and I'll shorten it.",
        "Just paste the sentence here, please: I'll need the whole of it. Tell me your deadline.",
    ],
)
def test_what_asks_for_something_missing(answer: str) -> None:
    assert asks_back(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Boil it for ten minutes.",
        "Boil it for ten minutes. Do you have any other questions?",
        "It is 42. Let me know if you need anything else!",
        "Feel free to ask if you have further questions.",
        "Is there anything else I can help you with?",
        "Here you are. How can I help you further?",
        'The answer is "Where do you live?" in French.',
        "```python\nname = input('What is your name?')\n```",
        "Here it is:\n\nDear Anna,\n\nplease tell me when you are back. Could you send me the key?",
        "> Could you tell me the way?\nThat sentence is correct.",
        "Why does it crash? Because the list is empty.",
        "I cannot do that.",
        "You should provide water every day.",
        "",
        "   \n",
    ],
)
def test_what_asks_for_nothing(answer: str) -> None:
    assert not asks_back(answer)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_any_text_can_be_read_and_a_question_before_it_still_asks(text: str) -> None:
    asks_back(text)
    assert asks_back("Which language do you want?\n" + text)


def test_a_sample_gets_a_label_of_the_taxonomy() -> None:
    item = read_items(None).items[0]
    labels = label_set("class", TAXONOMY)
    assert labels.negative == judged(item.shown("Done.")) == "answers"
    assert labels.labels[1] == judged(item.shown("What do you mean?")) == "asks_back"


def test_what_repeats_the_request_asks_for_nothing() -> None:
    request = "Could you read my notes and give me the key points?"
    assert asks_back(f"{request} {request} Could you read my")
    assert not asks_back(f"{request}\n{request} Could you read my notes and give me", request)
    assert asks_back(f"{request} Please share them.", request)


def test_the_rule_agrees_with_labels_by_hand() -> None:
    rows = [json.loads(line) for line in LABELLED.read_text("utf-8").split("\n") if line]
    assert len(rows) >= 60
    assert {row["model"] for row in rows} == {"smollm2", "gemma3_270m"}
    said = [
        (row["asks_back"], asks_back(row["answer"], row["request"]), row["request"]) for row in rows
    ]
    wrong = {request for hand, rule, request in said if hand != rule}
    assert wrong == {"I need help choosing a hobby.", "What is the answer to question four?"}
    kappa = agreement("cohen", [(str(hand), str(rule)) for hand, rule, _ in said]).value
    assert kappa is not None
    assert kappa > 0.9
