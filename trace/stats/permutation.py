"""The exact null distribution of a rank correlation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

MOST_EXACT = 13
"""Up to so many pairs every permutation is counted: 13! of them, in a fraction of a second."""


def doubled_ranks(values: ArrayLike) -> NDArray[np.int64]:
    """Twice the average ranks, which are whole numbers whatever the ties."""
    ranks: NDArray[np.int64] = np.rint(2 * rankdata(np.asarray(values))).astype(np.int64)
    return ranks


def extreme_share(x: ArrayLike, y: ArrayLike) -> float:
    """The share of all n! pairings whose Spearman correlation is at least as far from 0.

    The pairings are not listed: the products of ranks are added up over subsets of `y`, the first
    k of `x` having taken k of them (dynamic programming over subsets; integers, so no rounding).

    Args:
        x: [n], n at most `MOST_EXACT`.
        y: [n].

    Raises:
        ValueError: the lengths differ, or there are too many pairs.
    """
    a, b = doubled_ranks(x), doubled_ranks(y)
    n = len(a)
    if len(b) != n or n > MOST_EXACT:
        raise ValueError(f"{n} and {len(b)} values; equal lengths up to {MOST_EXACT} are counted")
    top = int(np.sort(a) @ np.sort(b))
    layer = {0: np.ones(1, dtype=np.int64)}  # subset of y, as bits -> how often each sum occurs
    for rank in a:
        following: dict[int, NDArray[np.int64]] = {}
        for taken, counts in layer.items():
            for j in range(n):
                if not taken >> j & 1:
                    shift = int(rank * b[j])
                    sums = following.setdefault(taken | 1 << j, np.zeros(top + 1, dtype=np.int64))
                    end = min(shift + len(counts), top + 1)
                    sums[shift:end] += counts[: end - shift]
        layer = following
    (counts,) = layer.values()
    centre = n * (n + 1) ** 2  # of the sum, when both have these ranks in a random order
    far = np.abs(np.arange(top + 1) - centre) >= abs(int(a @ b) - centre)
    return int(counts[far].sum()) / math.factorial(n)


def random_share(x: ArrayLike, y: ArrayLike, *, draws: int, rng: np.random.Generator) -> float:
    """As `extreme_share`, estimated as (b + 1) / (draws + 1) from random pairings.

    The observed pairing counts as one of them (Phipson & Smyth 2010), so it is never 0.
    """
    a, b = doubled_ranks(x), doubled_ranks(y)
    centre = len(a) * (len(a) + 1) ** 2
    sums = rng.permuted(np.tile(b, (draws, 1)), axis=1) @ a
    far = np.abs(sums - centre) >= abs(int(a @ b) - centre)
    return (int(far.sum()) + 1) / (draws + 1)
