"""Intervals by resampling."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Statistic: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Sums [draws, columns] -> values [draws]; NaN in a draw where it is undefined."""

FEW_CLUSTERS = 20
"""Below this many clusters the percentile interval is known to be too narrow."""

_CELLS = 4_000_000  # of one block of draws: 32 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapInterval:
    """A percentile 95% interval from resampled clusters.

    `undefined` is the share of draws in which the statistic was undefined; they are left out.
    `low`, `high` and `undefined` are None, with a `reason`, when no interval can be had.
    """

    low: float | None
    high: float | None
    clusters: int
    draws: int
    undefined: float | None
    reason: str | None = None

    @property
    def few_clusters(self) -> bool:
        """Whether there are so few clusters that the interval is too narrow."""
        return self.clusters < FEW_CLUSTERS


def _cluster_sums(columns: NDArray[Any], clusters: Sequence[Hashable]) -> NDArray[np.float64]:
    index = {cluster: i for i, cluster in enumerate(dict.fromkeys(clusters))}
    rows = np.fromiter((index[c] for c in clusters), dtype=np.intp, count=len(clusters))
    sums = np.zeros((len(index), columns.shape[1]))
    np.add.at(sums, rows, columns)
    return sums


def cluster_bootstrap(
    columns: ArrayLike,
    clusters: Sequence[Hashable],
    statistic: Statistic,
    *,
    draws: int,
    rng: np.random.Generator,
) -> BootstrapInterval:
    """Resamples clusters with replacement and takes the percentiles of a statistic.

    The statistic is a function of column sums, such as balanced accuracy of (hits, unsafe,
    passes, safe). Clusters with equal sums are interchangeable, so how often each kind is drawn
    is multinomial; drawing that is exact and needs one number a kind instead of one a record.
    The result depends neither on the order of the records nor on the names of the clusters.
    (Percentile bootstrap: Efron & Tibshirani 1993, ch. 13; clusters as the unit: Davison &
    Hinkley 1997, section 3.8.)

    Args:
        columns: counts, [records, columns].
        clusters: the cluster of each record, [records].
        statistic: what is estimated, over all draws at once.
        draws: how many resamples.
        rng: the source of randomness.

    Raises:
        ValueError: the shapes do not match, or `draws` is below 1.
    """
    table = np.asarray(columns)
    if table.ndim != 2 or len(table) != len(clusters):
        raise ValueError(f"columns {table.shape} do not match {len(clusters)} cluster names")
    if draws < 1:
        raise ValueError(f"draws is {draws}, below 1")
    sums = _cluster_sums(table, clusters)
    n = len(sums)
    if n < 2:
        reason = "one cluster cannot be resampled" if n else "no samples"
        return BootstrapInterval(
            low=None, high=None, clusters=n, draws=draws, undefined=None, reason=reason
        )
    kinds, copies = np.unique(sums, axis=0, return_counts=True)
    block = max(1, _CELLS // len(kinds))
    values = np.empty(draws)
    for start in range(0, draws, block):
        stop = min(start + block, draws)
        times = rng.multinomial(n, copies / n, size=stop - start)
        with np.errstate(divide="ignore", invalid="ignore"):
            values[start:stop] = statistic(times.astype(np.float64) @ kinds)
    defined = values[np.isfinite(values)]
    undefined = 1 - len(defined) / draws
    if not len(defined):
        return BootstrapInterval(
            low=None,
            high=None,
            clusters=n,
            draws=draws,
            undefined=undefined,
            reason="the statistic is undefined in every draw",
        )
    low, high = np.quantile(defined, (0.025, 0.975))
    return BootstrapInterval(
        low=float(low), high=float(high), clusters=n, draws=draws, undefined=undefined
    )
