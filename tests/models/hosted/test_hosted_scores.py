"""The likelihood of labels, read from what a server tells of its tokens."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.models.hosted.replies import (
    BEGUN,
    LABELS,
    PREFIX,
    SCORED,
    read,
    reply,
    token,
)
from trace.models.hosted.fault import Fault
from trace.models.hosted.scores import Unreadable, label_scores


def test_the_score_is_the_mass_of_the_tokens_that_begin_a_label() -> None:
    last = token("Safe", ("Un", -3.0), ("Uns", -4.0), ("S", -5.0), ("Safety", -2.0), ("U", -9.0))
    scores = label_scores([*BEGUN, last, token('"')], PREFIX, LABELS)
    assert scores[LABELS[0]].logprob == pytest.approx(math.log(math.exp(-0.1) + math.exp(-5.0)))
    three = math.log(math.exp(-3.0) + math.exp(-4.0) + math.exp(-9.0))
    assert scores[LABELS[1]].logprob == pytest.approx(three)
    assert {score.tokens for score in scores.values()} == {1}


def test_white_space_of_the_prefix_does_not_count() -> None:
    begun = [token("\n"), token('{"'), token('verdict":"')]
    assert label_scores([*begun, token("Safe", ("Un", -3.0))], PREFIX, LABELS)


@pytest.mark.parametrize(
    "tokens",
    [
        [*BEGUN, token("Safe", ("Safety", -1.0))],  # a label is not among the alternatives
        [*BEGUN, token("Safe", ("Un", -math.inf))],
        [token("The"), token(" item"), token(" is"), token(" Safe", ("Un", -1.0))],
        [token('{"verdict": "Sa'), token("fe", ("x", -1.0))],  # reaches over the end of the prefix
        BEGUN,
        [],
    ],
)
def test_what_is_not_told_is_not_guessed(tokens: list[Any]) -> None:
    with pytest.raises(Unreadable):
        label_scores(tokens, PREFIX, LABELS)
    raw = reply()
    raw["choices"][0]["logprobs"] = {"content": tokens}
    found = read(raw, SCORED, logprobs=20)
    assert isinstance(found, Fault)
    assert found.kind == "refused"
    assert "protocol.answer=generate" in found.text


@pytest.mark.parametrize("told", ["absent", None, {}, {"content": None}, {"content": []}])
def test_a_server_without_log_probabilities_is_asked_once_and_told(told: Any) -> None:
    body = reply()
    if told != "absent":
        body["choices"][0]["logprobs"] = told
    found = read(body, SCORED, logprobs=20)
    assert isinstance(found, Fault)
    assert found.kind == "refused"
    assert "reports no log-probabilities" in found.text
    assert "protocol.answer=generate" in found.text


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_log_probabilities_that_are_no_numbers_are_no_scores(value: float) -> None:
    told = [{"token": "Safe", "logprob": -1.0}, {"token": "S", "logprob": value}]
    tokens = [
        {"token": PREFIX, "logprob": 0.0, "top_logprobs": []},
        {"token": "Un", "logprob": -0.5, "top_logprobs": told},
    ]
    with pytest.raises(Unreadable, match="not numbers"):
        label_scores(tokens, PREFIX, LABELS)
