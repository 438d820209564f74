from __future__ import annotations

import math

import pytest
from scipy.stats import norm

from trace.stats.precision import detectable_difference, half_width


def test_half_width_is_the_published_one() -> None:
    """Appendix F.2 of arXiv 2604.07223: ±10.1% at n = 90 and an accuracy of 50%."""
    assert round(100 * half_width(90), 1) == 10.1


@pytest.mark.parametrize("n", [30, 90, 1000])
def test_the_detectable_difference_is_cohens(n: int) -> None:
    """Cohen 1988, formula 6.2.1 backwards: h = (z_0.975 + z_0.8) sqrt(2 / n)."""
    found = detectable_difference(n)
    assert found is not None
    h = 2 * math.asin(math.sqrt(0.5 + found)) - 2 * math.asin(math.sqrt(0.5))
    expected = (norm.ppf(0.975) + norm.ppf(0.8)) * math.sqrt(2 / n)
    assert h == pytest.approx(expected, rel=1e-3)


def test_where_no_difference_shows_there_is_none() -> None:
    assert detectable_difference(4) is None
