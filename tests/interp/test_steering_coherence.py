"""Gibberish is told from language: counted by hand, and against a perplexity made otherwise."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.interp.activations_help import answered, stored
from trace.interp.activations.tokens import row_of
from trace.interp.steering.coherence import Coherence, coherence, incoherent, repetition
from trace.models.hf.engine import HfModel


def test_repeated_trigrams_are_counted() -> None:
    assert repetition("a b c d e") == 0
    assert repetition("a b a b a b") == 0.5  # aba bab aba bab
    assert repetition("no " * 102) == 0.99
    assert repetition("a b") is None
    assert repetition("") is None


@given(st.lists(st.sampled_from("abcde"), min_size=3, max_size=40))
def test_a_share_of_repetition_is_a_share(words: list[str]) -> None:
    once, twice = repetition(" ".join(words)), repetition(" ".join(words * 2))
    assert once is not None
    assert twice is not None
    assert 0 <= once <= twice < 1


def test_perplexity_is_that_of_the_answer_given_its_own_prompt(tmp_path: Path) -> None:
    """Against one forward an answer, and the loss that transformers itself computes."""
    model = stored(tmp_path)
    items = [answered(i, "why? " * (1 + i % 3), "x" * (1 + i % 4) + " y") for i in range(9)]
    items[4] = answered(4, "why?", " ")
    measured = coherence(model, [one.request for one in items], [one.response for one in items])
    side = HfModel(model)
    for one, got in zip(items, measured, strict=True):
        if not one.response.text.strip():
            assert got == Coherence(repetition=None, words=0, perplexity=None)
            continue
        row = row_of(side.text, one, "response_mean")
        ids = torch.tensor([row.ids])
        labels = ids.clone()
        labels[0, : row.start] = -100
        with torch.inference_mode():
            loss = float(side.model(input_ids=ids, labels=labels).loss)
        assert got.perplexity == pytest.approx(math.exp(loss), rel=1e-4)
        assert got.words == 2


def reading(perplexity: float | None, repetition: float | None = 0.0, words: int = 9) -> Coherence:
    return Coherence(repetition=repetition, words=words, perplexity=perplexity)


def test_what_is_no_language_is_flagged() -> None:
    usual = [reading(x) for x in (1.5, 1.9, 2.0, 2.1, 9.0, None)]  # the median is 2
    inside, outside = reading(19.99), reading(20.01)
    circling, almost = reading(7.0, repetition=0.51), reading(7.0, repetition=0.5)
    empty, short = reading(None, None, words=0), reading(7.0, None, words=1)
    asked = [inside, outside, circling, almost, empty, short]
    assert incoherent(asked, usual) == [False, True, True, False, True, False]


def test_without_anything_usual_perplexity_is_no_sign() -> None:
    assert incoherent([reading(1e9)], []) == [False]
    assert incoherent([reading(1e9)], [reading(None)]) == [False]
