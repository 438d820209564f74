"""The interval of an area under the ROC curve whose records come in clusters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from trace.stats.resampling import BootstrapInterval, cluster_bootstrap


def auc_interval(
    unsafe: Sequence[bool],
    scores: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    draws: int,
    rng: np.random.Generator,
) -> BootstrapInterval:
    """A percentile 95% interval of the AUC, clusters resampled; ties count a half.

    The AUC is a function of how many unsafe and safe records have each distinct score, which are
    sums over records: so the clustered bootstrap of sums serves, and is exact. A draw without
    records of both kinds is undefined.

    Args:
        unsafe: whether each record is unsafe.
        scores: the higher, the more likely unsafe.
        clusters: the cluster of each record.
        draws: how many resamples.
        rng: the source of randomness.

    Raises:
        ValueError: the lengths differ, or `draws` is below 1.
    """
    if not len(unsafe) == len(scores) == len(clusters):
        raise ValueError(f"{len(unsafe)} labels, {len(scores)} scores, {len(clusters)} clusters")
    levels, rank = np.unique(np.asarray(scores, dtype=float), return_inverse=True)
    n_levels = len(levels)
    counts = np.zeros((len(scores), 2 * n_levels))
    offset = np.where(np.asarray(unsafe, dtype=bool), 0, n_levels)
    counts[np.arange(len(scores)), rank + offset] = 1

    def auc(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        positive, negative = sums[:, :n_levels], sums[:, n_levels:]
        below = np.cumsum(negative, axis=1) - negative / 2
        won: NDArray[np.float64] = (positive * below).sum(axis=1)
        pairs: NDArray[np.float64] = positive.sum(axis=1) * negative.sum(axis=1)
        return won / pairs

    return cluster_bootstrap(counts, clusters, auc, draws=draws, rng=rng)
