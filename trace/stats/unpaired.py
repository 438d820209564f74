"""Two shares of independent samples: whether they differ, and by how much."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import hypergeom
from statsmodels.stats.proportion import proportion_effectsize

_TIE = 1 + 1e-7
"""Tables whose probabilities differ by less are as probable as each other: rounding, as in R."""


def fisher_p(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> NDArray[np.float64]:
    """The two-sided p of Fisher's exact test of k1/n1 against k2/n2, for all tables at once.

    It is the probability, given the margins, of all tables that are no more probable than the one
    observed (Fisher 1935, J. R. Stat. Soc. 98:39-82; two-sided as in Agresti 2013, section 3.5.1).
    Where nobody or everybody is a hit, or a side is empty, it is 1.

    Args:
        k1: hits on the first side; the four are broadcast together.
        n1: observations on it.
        k2: hits on the second side.
        n2: observations on it.

    Raises:
        ValueError: there are more hits than observations, or fewer than none.
    """
    table = np.broadcast_arrays(*(np.asarray(side, dtype=np.int64) for side in (k1, n1, k2, n2)))
    shape = table[0].shape
    # Few tables of a study differ, and each takes as many probabilities as it has observations.
    rows, places = np.unique(
        np.stack([side.ravel() for side in table], axis=1), axis=0, return_inverse=True
    )
    a, first, b, second = (rows[:, i : i + 1] for i in range(4))
    if (rows < 0).any() or (a > first).any() or (b > second).any():
        raise ValueError("a table has more hits than observations, or fewer than none")
    if not len(rows):
        return np.ones(shape)
    possible: NDArray[Any] = np.arange(int(first.max()) + 1)
    chance = np.asarray(hypergeom.pmf(possible, first + second, a + b, first))
    observed = np.take_along_axis(chance, a, axis=1)
    p = np.where(chance <= observed * _TIE, chance, 0.0).sum(axis=1)
    p = np.where((first == 0) | (second == 0), 1.0, np.minimum(p, 1.0)[:, None])[:, 0]
    found: NDArray[np.float64] = p[places.ravel()].reshape(shape)
    return found


def cohens_h(p1: ArrayLike, p2: ArrayLike) -> NDArray[np.float64]:
    """Cohen's h, 2 arcsin √p1 − 2 arcsin √p2 (Cohen 1988, section 6.2); NaN stays NaN.

    Args:
        p1: shares from 0 to 1.
        p2: likewise.

    Raises:
        ValueError: a share is below 0 or above 1, such as one in percent.
    """
    first, second = np.asarray(p1, dtype=float), np.asarray(p2, dtype=float)
    if any(((side < 0) | (side > 1)).any() for side in (first, second)):
        raise ValueError("a share is below 0 or above 1")
    h: NDArray[np.float64] = np.asarray(proportion_effectsize(first, second), dtype=np.float64)
    return h
