from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.calibration import calibration_curve

from trace.stats.calibration import BINS, calibration_interval, expected_calibration_error

Array = NDArray[np.float64]
PAIRS = st.lists(
    st.tuples(
        st.booleans(),
        st.none() | st.floats(0, 1) | st.sampled_from([k / BINS for k in range(BINS + 1)]),
    ),
    max_size=40,
)


def shrunk(by: float) -> Callable[[Array], Array]:
    """A judge that is too sure: what it calls s is unsafe with probability 1/2 + by (s - 1/2)."""
    return lambda score: 0.5 + by * (score - 0.5)


def planted(
    rng: np.random.Generator, n: int, truth: Callable[[Array], Array]
) -> tuple[list[bool], list[float]]:
    scores = rng.beta(0.5, 0.5, n)
    return (rng.random(n) < truth(scores)).tolist(), scores.tolist()


def true_error(truth: Callable[[Array], Array]) -> float:
    """The gaps of the 15 bins, integrated over the scores instead of sampled."""
    scores = np.random.default_rng(9).beta(0.5, 0.5, 400_000)
    gaps = np.bincount((scores * BINS).astype(int), weights=scores - truth(scores))
    return float(np.abs(gaps).sum() / len(scores))


def test_by_hand() -> None:
    """Of 15 bins, .95 lies in the last, .9 in the one before, the three of .1 in the second."""
    found = expected_calibration_error(
        [True, False, False, False, False, True], [0.95, 0.9, 0.1, 0.1, 0.1, None]
    )
    assert found.value == pytest.approx((0.05 + 0.9 + 3 * 0.1) / 5)
    assert found.n == 5


def test_in_one_bin_errors_can_cancel() -> None:
    both = expected_calibration_error([True, False], [0.5, 0.5])
    assert both.value == pytest.approx(0.0)
    assert expected_calibration_error([True, True], [0.5, 0.5]).value == pytest.approx(0.5)


def test_bins_are_closed_on_the_right() -> None:
    """1/3 is the upper edge of the fifth bin: it shares it with .3, not with .35."""
    together = expected_calibration_error([True, False], [1 / 3, 0.3])
    assert together.value == pytest.approx(abs(1 / 3 + 0.3 - 1) / 2)
    apart = expected_calibration_error([True, False], [1 / 3, 0.35])
    assert apart.value == pytest.approx((2 / 3 + 0.35) / 2)


@given(PAIRS)
def test_agrees_with_the_curve_of_scikit_learn(pairs: list[tuple[bool, float | None]]) -> None:
    found = expected_calibration_error([u for u, _ in pairs], [s for _, s in pairs])
    scored = [(u, s) for u, s in pairs if s is not None]
    assert found.n == len(scored)
    if not scored:
        assert found.value is None
        assert found.reason == ("no sample has a score" if pairs else "no samples")
        return
    gold, scores = [int(u) for u, _ in scored], [s for _, s in scored]
    share, mean = calibration_curve(gold, scores, n_bins=BINS, pos_label=1)
    edges = np.linspace(0, 1, BINS + 1)
    counts = np.bincount(np.searchsorted(edges[1:-1], scores), minlength=BINS)
    expected = np.sum(counts[counts > 0] * np.abs(share - mean)) / len(scores)
    assert found.value == pytest.approx(float(expected), abs=1e-9)


@given(PAIRS)
def test_the_order_plays_no_part(pairs: list[tuple[bool, float | None]]) -> None:
    shuffled = list(reversed(pairs))
    one = expected_calibration_error([u for u, _ in pairs], [s for _, s in pairs])
    other = expected_calibration_error([u for u, _ in shuffled], [s for _, s in shuffled])
    assert other.value == (None if one.value is None else pytest.approx(one.value, abs=1e-12))


@pytest.mark.parametrize("by", [1.0, 0.7, 0.3])
def test_many_samples_recover_the_planted_error(by: float) -> None:
    unsafe, scores = planted(np.random.default_rng(1), 60_000, shrunk(by))
    found = expected_calibration_error(unsafe, scores)
    assert found.value == pytest.approx(true_error(shrunk(by)), abs=0.012)


def test_scores_must_be_probabilities() -> None:
    for wrong in (1.2, -0.1, float("nan")):
        with pytest.raises(ValueError, match="not a probability"):
            expected_calibration_error([True], [wrong])
    with pytest.raises(ValueError, match="zip"):
        expected_calibration_error([True], [0.1, 0.2])


def test_alike_clusters_leave_no_room() -> None:
    found = calibration_interval(
        [True, True], [0.8, 0.8], ["a", "b"], draws=50, rng=np.random.default_rng(0)
    )
    assert (found.low, found.high) == (pytest.approx(0.2), pytest.approx(0.2))


def test_without_an_interval_there_is_a_reason() -> None:
    rng = np.random.default_rng(0)
    assert calibration_interval([True], [None], ["a"], draws=9, rng=rng).reason == "no samples"
    one = calibration_interval([True, False], [0.4, 0.4], ["a", "a"], draws=9, rng=rng)
    assert (one.low, one.reason) == (None, "one cluster cannot be resampled")


def test_clusters_of_copies_are_as_uncertain_as_their_originals() -> None:
    unsafe, scores = planted(np.random.default_rng(3), 150, shrunk(0.3))
    names = list(range(150))
    once = calibration_interval(unsafe, scores, names, draws=3000, rng=np.random.default_rng(0))
    copies = calibration_interval(
        unsafe * 4, scores * 4, names * 4, draws=3000, rng=np.random.default_rng(0)
    )
    assert copies.low == pytest.approx(once.low, abs=1e-9)
    assert copies.high == pytest.approx(once.high, abs=1e-9)
    apart = calibration_interval(
        unsafe * 4, scores * 4, range(600), draws=3000, rng=np.random.default_rng(0)
    )
    assert once.low is not None
    assert once.high is not None
    assert apart.low is not None
    assert apart.high is not None
    assert apart.high - apart.low < 0.65 * (once.high - once.low)


@pytest.mark.slow
@pytest.mark.parametrize("by", [1.0, 0.9, 0.7, 0.3])
@pytest.mark.parametrize("n", [100, 400])
def test_the_interval_covers_the_planted_error(by: float, n: int) -> None:
    """Percentiles alone cover a calibrated judge's 0 never, and .095 of 100 samples in 3%."""
    rng = np.random.default_rng(2)
    truth = true_error(shrunk(by)) if by < 1 else 0.0
    covered = []
    for _ in range(150):
        unsafe, scores = planted(rng, n, shrunk(by))
        found = calibration_interval(unsafe, scores, range(n), draws=300, rng=rng)
        assert found.low is not None
        assert found.high is not None
        covered.append(found.low <= truth <= found.high)
    assert np.mean(covered) > 0.88  # 95% less four standard errors


def test_no_limit_lies_outside_of_what_an_error_can_be() -> None:
    """Two sources in three are wholly wrong: the basic limit alone would be 4/3."""
    found = calibration_interval(
        [False, False, True], [1.0, 1.0, 1.0], list("abc"), draws=500, rng=np.random.default_rng(0)
    )
    assert found.high == 1.0
    assert found.low is not None
    assert 0 <= found.low < 2 / 3
