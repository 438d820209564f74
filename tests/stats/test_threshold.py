from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import roc_curve

from trace.stats.threshold import (
    choose_threshold,
    tpr_at_fpr,
    tpr_at_fpr_interval,
)

# Few distinct scores, so that ties are common.
SCORE = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5000001, 0.9, 1.0]) | st.floats(-3, 3)
SCORED = st.lists(st.tuples(st.booleans(), st.none() | SCORE), max_size=40)
FPR = st.sampled_from([0.01, 0.05, 0.1, 0.29, 0.5, 0.9])


def planted(
    seed: int, n: int, mu: float, clusters: int | None = None
) -> tuple[list[bool], list[float], list[str]]:
    """As many safe as unsafe samples; normal scores, those of the unsafe ones higher by mu."""
    rng = np.random.default_rng(seed)
    unsafe = np.arange(2 * n) % 2 == 0
    names = rng.integers(0, clusters, 2 * n) if clusters else np.arange(2 * n)
    effect = rng.normal(0, 0.7, clusters)[names] if clusters else 0
    scores = rng.normal(size=2 * n) + mu * unsafe + effect
    return unsafe.tolist(), scores.tolist(), [f"c{i}" for i in names]


def enough(pairs: list[tuple[bool, float | None]], max_fpr: float) -> bool:
    kinds = [u for u, s in pairs if s is not None]
    return True in kinds and kinds.count(False) * max_fpr >= 1 - 1e-9


@given(SCORED, FPR)
def test_agrees_with_the_roc_curve_of_scikit_learn(
    pairs: list[tuple[bool, float | None]], max_fpr: float
) -> None:
    found = tpr_at_fpr([u for u, _ in pairs], [s for _, s in pairs], max_fpr)
    scored = [(u, s) for u, s in pairs if s is not None]
    assert found.n == len(scored)
    if not enough(pairs, max_fpr):
        assert found.value is None
        assert found.reason
        return
    fpr, tpr, _ = roc_curve([u for u, _ in scored], [s for _, s in scored], drop_intermediate=False)
    assert found.value == pytest.approx(float(tpr[fpr <= max_fpr + 1e-12].max()))


def test_the_limit_is_reached_exactly_and_ties_are_not_split() -> None:
    """Twenty safe samples at 5%: one of them may be flagged."""
    safe = [0.1] * 18 + [0.6, 0.8]
    unsafe = [0.9, 0.7, 0.6, 0.5]
    gold = [False] * 20 + [True] * 4
    # Only .8 may be flagged, so the threshold has to stay above .6, which a safe sample shares.
    found = choose_threshold(gold, safe + unsafe, 0.05)
    assert (found.value, found.tpr, found.fpr, found.n) == (0.7, 0.5, 0.05, 24)
    two = choose_threshold(gold, safe + unsafe, 0.1)
    assert (two.value, two.tpr, two.fpr) == (0.5, 1.0, 0.1)


@pytest.mark.parametrize(
    ("safe", "max_fpr", "reason"),
    [
        (99, 0.01, "1% of 99 safe samples is less than one; 100 are needed"),
        (19, 0.05, "5% of 19 safe samples is less than one; 20 are needed"),
        (10, 0.005, "0.5% of 10 safe samples is less than one; 200 are needed"),
        (0, 0.05, "no safe sample has a score"),
    ],
)
def test_too_few_safe_samples_have_a_reason(safe: int, max_fpr: float, reason: str) -> None:
    gold, scores = [False] * safe + [True] * 5, [0.1] * safe + [0.9] * 5
    assert tpr_at_fpr(gold, scores, max_fpr).reason == reason
    assert choose_threshold(gold, scores, max_fpr).reason == reason


def test_enough_safe_samples_are_enough() -> None:
    for safe, max_fpr in ((100, 0.01), (20, 0.05)):
        gold, scores = [False] * safe + [True] * 5, [0.1] * safe + [0.9] * 5
        assert tpr_at_fpr(gold, scores, max_fpr).value == 1.0


def test_without_samples_or_scores_there_is_a_reason() -> None:
    assert tpr_at_fpr([], [], 0.05).reason == "no samples"
    assert tpr_at_fpr([True, False], [None, None], 0.05).reason == "no sample has a score"
    assert tpr_at_fpr([False] * 40, [0.5] * 40, 0.05).reason == "no unsafe sample has a score"


def test_flagging_nothing_is_a_tpr_of_0_but_no_threshold() -> None:
    gold, scores = [False] * 40 + [True] * 5, [0.9] * 40 + [0.9] * 5
    assert tpr_at_fpr(gold, scores, 0.05).value == 0.0
    found = choose_threshold(gold, scores, 0.05)
    assert (found.value, found.tpr) == (None, None)
    assert found.reason == "more than 5% of the safe samples have the highest score"


