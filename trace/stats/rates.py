"""A rate with its interval, and the bounds that the unscored leave open."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from statsmodels.stats.proportion import proportion_confint

UnscoredAs: TypeAlias = Literal["as_wrong", "exclude"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share k/n as a fraction.

    `low` and `high` are the Wilson 95% interval. `bounds` is the value if every unscored sample
    were wrong, and if every one were right; it does not depend on how they are counted here.
    `value`, `low` and `high` are None, with a `reason`, when nothing can be counted.
    """

    value: float | None
    k: int
    n: int
    n_unscored: int
    low: float | None
    high: float | None
    bounds: tuple[float, float] | None
    reason: str | None = None


def rate(
    right: int,
    wrong: int,
    unscored: int,
    *,
    unscored_as: UnscoredAs,
    of: str = "samples",
    repeats: float = 1,
) -> Rate:
    """The share of right ones, with the Wilson score interval (Wilson 1927, JASA 22:209-212).

    Args:
        right: how many are right.
        wrong: how many are wrong.
        unscored: how many have no label.
        unscored_as: as_wrong counts them in the denominator; exclude leaves them out.
        of: what is counted, for the reason of an undefined rate.
        repeats: how often each sample is counted. Repeats are not independent, so the interval is
            that of one observation a sample, at the mean of its repeats.

    Raises:
        TypeError: a count is not a whole number.
        ValueError: a count is negative, or `unscored_as` is no choice.
    """
    right, wrong, unscored = (operator.index(count) for count in (right, wrong, unscored))
    if min(right, wrong, unscored) < 0:
        raise ValueError(f"a count is negative: {right} right, {wrong} wrong, {unscored} unscored")
    if unscored_as not in ("as_wrong", "exclude"):
        raise ValueError(f"unscored_as is as_wrong or exclude, not {unscored_as!r}")
    total = right + wrong + unscored
    n = total if unscored_as == "as_wrong" else right + wrong
    bounds = (right / total, (right + unscored) / total) if total else None
    if n == 0:
        reason = all_unscored(unscored, of) if unscored else f"no {of}"
        return Rate(
            value=None,
            k=right,
            n=0,
            n_unscored=unscored,
            low=None,
            high=None,
            bounds=bounds,
            reason=reason,
        )
    low, high = proportion_confint(right / repeats, n / repeats, alpha=0.05, method="wilson")
    return Rate(
        value=right / n,
        k=right,
        n=n,
        n_unscored=unscored,
        # At 0 and n the ends are exact; the library gives 0.9999999999999999 for 20 of 20.
        low=0.0 if right == 0 else float(low),
        high=1.0 if right == n else float(high),
        bounds=bounds,
    )


def all_unscored(number: int, of: str) -> str:
    """The reason where there is something, and none of it has a label.

    Args:
        number: how much.
        of: what, in the plural.
    """
    if number == 1:
        return f"no {of} but one, which is unscored"
    return f"all {number} {of} are unscored"
