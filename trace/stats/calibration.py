"""Whether what a judge calls 70% unsafe is unsafe in 70% of the cases."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trace.stats.classification import Estimate
from trace.stats.resampling import BootstrapInterval, cluster_bootstrap

BINS = 15


def expected_calibration_error(unsafe: Sequence[bool], scores: Sequence[float | None]) -> Estimate:
    """The expected calibration error of P(unsafe), over the samples that have a score.

    The scores are put into 15 bins of equal width, closed on the right (Guo et al. 2017, arXiv
    1706.04599); the gap between the mean score and the share of unsafe samples is averaged over
    the bins, weighted by their samples (Naeini et al. 2015, AAAI). Equal width, because judges
    put many samples at one and the same score, which bins of equal mass would have to split. It
    is biased upwards: a perfectly calibrated judge has an error above 0 in any finite sample.

    Args:
        unsafe: whether each sample is unsafe.
        scores: P(unsafe) of each, None where the judge gave none.

    Raises:
        ValueError: the lengths differ, or a score is no probability.
    """
    columns, _ = _columns(unsafe, scores, range(len(unsafe)))
    if not len(columns):
        return Estimate(value=None, n=0, reason="no sample has a score" if scores else "no samples")
    return Estimate(value=float(_error(columns.sum(axis=0, keepdims=True))[0]), n=len(columns))


def calibration_interval(
    unsafe: Sequence[bool],
    scores: Sequence[float | None],
    clusters: Sequence[Hashable],
    *,
    draws: int,
    rng: np.random.Generator,
) -> BootstrapInterval:
    """A 95% interval of the expected calibration error, clusters resampled.

    Plain percentiles will not do: a resample has a larger error than its sample, as the sample
    has than the truth, so that near 0 they hardly ever cover it. The upper limit is the basic one,
    2 × estimate − the 2.5% percentile (Davison & Hinkley 1997, section 5.2). The lower limit is
    the estimate less the 97.5% percentile of the distance between the gaps of a resample and
    those of the sample, summed over the bins: by the triangle inequality the true gaps can bring
    the error no further down. It is 0 where the scores may well be calibrated, and otherwise
    cautious; the estimate itself can lie above the interval.

    Args:
        unsafe: whether each sample is unsafe.
        scores: P(unsafe) of each, None where the judge gave none.
        clusters: the cluster of each sample.
        draws: how many resamples.
        rng: the source of randomness.

    Raises:
        ValueError: the lengths differ, a score is no probability, or `draws` is below 1.
    """
    columns, kept = _columns(unsafe, scores, clusters)
    sums = columns.sum(axis=0)

    def distance(resampled: NDArray[np.float64]) -> NDArray[np.float64]:
        gaps = resampled[:, 1:] / resampled[:, :1] - sums[1:] / sums[0]
        value: NDArray[np.float64] = np.abs(gaps).sum(axis=1)
        return value

    found = cluster_bootstrap(columns, kept, _error, draws=draws, rng=rng)
    if found.low is None:
        return found
    apart = cluster_bootstrap(columns, kept, distance, draws=draws, rng=rng)
    error = float(_error(sums[None])[0])
    low = max(0.0, error - (apart.high or 0.0))
    return replace(found, low=low, high=min(1.0, max(low, 2 * error - found.low)))


def _columns(
    unsafe: Sequence[bool], scores: Sequence[float | None], clusters: Sequence[Hashable]
) -> tuple[NDArray[np.float64], list[Hashable]]:
    """Per scored sample a 1 and, in the column of its bin, its score less what it is."""
    rows = [(u, s, c) for u, s, c in zip(unsafe, scores, clusters, strict=True) if s is not None]
    probability = np.array([s for _, s, _ in rows], dtype=float)
    if not ((probability >= 0) & (probability <= 1)).all():
        raise ValueError("a score is not a probability")
    columns = np.zeros((len(rows), 1 + BINS))
    columns[:, 0] = 1
    edges = np.linspace(0, 1, BINS + 1)[1:-1]
    bins = np.searchsorted(edges, probability, side="left")
    columns[np.arange(len(rows)), 1 + bins] = probability - np.array([u for u, *_ in rows])
    return columns, [c for *_, c in rows]


def _error(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    value: NDArray[np.float64] = np.abs(sums[:, 1:]).sum(axis=1) / sums[:, 0]
    return value