@given(SCORED, FPR)
def test_a_chosen_threshold_is_the_lowest_that_keeps_the_limit(
    pairs: list[tuple[bool, float | None]], max_fpr: float
) -> None:
    found = choose_threshold([u for u, _ in pairs], [s for _, s in pairs], max_fpr)
    if not enough(pairs, max_fpr):
        assert (found.value, found.tpr, found.fpr) == (None, None, None)
        assert found.reason
        return
    scored = [(u, s) for u, s in pairs if s is not None]
    safe = [s for u, s in scored if not u]
    allowed = [
        t for t in {s for _, s in scored} if sum(s >= t for s in safe) <= max_fpr * len(safe) + 1e-9
    ]
    if not allowed:
        assert found.value is None
        return
    assert found.value == min(allowed)
    assert found.fpr == pytest.approx(sum(s >= found.value for s in safe) / len(safe))
    assert found.fpr <= max_fpr + 1e-9
    caught = [s >= found.value for u, s in scored if u]
    assert found.tpr == pytest.approx(sum(caught) / len(caught))


@given(SCORED, FPR)
def test_only_the_order_of_the_scores_counts(
    pairs: list[tuple[bool, float | None]], max_fpr: float
) -> None:
    gold, scores = [u for u, _ in pairs], [s for _, s in pairs]
    # Times 8 is exact in floating point, so that no ties appear or vanish.
    moved = [None if s is None else 8 * s for s in scores]
    assert tpr_at_fpr(gold, scores, max_fpr) == tpr_at_fpr(gold, moved, max_fpr)


@pytest.mark.parametrize("max_fpr", [0.01, 0.05])
def test_many_samples_recover_the_planted_tpr(max_fpr: float) -> None:
    unsafe, scores, _ = planted(0, 30_000, 2.0)
    expected = norm.sf(norm.isf(max_fpr) - 2.0)
    assert tpr_at_fpr(unsafe, scores, max_fpr).value == pytest.approx(expected, abs=0.02)


def test_the_interval_is_that_of_resampling_whole_clusters() -> None:
    unsafe, scores, clusters = planted(4, 120, 1.5, clusters=40)
    scores = np.round(scores, 1).tolist()
    rng = np.random.default_rng(11)
    gold, value, names = np.array(unsafe), np.array(scores), np.array(clusters)
    members = [np.flatnonzero(names == name) for name in dict.fromkeys(clusters)]
    by_hand = []
    for _ in range(1500):
        rows = np.concatenate([members[i] for i in rng.integers(len(members), size=len(members))])
        fpr, tpr, _ = roc_curve(gold[rows], value[rows], drop_intermediate=False)
        by_hand.append(tpr[fpr <= 0.1 + 1e-12].max())
    found = tpr_at_fpr_interval(
        unsafe, scores, clusters, 0.1, draws=6000, rng=np.random.default_rng(0)
    )
    slack = 0.25 * float(np.std(by_hand))
    assert found.low == pytest.approx(float(np.quantile(by_hand, 0.025)), abs=slack)
    assert found.high == pytest.approx(float(np.quantile(by_hand, 0.975)), abs=slack)
    assert found.clusters == 40


def test_draws_without_both_kinds_are_undefined() -> None:
    found = tpr_at_fpr_interval(
        [True, False], [0.9, 0.1], ["a", "b"], 0.5, draws=4000, rng=np.random.default_rng(0)
    )
    assert found.undefined == pytest.approx(0.5, abs=0.04)
    assert (found.low, found.high) == (1.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "max_fpr", "mu"), [(100, 0.05, 1.5), (300, 0.01, 2.5)])
def test_the_interval_covers_the_planted_tpr(n: int, max_fpr: float, mu: float) -> None:
    truth = float(norm.sf(norm.isf(max_fpr) - mu))
    covered = []
    for seed in range(120):
        unsafe, scores, clusters = planted(seed, n, mu)
        found = tpr_at_fpr_interval(
            unsafe, scores, clusters, max_fpr, draws=200, rng=np.random.default_rng(seed)
        )
        assert found.low is not None
        assert found.high is not None
        covered.append(found.low <= truth <= found.high)
    assert np.mean(covered) > 0.87


def test_wrong_arguments_are_refused() -> None:
    for wrong in (0.0, 1.0, 5.0):
        with pytest.raises(ValueError, match=f"max_fpr is {wrong}, not between 0 and 1"):
            tpr_at_fpr([True, False], [0.1, 0.2], wrong)
    with pytest.raises(ValueError, match="not finite"):
        tpr_at_fpr([True, False], [0.1, math.inf], 0.05)
    with pytest.raises(ValueError, match="zip"):
        tpr_at_fpr([True], [0.1, 0.2], 0.05)
