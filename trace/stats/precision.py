"""How precise a rate will be, before anything is measured."""

from __future__ import annotations

import math

from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_confint


def half_width(n: int) -> float:
    """Half the width of the Wilson 95% interval at a rate of 1/2, where it is widest.

    Args:
        n: independent samples, at least 1.
    """
    low, high = proportion_confint(n / 2, n, alpha=0.05, method="wilson")
    return float(high - low) / 2


def detectable_difference(n: int) -> float | None:
    """The smallest difference from a rate of 1/2 that two groups of `n` show with power 80%.

    Two-sided test at 5%, normal approximation with Cohen's h (Cohen 1988, chapter 6). None where
    no difference is large enough.
    """
    h = float(NormalIndPower().solve_power(nobs1=n, alpha=0.05, power=0.8, ratio=1))
    other = math.asin(math.sqrt(0.5)) + h / 2
    return None if other > math.pi / 2 else math.sin(other) ** 2 - 0.5
