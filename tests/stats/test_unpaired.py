"""Fisher's test and Cohen's h of many tables at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_effectsize

from trace.stats.unpaired import cohens_h, fisher_p


def scipys(k1: int, n1: int, k2: int, n2: int) -> float:
    return float(stats.fisher_exact([[k1, n1 - k1], [k2, n2 - k2]]).pvalue)


def test_450_tables_of_a_hundred_answers_are_scipys() -> None:
    luck = np.random.default_rng(0)
    k1, k2 = luck.integers(0, 101, (2, 15, 30))
    k1[0, :5], k2[0, :5] = (99, 1, 91, 35, 17), (0, 95, 12, 100, 0)
    found = fisher_p(k1, 100, k2, 100)
    assert found.shape == (15, 30)
    expected = [scipys(a, 100, b, 100) for a, b in zip(k1.ravel(), k2.ravel(), strict=True)]
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-9, atol=0)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 40), st.integers(1, 40))
def test_groups_may_differ_in_size(k1: int, k2: int, n1: int, n2: int) -> None:
    k1, k2 = min(k1, n1), min(k2, n2)
    p = float(fisher_p(k1, n1, k2, n2))
    assert p == pytest.approx(scipys(k1, n1, k2, n2), rel=1e-9)
    assert p == pytest.approx(float(fisher_p(k2, n2, k1, n1)), rel=1e-9)
    assert p == pytest.approx(float(fisher_p(n1 - k1, n1, n2 - k2, n2)), rel=1e-9)
    assert 0 < p <= 1


def test_what_nobody_or_everybody_does_and_an_empty_side_decide_nothing() -> None:
    np.testing.assert_array_equal(
        fisher_p([0, 100, 0, 3, 0], [100, 100, 0, 5, 0], [0, 100, 4, 0, 0], [100, 100, 9, 0, 0]),
        np.ones(5),
    )
    assert fisher_p(np.zeros((3, 0), dtype=int), 5, 2, 5).shape == (3, 0)


@pytest.mark.parametrize("table", [(6, 5, 0, 5), (-1, 5, 0, 5), (0, 5, 6, 5), (0, -1, 0, 5)])
def test_more_hits_than_answers_are_refused(table: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="more hits than observations"):
        fisher_p(*table)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1))
def test_h_is_statsmodels_and_antisymmetric(pairs: list[tuple[float, float]]) -> None:
    first, second = np.array(pairs).T
    h = cohens_h(first, second)
    expected = [float(proportion_effectsize(a, b)) for a, b in pairs]
    np.testing.assert_allclose(h, expected, atol=1e-12)
    np.testing.assert_allclose(cohens_h(second, first), -h, atol=1e-12)


def test_an_unknown_share_has_no_h_and_percent_are_refused() -> None:
    assert np.isnan(cohens_h(np.nan, 0.5))
    assert cohens_h(0.0, 0.0) == 0
    with pytest.raises(ValueError, match="below 0 or above 1"):
        cohens_h(91, 12)
