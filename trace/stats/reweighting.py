"""Clustered intervals of statistics that depend on every record, not only on a few sums."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from trace.stats.resampling import BootstrapInterval

_CELLS = 2_000_000  # of one block of draws: 16 MB


def reweighted_bootstrap(
    clusters: Sequence[Hashable],
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    draws: int,
    rng: np.random.Generator,
) -> BootstrapInterval:
    """As `cluster_bootstrap`, for a statistic of how often each record was drawn.

    What ranks the records, such as a rate at a quantile, has as many sums as there are distinct
    scores; weights need only one number a record and draw.

    Args:
        clusters: the cluster of each record.
        statistic: weights [draws, records] -> values [draws]; NaN where it is undefined.
        draws: how many resamples.
        rng: the source of randomness.

    Raises:
        ValueError: `draws` is below 1.
    """
    if draws < 1:
        raise ValueError(f"draws is {draws}, below 1")
    index = {cluster: i for i, cluster in enumerate(dict.fromkeys(clusters))}
    member = np.array([index[cluster] for cluster in clusters], dtype=np.intp)
    n = len(index)
    if n < 2:
        reason = "one cluster cannot be resampled" if n else "no samples"
        return BootstrapInterval(
            low=None, high=None, clusters=n, draws=draws, undefined=None, reason=reason
        )
    block = max(1, _CELLS // len(member))
    values = np.empty(draws)
    for start in range(0, draws, block):
        stop = min(start + block, draws)
        times = rng.multinomial(n, np.full(n, 1 / n), size=stop - start)
        with np.errstate(divide="ignore", invalid="ignore"):
            values[start:stop] = statistic(times[:, member].astype(np.float64))
    defined = values[np.isfinite(values)]
    low, high = np.quantile(defined, (0.025, 0.975)) if len(defined) else (None, None)
    return BootstrapInterval(
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        clusters=n,
        draws=draws,
        undefined=1 - len(defined) / draws,
        reason=None if len(defined) else "the statistic is undefined in every draw",
    )


def canonical_order(
    records: Sequence[tuple[float, ...]], clusters: Sequence[Hashable]
) -> list[int]:
    """The places of the records in an order that tells nothing but what the records hold.

    Clusters are drawn in the order in which they first appear: put in this order, neither the
    order of the records nor the names of the clusters can change an interval.

    Raises:
        ValueError: the lengths differ.
    """
    members: dict[Hashable, list[tuple[tuple[float, ...], int]]] = defaultdict(list)
    for i, (record, cluster) in enumerate(zip(records, clusters, strict=True)):
        members[cluster].append((record, i))
    groups = sorted(sorted(group) for group in members.values())
    groups.sort(key=lambda group: [record for record, _ in group])
    return [i for group in groups for _, i in group]
