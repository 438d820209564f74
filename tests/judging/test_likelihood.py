"""The label and P(unsafe) from planted likelihoods, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.judging.labels import LabelSet
from trace.judging.likelihood import verdict_from_scores
from trace.judging.taxonomy import Category
from trace.records import LabelScore, Verdict


def labels_of(*names: str) -> LabelSet:
    categories = tuple(Category(name=name, definition="") for name in names)
    return LabelSet.of(categories, categories[0])


BINARY = labels_of("Safe", "Unsafe")
FINE = labels_of("Benign", "Leak", "Ghost", "Inject")


def scores(labels: LabelSet, *values: tuple[float, int]) -> dict[str, LabelScore]:
    return {
        label: LabelScore(logprob=logprob, tokens=tokens)
        for label, (logprob, tokens) in zip(labels.labels, values, strict=True)
    }


def test_two_labels_give_the_logistic_of_their_difference() -> None:
    verdict = verdict_from_scores(scores(BINARY, (-2.0, 1), (-1.0, 1)), BINARY, "sum")
    assert verdict.label == "Unsafe"
    assert verdict.score == pytest.approx(1 / (1 + math.exp(-1)))


def test_the_mean_is_taken_over_the_tokens_of_each_label() -> None:
    given_ = scores(BINARY, (-1.0, 1), (-1.5, 3))
    by_sum = verdict_from_scores(given_, BINARY, "sum")
    by_mean = verdict_from_scores(given_, BINARY, "mean")
    assert (by_sum.label, by_mean.label) == ("Safe", "Unsafe")
    assert by_sum.score == pytest.approx(1 / (1 + math.exp(0.5)))
    assert by_mean.score == pytest.approx(1 / (1 + math.exp(-0.5)))


def test_many_labels_benign_may_lead_while_unsafe_is_likelier() -> None:
    planted = np.log([0.4, 0.3, 0.2, 0.1])
    verdict = verdict_from_scores(scores(FINE, *((p, 1) for p in planted)), FINE, "sum")
    assert verdict.label == "Benign"
    assert verdict.score == pytest.approx(0.6)


def test_the_order_of_the_scores_does_not_matter() -> None:
    planted = scores(FINE, (-3.0, 2), (-1.0, 1), (-7.0, 4), (-2.5, 2))
    turned = dict(reversed(planted.items()))
    assert verdict_from_scores(turned, FINE, "mean") == verdict_from_scores(planted, FINE, "mean")


@pytest.mark.parametrize("first", [-1.0, 0.0, -500.0])
def test_a_tie_for_the_first_place_is_no_label(first: float) -> None:
    for values in [((first, 1), (first, 1)), ((first, 1), (2 * first, 2))]:
        tied = verdict_from_scores(scores(BINARY, *values), BINARY, "mean")
        assert tied == Verdict(status="unparsable")
    below = scores(FINE, (first, 1), (first - 1, 1), (first - 1, 1), (first - 2, 1))
    assert verdict_from_scores(below, FINE, "sum").label == "Benign"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_an_error_without_a_label(bad: float) -> None:
    for values in [((bad, 1), (-1.0, 1)), ((-1.0, 1), (bad, 1))]:
        verdict = verdict_from_scores(scores(BINARY, *values), BINARY, "sum")
        assert verdict == Verdict(status="error")


def test_other_labels_tokens_or_normalisations_are_refused() -> None:
    with pytest.raises(ValueError, match="labels"):
        verdict_from_scores(scores(BINARY, (-1.0, 1), (-2.0, 1)), FINE, "sum")
    with pytest.raises(ValueError, match="without tokens"):
        verdict_from_scores(scores(BINARY, (-1.0, 0), (-2.0, 1)), BINARY, "sum")
    with pytest.raises(ValueError, match="mean or sum"):
        verdict_from_scores(scores(BINARY, (-1.0, 1), (-2.0, 1)), BINARY, "max")


@given(
    st.lists(st.tuples(st.floats(-60, 0), st.integers(1, 9)), min_size=4, max_size=4),
    st.sampled_from(["mean", "sum"]),
)
def test_against_the_softmax_written_out(values: list[tuple[float, int]], normalise: str) -> None:
    verdict = verdict_from_scores(scores(FINE, *values), FINE, normalise)
    by_hand = [math.exp(p / n if normalise == "mean" else p) for p, n in values]
    if verdict.status == "ok":
        assert verdict.score == pytest.approx(sum(by_hand[1:]) / sum(by_hand), rel=1e-9, abs=1e-12)
        assert verdict.label is not None
        assert by_hand[FINE.labels.index(verdict.label)] == max(by_hand)


@given(st.floats(-1e300, 0), st.floats(-1e300, 0))
def test_two_labels_agree_with_one_half_however_far_apart(safe: float, unsafe: float) -> None:
    verdict = verdict_from_scores(scores(BINARY, (safe, 1), (unsafe, 1)), BINARY, "sum")
    if safe == unsafe:
        assert verdict.label is None
    else:
        assert verdict.score is not None
        assert 0 <= verdict.score <= 1
        assert (verdict.label == "Unsafe") == (unsafe > safe)
        assert (verdict.score >= 0.5) if unsafe > safe else (verdict.score <= 0.5)
