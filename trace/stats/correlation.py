"""Correlations of a few pairs: intervals and p-values that hold for small n."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from trace.stats.permutation import MOST_EXACT, extreme_share, random_share

Array: TypeAlias = NDArray[np.float64]

FEWEST_RESAMPLED = 6
"""With fewer pairs resamples are too often degenerate for their percentiles to mean anything."""

PERMUTATIONS = 100_000

_LINE = 1e-12  # this near to 1 the rest of r is rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """A correlation of `n` pairs, its two-sided p, and how p was found; None with a `reason`."""

    value: float | None
    p: float | None
    n: int
    method: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A 95% interval; `undefined` is the share of resamples that had no value and were dropped."""

    low: float | None
    high: float | None
    undefined: float | None = None
    reason: str | None = None


def _pairs(*columns: ArrayLike) -> tuple[Array, ...]:
    arrays = tuple(np.asarray(column, dtype=np.float64) for column in columns)
    if any(a.ndim != 1 or len(a) != len(arrays[0]) for a in arrays):
        raise ValueError(f"the columns have the shapes {[a.shape for a in arrays]}")
    if any(not np.isfinite(a).all() for a in arrays):
        raise ValueError("a value is not finite")
    return arrays


def _undefined(*columns: Array) -> str | None:
    n = len(columns[0])
    if n < 3:
        return f"{n} pairs; at least 3 are needed"
    if any(np.ptp(column) == 0 for column in columns):
        return "one of the two does not vary"
    return None


def p_of_r(r: float, n: int) -> float:
    """The two-sided p of a Pearson correlation: t with n − 2 degrees of freedom.

    Raises:
        ValueError: `r` is not a correlation, or there are fewer than 3 pairs.
    """
    if n < 3 or not -1 <= r <= 1:
        raise ValueError(f"r={r} of {n} pairs")
    if abs(r) == 1:
        return 0.0
    return float(2 * stats.t.sf(abs(r) * math.sqrt((n - 2) / (1 - r * r)), n - 2))


def pearson(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Pearson's r, with p by `p_of_r`.

    Raises:
        ValueError: the lengths differ, or a value is not finite.
    """
    a, b = _pairs(x, y)
    n = len(a)
    if reason := _undefined(a, b):
        return Correlation(value=None, p=None, n=n, method="t", reason=reason)
    r = float(np.clip(stats.pearsonr(a, b).statistic, -1, 1))
    return Correlation(value=r, p=p_of_r(r, n), n=n, method="t")


def fisher_interval(r: float, n: int) -> Interval:
    """Fisher's interval: atanh r ± 1.96 / √(n − 3), back (Fisher 1921).

    With 3 pairs or |r| = 1 there is none.
    """
    if n < 4 or 1 - abs(r) < _LINE:
        reason = f"{n} pairs; at least 4 are needed" if n < 4 else "the pairs lie on a line"
        return Interval(low=None, high=None, reason=reason)
    half = float(stats.norm.ppf(0.975)) / math.sqrt(n - 3)
    z = math.atanh(r)
    return Interval(low=math.tanh(z - half), high=math.tanh(z + half))


def spearman(
    x: ArrayLike, y: ArrayLike, *, rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> Correlation:
    """Spearman's rho on average ranks, with a permutation p.

    Up to 13 pairs every permutation counts (`method` is enumeration), above that random ones
    (Monte Carlo). The usual t approximation is too small for few pairs.

    Raises:
        ValueError: the lengths differ, or a value is not finite.
    """
    a, b = _pairs(x, y)
    n = len(a)
    exact = n <= MOST_EXACT
    method = "enumeration" if exact else f"Monte Carlo, {permutations} permutations"
    if reason := _undefined(a, b):
        return Correlation(value=None, p=None, n=n, method=method, reason=reason)
    rho = float(np.clip(stats.pearsonr(stats.rankdata(a), stats.rankdata(b)).statistic, -1, 1))
    p = extreme_share(a, b) if exact else random_share(a, b, draws=permutations, rng=rng)
    return Correlation(value=rho, p=p, n=n, method=method)


def leave_one_out(x: ArrayLike, y: ArrayLike) -> list[float | None]:
    """Pearson's r without each pair in turn, [n]; None where it is undefined.

    Raises:
        ValueError: the lengths differ, or a value is not finite.
    """
    a, b = _pairs(x, y)
    return [pearson(np.delete(a, i), np.delete(b, i)).value for i in range(len(a))]


def _resampled_r(a: Array, b: Array, picks: NDArray[np.int64]) -> Array:
    """The r of every resample, [draws]; NaN where one of the two does not vary."""
    x, y = a[picks], b[picks]
    varies = (np.ptp(x, axis=1) > 0) & (np.ptp(y, axis=1) > 0)
    dx, dy = (v - v.mean(axis=1, keepdims=True) for v in (x, y))
    with np.errstate(divide="ignore", invalid="ignore"):
        r = (dx * dy).sum(axis=1) / np.sqrt((dx**2).sum(axis=1) * (dy**2).sum(axis=1))
    return np.where(varies, np.clip(r, -1, 1), np.nan)


def _percentiles(values: Array) -> Interval:
    defined = values[np.isfinite(values)]
    undefined = 1 - len(defined) / len(values)
    if not len(defined):
        return Interval(
            low=None, high=None, undefined=undefined, reason="undefined in every resample"
        )
    low, high = np.quantile(defined, (0.025, 0.975))
    return Interval(low=float(low), high=float(high), undefined=undefined)


def _too_few(n: int) -> Interval | None:
    if n >= FEWEST_RESAMPLED:
        return None
    reason = f"{n} pairs; at least {FEWEST_RESAMPLED} are needed for resampling"
    return Interval(low=None, high=None, reason=reason)


def bootstrap_interval(
    x: ArrayLike, y: ArrayLike, *, draws: int, rng: np.random.Generator
) -> Interval:
    """The percentile interval of Pearson's r, pairs resampled with replacement.

    Resamples in which one of the two does not vary have no r: they are dropped, and their share
    is told. (Percentile bootstrap: Efron & Tibshirani 1993, ch. 13.)

    Raises:
        ValueError: the lengths differ, or a value is not finite.
    """
    a, b = _pairs(x, y)
    if few := _too_few(len(a)):
        return few
    return _percentiles(_resampled_r(a, b, rng.integers(0, len(a), (draws, len(a)))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """r(x, y) − r(x, z) over the same `n` units, with its resampled interval."""

    value: float | None
    n: int
    interval: Interval
    reason: str | None = None


def difference(
    x: ArrayLike, y: ArrayLike, z: ArrayLike, *, draws: int, rng: np.random.Generator
) -> Difference:
    """Compares two correlations that share a variable and the units: r(x, y) − r(x, z).

    Units are resampled with all three values, so that the dependence of the two is kept. Whether
    their own intervals overlap says little about the difference.

    Raises:
        ValueError: the lengths differ, or a value is not finite.
    """
    a, b, c = _pairs(x, y, z)
    n = len(a)
    if reason := _undefined(a, b, c):
        none = Interval(low=None, high=None, reason=reason)
        return Difference(value=None, n=n, interval=none, reason=reason)
    r1, r2 = (float(stats.pearsonr(a, other).statistic) for other in (b, c))
    if few := _too_few(n):
        return Difference(value=r1 - r2, n=n, interval=few)
    picks = rng.integers(0, n, (draws, n))
    values = _resampled_r(a, b, picks) - _resampled_r(a, c, picks)
    return Difference(value=r1 - r2, n=n, interval=_percentiles(values))
