"""Two conditions on the same items: the difference of two shares, and whether it is chance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.optimize import brentq
from statsmodels.stats.contingency_tables import mcnemar

_Z = float(stats.norm.ppf(0.975))


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The share of hits on the second side less that on the first, over `n` items with both.

    `first_only` and `second_only` are the items that are a hit on one side alone. `low` and `high`
    are Tango's 95% interval, `p` is that of McNemar's exact test. All are None, with a `reason`,
    without items.
    """

    value: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int
    first_only: int
    second_only: int
    reason: str | None = None


def paired(first: ArrayLike, second: ArrayLike, *, of: str = "items") -> Paired:
    """Compares two shares on the same items.

    Args:
        first: whether each item is a hit on the first side, [n].
        second: likewise, in the same order.
        of: what the items are, for the reason.

    Raises:
        ValueError: the shapes differ, or they are no rows of truth values.
    """
    a, b = (np.asarray(side, dtype=np.bool_) for side in (first, second))
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"sides of the shapes {a.shape} and {b.shape}")
    n, lost, gained = len(a), int((a & ~b).sum()), int((b & ~a).sum())
    if not n:
        return Paired(
            value=None, low=None, high=None, p=None, n=0, first_only=0, second_only=0,
            reason=f"no {of} with both",
        )  # fmt: skip
    low, high = tango_interval(gained, lost, n)
    return Paired(
        value=(gained - lost) / n,
        low=low,
        high=high,
        p=mcnemar_p(gained, lost),
        n=n,
        first_only=lost,
        second_only=gained,
    )


def mcnemar_p(one_only: int, other_only: int) -> float:
    """The two-sided p of McNemar's exact test: discordant pairs are tosses of a fair coin.

    Without any, p is 1. (McNemar 1947, Psychometrika 12:153-157.)
    """
    return float(mcnemar([[0, one_only], [other_only, 0]], exact=True).pvalue)


def tango_interval(gained: int, lost: int, n: int) -> tuple[float, float]:
    """Tango's asymptotic score interval of (gained − lost) / n, at 95%.

    All differences that the score test does not reject, the nuisance parameter at its maximum
    under each. Unlike Wald's interval it has a width without discordant pairs. (Tango 1998,
    Statistics in Medicine 17:891-908, equations 10 and 11.)

    Args:
        gained: pairs that are a hit on the second side alone.
        lost: pairs that are one on the first side alone.
        n: all pairs, at least 1.

    Raises:
        ValueError: there are more discordant pairs than pairs, or a count is negative.
    """
    if min(gained, lost) < 0 or gained + lost > n or n < 1:
        raise ValueError(f"{gained} and {lost} discordant of {n} pairs")
    value = (gained - lost) / n

    def excess(difference: float) -> float:
        """The squared score statistic at a difference, less its 95% quantile."""
        b = (2 * n - gained + lost) * difference - gained - lost
        c = -lost * difference * (1 - difference)
        share = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
        variance = n * (2 * share + difference * (1 - difference))
        gap = gained - lost - n * difference
        if variance <= 0:
            return -(_Z**2) if abs(gap) < 1e-12 else math.inf
        return gap * gap / variance - _Z**2

    def end(limit: float) -> float:
        inside = limit + (value - limit) * 1e-12
        return limit if excess(inside) <= 0 else float(brentq(excess, inside, value, xtol=1e-12))

    return (
        -1.0 if value == -1 else end(-1.0),
        1.0 if value == 1 else end(1.0),
    )
