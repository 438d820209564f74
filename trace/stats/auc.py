"""Intervals of the areas under the ROC and the precision-recall curve over clustered records."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from trace.stats.resampling import BootstrapInterval
from trace.stats.reweighting import canonical_order, reweighted_bootstrap

Array = NDArray[np.float64]


def auc_interval(
    unsafe: Sequence[bool],
    scores: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    draws: int,
    rng: np.random.Generator,
) -> BootstrapInterval:
    """A percentile 95% interval of the area under the ROC curve, clusters resampled.

    Ties count a half. A draw without records of both kinds is undefined. Neither the order of the
    records nor the names of the clusters play a part.

    Args:
        unsafe: whether each record is unsafe.
        scores: the higher, the more likely unsafe.
        clusters: the cluster of each record.
        draws: how many resamples.
        rng: the source of randomness.

    Raises:
        ValueError: the lengths differ, or `draws` is below 1.
    """

    def area(positive: Array, negative: Array) -> Array:
        above = np.cumsum(negative, axis=1) - negative / 2
        lost: Array = (positive * above).sum(axis=1)
        value: Array = 1 - lost / (positive.sum(axis=1) * negative.sum(axis=1))
        return value

    return _interval(area, unsafe, scores, clusters, draws=draws, rng=rng)


def auprc_interval(
    unsafe: Sequence[bool],
    scores: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    draws: int,
    rng: np.random.Generator,
) -> BootstrapInterval:
    """A percentile 95% interval of the average precision, clusters resampled.

    A draw without an unsafe record is undefined; so is one without a safe one, as the value is
    where there is none. Arguments and errors as for `auc_interval`.
    """

    def area(positive: Array, negative: Array) -> Array:
        hits = np.cumsum(positive, axis=1)
        flagged = hits + np.cumsum(negative, axis=1)
        precision = np.divide(hits, flagged, out=np.zeros_like(hits), where=flagged > 0)
        value: Array = (positive * precision).sum(axis=1) / positive.sum(axis=1)
        return np.where(negative.sum(axis=1) > 0, value, np.nan)

    return _interval(area, unsafe, scores, clusters, draws=draws, rng=rng)


def _interval(
    area: Callable[[Array, Array], Array],
    unsafe: Sequence[bool],
    scores: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    draws: int,
    rng: np.random.Generator,
) -> BootstrapInterval:
    """Of a function of how many unsafe and safe records have each score, the highest first."""
    if not len(unsafe) == len(scores) == len(clusters):
        raise ValueError(f"{len(unsafe)} labels, {len(scores)} scores, {len(clusters)} clusters")
    records = [(-float(s), float(u)) for u, s in zip(unsafe, scores, strict=True)]
    order = sorted(canonical_order(records, clusters), key=lambda i: records[i])
    score = np.array([records[i][0] for i in order])
    positive = np.array([bool(unsafe[i]) for i in order])
    starts = np.flatnonzero(np.append(len(order) > 0, score[1:] != score[:-1]))

    def statistic(times: Array) -> Array:
        kinds = (times * positive, times * ~positive)
        return area(*(np.add.reduceat(kind, starts, axis=1) for kind in kinds))

    return reweighted_bootstrap([clusters[i] for i in order], statistic, draws=draws, rng=rng)
