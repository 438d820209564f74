from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trace.stats.correlation import (
    bootstrap_interval,
    difference,
    fisher_interval,
    leave_one_out,
    p_of_r,
    pearson,
    spearman,
)
from trace.stats.permutation import extreme_share, random_share

# TraceSafe's Table 10 and 11 (papers/tracesafe.txt; facts/known_answers.json, 004.p_*, 004.fz_*):
# r, n, printed p (None if it prints none), p and Fisher interval recomputed.
PUBLISHED = {
    "ragtruth": (0.7914, 11, 0.0037, 0.003709491, (0.364629673, 0.943402897)),
    "livecodebench": (0.6271, 10, 0.0523, 0.052309108, (-0.004174589, 0.900983276)),
    "gpqa": (0.4499, 13, 0.1230, 0.122938090, (-0.134401978, 0.802063223)),
    "ifbench": (0.2632, 12, 0.4084, 0.408499582, (-0.365983801, 0.727249866)),
    "strongreject": (0.0509, 13, 0.8689, 0.868837141, (-0.514514952, 0.585465824)),
    "ragtruth without the degenerate": (0.7907, 10, 0.0065, 0.006465401, None),
    "ragtruth without gpt-oss": (0.789, 10, None, 0.006663299, None),
    # papers/rag_safety.txt (002.pearson_p, 002.*): five models.
    "rag_safety": (-0.70, 5, None, 0.18812, (-0.978165, 0.476621)),
}  # fmt: skip

# Anscombe 1973, The American Statistician 27:17-21: data set 1; r = 0.816.
ANSCOMBE_X = [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5]
ANSCOMBE_Y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68]

# Ranks of 11 with a sum of squared differences of 58, as in TraceSafe's appendix F (rho = 0.7364).
SQUARED_58 = [1, 4, 8, 2, 3, 5, 7, 11, 6, 9, 10]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_p_and_fisher_intervals(name: str) -> None:
    r, n, printed, computed, interval = PUBLISHED[name]
    exactness = 2e-9 if name != "rag_safety" else 5e-6
    assert p_of_r(r, n) == pytest.approx(computed, abs=exactness)
    if printed is not None:
        assert p_of_r(r, n) == pytest.approx(printed, abs=2e-4)
    if interval is not None:
        found = fisher_interval(r, n)
        assert (found.low, found.high) == pytest.approx(interval, abs=exactness)


def test_the_intervals_that_the_paper_says_overlap() -> None:
    """004.ci_overlap: the printed [.500, .938] and [−.421, .467] do not; Fisher's do."""
    ragtruth, strongreject = fisher_interval(0.7914, 11), fisher_interval(0.0509, 13)
    assert ragtruth.low is not None
    assert strongreject.high is not None
    assert ragtruth.low < strongreject.high


def test_two_independent_r_as_the_facts_compute_it() -> None:
    """004.r_diff, from the same ends: the standard errors are those of Fisher's interval."""
    (r1, n1), (r2, n2) = (0.7914, 11), (0.0509, 13)
    halves = []
    for r, n in ((r1, n1), (r2, n2)):
        found = fisher_interval(r, n)
        assert found.high is not None
        halves.append((math.atanh(found.high) - math.atanh(r)) / stats.norm.ppf(0.975))
    z = (math.atanh(r1) - math.atanh(r2)) / math.hypot(*halves)
    assert 2 * stats.norm.sf(z) == pytest.approx(0.030830637102218447, abs=1e-9)


def test_spearman_of_the_paper_is_exact_here_and_an_approximation_there() -> None:
    """004.spearman_rho, _p, _exact: printed p .0098 is the t approximation."""
    x = np.arange(1, 12)
    assert sum((x - SQUARED_58) ** 2) == 58
    found = spearman(x, SQUARED_58, rng=np.random.default_rng(0))
    assert found.value == pytest.approx(0.7363636363636363, abs=1e-12)
    assert found.p == pytest.approx(0.012774320586820587, abs=1e-12)
    assert found.method == "enumeration"
    assert found.value is not None
    assert p_of_r(found.value, 11) == pytest.approx(0.0098, abs=5e-5)


def test_pearson_on_anscombes_first_data_set() -> None:
    found = pearson(ANSCOMBE_X, ANSCOMBE_Y)
    assert found.value == pytest.approx(0.816, abs=5e-4)
    assert found.p == pytest.approx(0.00217, abs=5e-6)
    assert found.n == 11


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=6))
def test_counting_subsets_is_listing_permutations(pairs: list[tuple[int, int]]) -> None:
    """Ties included."""
    x, y = (stats.rankdata(column) for column in zip(*pairs, strict=True))
    centre = len(pairs) * x.mean() * y.mean()
    observed = abs(float(x @ y) - centre) - 1e-9
    listed = [abs(float(x @ np.array(p)) - centre) >= observed for p in itertools.permutations(y)]
    assert extreme_share(x, y) == pytest.approx(np.mean(listed))


