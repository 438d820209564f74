"""Two shares on the same items."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from trace.stats.paired import mcnemar_p, paired, tango_interval

Z2 = stats.chi2.ppf(0.95, 1)


def test_a_published_example() -> None:
    """Complete response before and after therapy (Cavo et al. 2012): 59, 6, 16, 80 patients.

    The interval and the p are those of Fagerland, Lydersen & Laake, chapter 8.
    """
    low, high = tango_interval(6, 16, 161)
    assert (round(low, 4), round(high, 4)) == (-0.1240, -0.0054)
    assert round(mcnemar_p(6, 16), 6) == 0.052479


def test_another_published_example() -> None:
    """Labels reproduced with and without reasoning: 24 and 3 discordant, p = 4.9e-05."""
    assert mcnemar_p(24, 3) == pytest.approx(4.9233e-05, rel=1e-4)


def score(difference: float, gained: int, lost: int, n: int) -> float:
    """The squared score statistic, its nuisance parameter found by maximising the likelihood."""

    def less_likely(share: float) -> float:
        up, down = share + difference, share
        rest = 1 - up - down
        terms = ((gained, up), (lost, down), (n - gained - lost, rest))
        if any(p < 0 or (k and p <= 0) for k, p in terms):
            return 1e9
        return -sum(k * math.log(p) for k, p in terms if k)

    bounds = (max(0.0, -difference), (1 - difference) / 2)
    share = float(
        optimize.minimize_scalar(
            less_likely, bounds=bounds, method="bounded", options={"xatol": 1e-13}
        ).x
    )
    gap = gained - lost - n * difference
    return gap * gap / (n * (2 * share + difference - difference**2))


@pytest.mark.parametrize(
    ("gained", "lost", "n"), [(6, 16, 161), (1, 7, 21), (12, 2, 50), (5, 5, 40), (3, 1, 300)]
)
def test_the_ends_are_where_the_score_test_just_rejects(gained: int, lost: int, n: int) -> None:
    for end in tango_interval(gained, lost, n):
        assert score(end, gained, lost, n) == pytest.approx(Z2, rel=1e-4)


counts = st.tuples(*[st.integers(0, 60)] * 3).filter(lambda c: sum(c) > 0)


@given(counts)
def test_it_is_mirrored_and_holds_the_estimate(made: tuple[int, int, int]) -> None:
    gained, lost, alike = made
    n = sum(made)
    low, high = tango_interval(gained, lost, n)
    assert -1 <= low <= (gained - lost) / n <= high <= 1
    assert low < high
    mirrored = tango_interval(lost, gained, n)
    assert mirrored == pytest.approx((-high, -low), abs=1e-9)
    assert alike >= 0


def test_without_discordant_pairs_it_still_has_a_width() -> None:
    low, high = tango_interval(0, 0, 50)
    assert high == pytest.approx(Z2 / (50 + Z2), abs=1e-9)
    assert low == pytest.approx(-high, abs=1e-9)
    assert tango_interval(20, 0, 20)[1] == 1
    assert tango_interval(0, 20, 20)[0] == -1


@given(st.integers(0, 80), st.integers(0, 80))
def test_mcnemar_is_the_binomial_test(b: int, c: int) -> None:
    expected = stats.binomtest(b, b + c).pvalue if b + c else 1.0
    assert mcnemar_p(b, c) == pytest.approx(expected, rel=1e-9)


def test_counts_are_taken_item_by_item() -> None:
    found = paired([True, True, False, False, True], [True, False, True, True, True])
    assert (found.n, found.first_only, found.second_only) == (5, 1, 2)
    assert found.value == pytest.approx(0.2)
    assert (found.low, found.high) == tango_interval(2, 1, 5)


def test_no_items_is_no_difference() -> None:
    found = paired([], [])
    assert (found.value, found.low, found.high, found.p) == (None, None, None, None)
    assert found.reason == "no items with both"


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="shapes"):
        paired([True], [True, False])
    for made in ((3, 3, 5), (-1, 0, 5), (0, 0, 0)):
        with pytest.raises(ValueError, match="discordant"):
            tango_interval(*made)


@pytest.mark.slow
@pytest.mark.parametrize(("up", "down", "n"), [(0.3, 0.1, 60), (0.06, 0.02, 346), (0.1, 0.1, 40)])
def test_it_covers_the_true_difference(up: float, down: float, n: int) -> None:
    luck = np.random.default_rng(4)
    drawn = luck.multinomial(n, [up, down, 1 - up - down], size=4000)
    kinds, times = np.unique(drawn, axis=0, return_counts=True)
    held = [low <= up - down <= high
            for low, high in (tango_interval(int(g), int(k), n) for g, k, _ in kinds)]  # fmt: skip
    assert 0.935 <= np.average(held, weights=times) <= 0.965