def test_scipy_counts_the_same() -> None:
    x, y = [3, 1, 4, 1, 5, 9, 2], [2, 7, 1, 8, 2, 8, 1]
    exact = stats.permutation_test(
        (x,), lambda a: stats.spearmanr(a, y).statistic, permutation_type="pairings",
        n_resamples=10_000, vectorized=False,
    ).pvalue  # fmt: skip
    assert extreme_share(x, y) == pytest.approx(exact)


def test_random_permutations_come_near_and_are_never_zero() -> None:
    rng = np.random.default_rng(1)
    x, y = np.arange(11), SQUARED_58
    assert random_share(x, y, draws=40_000, rng=rng) == pytest.approx(0.01277, abs=0.0024)
    far = spearman(np.arange(20), np.arange(20), rng=rng, permutations=999)
    assert far.p == 1 / 1000
    assert far.method == "Monte Carlo, 999 permutations"
    with pytest.raises(ValueError, match="13"):
        extreme_share(np.arange(14), np.arange(14))


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([1, 2], [3, 4], "2 pairs"),
        ([], [], "0 pairs"),
        ([1, 1, 1], [1, 2, 3], "does not vary"),
        ([1, 2, 3], [0.5, 0.5, 0.5], "does not vary"),
    ],
)
def test_undefined_is_none_with_a_reason(x: list[float], y: list[float], reason: str) -> None:
    rng = np.random.default_rng(0)
    for found in (pearson(x, y), spearman(x, y, rng=rng)):
        assert found.value is None
        assert found.p is None
        assert found.reason is not None
        assert reason in found.reason
    compared = difference(x, y, y, draws=100, rng=rng)
    assert compared.value is None
    assert compared.reason == pearson(x, y).reason


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="shapes"):
        pearson([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="finite"):
        pearson([1, 2, math.nan], [1, 2, 3])
    with pytest.raises(ValueError, match="r=2"):
        p_of_r(2, 10)


def test_few_pairs_have_no_interval() -> None:
    rng = np.random.default_rng(0)
    assert fisher_interval(0.5, 3).reason == "3 pairs; at least 4 are needed"
    assert fisher_interval(1.0, 9).reason == "the pairs lie on a line"
    few = bootstrap_interval([1, 2, 3, 4, 5], [2, 1, 3, 5, 4], draws=100, rng=rng)
    assert few.low is None
    assert few.reason is not None
    assert "at least 6" in few.reason


def test_degenerate_resamples_are_dropped_and_told() -> None:
    """Of 6 pairs with one odd x, (5/6)^6 of the resamples lack it: x does not vary there."""
    x, y = [0, 0, 0, 0, 0, 1], [1, 2, 3, 4, 5, 9]
    found = bootstrap_interval(x, y, draws=20_000, rng=np.random.default_rng(0))
    assert found.undefined == pytest.approx((5 / 6) ** 6 + (1 / 6) ** 6, abs=0.015)
    assert found.low is not None
    assert found.high is not None
    assert -1 <= found.low < found.high <= 1


def test_bootstrap_agrees_with_a_loop() -> None:
    rng = np.random.default_rng(2)
    x, y = np.array(ANSCOMBE_X, dtype=float), np.array(ANSCOMBE_Y)
    slow = []
    for _ in range(4000):
        pick = rng.integers(0, 11, 11)
        slow.append(stats.pearsonr(x[pick], y[pick]).statistic)
    fast = bootstrap_interval(x, y, draws=20_000, rng=np.random.default_rng(3))
    assert (fast.low, fast.high) == pytest.approx(np.quantile(slow, (0.025, 0.975)), abs=0.03)


def test_leaving_one_out() -> None:
    x, y = [1.0, 2, 3, 4], [1.0, 2, 3, -9]
    found = leave_one_out(x, y)
    assert found[3] == pytest.approx(1)
    assert found[0] == pytest.approx(np.corrcoef(x[1:], y[1:])[0, 1])
    assert leave_one_out([1, 2, 3], [1, 2, 3]) == [None] * 3


def test_dependence_narrows_the_difference() -> None:
    """Y and z nearly equal: their r differ little, though each has a wide interval."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=13)
    y = x + rng.normal(size=13)
    z = y + rng.normal(scale=0.05, size=13)
    found = difference(x, y, z, draws=2000, rng=np.random.default_rng(1))
    assert found.value == pytest.approx(np.corrcoef(x, y)[0, 1] - np.corrcoef(x, z)[0, 1])
    alone = bootstrap_interval(x, y, draws=2000, rng=np.random.default_rng(1))
    assert found.interval.low is not None
    assert found.interval.high is not None
    assert alone.low is not None
    assert alone.high is not None
    assert found.interval.high - found.interval.low < (alone.high - alone.low) / 4
    other = difference(x, y, rng.normal(size=13), draws=2000, rng=np.random.default_rng(1))
    assert other.value is not None
    assert other.value > 0.3
