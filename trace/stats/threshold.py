"""A threshold on a judge's scores: what it can reach, and what it holds where it was not chosen."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trace.stats.classification import Estimate
from trace.stats.rates import Rate, UnscoredAs, rate
from trace.stats.resampling import BootstrapInterval
from trace.stats.reweighting import reweighted_bootstrap

Array = NDArray[np.float64]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Scores of at least `value` are flagged. `tpr` and `fpr` are those where it was chosen.

    `value` is None, with a `reason`, where no threshold can be chosen.
    """

    value: float | None
    tpr: float | None
    fpr: float | None
    n: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """A threshold, and the rates it reaches on the samples it was not chosen on.

    The rates are None where there is no threshold.
    """

    threshold: Threshold
    tpr: Rate | None
    tnr: Rate | None


def tpr_at_fpr(unsafe: Sequence[bool], scores: Sequence[float | None], max_fpr: float) -> Estimate:
    """The highest TPR of a threshold whose FPR is at most `max_fpr`; nothing is interpolated.

    It looks at the answers to choose its threshold, so it says what a judge's ranking is worth;
    `held_out` says what a threshold holds.

    Args:
        unsafe: whether each sample is unsafe.
        scores: the higher, the more likely unsafe; None where the judge gave none.
        max_fpr: the false positive rate that is allowed, above 0 and below 1.

    Returns:
        The TPR over the samples with a score; None with a reason without any of both kinds, and
        where `max_fpr` of the safe samples is less than one sample.

    Raises:
        ValueError: the lengths differ, a score is not finite, or `max_fpr` is no such rate.
    """
    ranking = _ranked(unsafe, scores, range(len(unsafe)), max_fpr)
    n = len(ranking.unsafe)
    if reason := _too_few(ranking, len(scores), max_fpr):
        return Estimate(value=None, n=n, reason=reason)
    return Estimate(value=float(ranking.tpr(np.ones((1, n)), max_fpr)[0]), n=n)


def tpr_at_fpr_interval(
    unsafe: Sequence[bool],
    scores: Sequence[float | None],
    clusters: Sequence[Hashable],
    max_fpr: float,
    *,
    draws: int,
    rng: np.random.Generator,
) -> BootstrapInterval:
    """The percentile 95% interval of `tpr_at_fpr`, clusters resampled.

    The threshold is found anew in every resample. A resample without both kinds is undefined.

    Args:
        unsafe: whether each sample is unsafe.
        scores: as for `tpr_at_fpr`.
        clusters: the cluster of each sample.
        max_fpr: the false positive rate that is allowed.
        draws: how many resamples.
        rng: the source of randomness.

    Raises:
        ValueError: as for `tpr_at_fpr`, or `draws` is below 1.
    """
    ranking = _ranked(unsafe, scores, clusters, max_fpr)
    return reweighted_bootstrap(
        ranking.clusters, lambda times: ranking.tpr(times, max_fpr), draws=draws, rng=rng
    )


def choose_threshold(
    unsafe: Sequence[bool], scores: Sequence[float | None], max_fpr: float
) -> Threshold:
    """The lowest score whose FPR as a threshold is at most `max_fpr`.

    Arguments and errors as for `tpr_at_fpr`. There is none where `tpr_at_fpr` is undefined, and
    where even the highest score belongs to too many safe samples.
    """
    found = tpr_at_fpr(unsafe, scores, max_fpr)
    reason = found.reason
    if found.value is not None:
        scored = [(u, s) for u, s in zip(unsafe, scores, strict=True) if s is not None]
        safe = np.sort([s for u, s in scored if not u])
        # So many safe samples may be flagged; the next score below them may not be reached.
        allowed = math.floor(max_fpr * len(safe) + _ROUNDING)
        above = [s for _, s in scored if s > safe[-1 - allowed]]
        if above:
            value = float(min(above))
            fpr = float(np.mean(safe >= value))
            return Threshold(value=value, tpr=found.value, fpr=fpr, n=found.n)
        reason = f"more than {100 * max_fpr:g}% of the safe samples have the highest score"
    return Threshold(value=None, tpr=None, fpr=None, n=found.n, reason=reason)


def split_by_cluster(clusters: Sequence[Hashable], share: float, *, seed: int) -> list[bool]:
    """Draws about `share` of the clusters, at least one and never all.

    The order of the samples plays no part.

    Returns:
        Whether each sample's cluster was drawn.

    Raises:
        ValueError: `share` is not between 0 and 1, or there are fewer than two clusters.
    """
    names = sorted(set(clusters), key=str)
    if not 0 < share < 1:
        raise ValueError(f"share is {share}, not between 0 and 1")
    if len(names) < 2:
        raise ValueError(f"{len(names)} clusters; two are needed to split them")
    count = min(max(round(share * len(names)), 1), len(names) - 1)
    order = np.random.default_rng(seed).permutation(len(names))
    drawn = {names[i] for i in order[:count]}
    return [cluster in drawn for cluster in clusters]


def held_out(
    unsafe: Sequence[bool],
    scores: Sequence[float | None],
    clusters: Sequence[Hashable],
    max_fpr: float,
    *,
    share: float,
    seed: int,
    unscored_as: UnscoredAs,
) -> HeldOut:
    """Chooses a threshold on some of the clusters and applies it to all others.

    Args:
        unsafe: whether each sample is unsafe.
        scores: as for `tpr_at_fpr`.
        clusters: the cluster of each sample.
        max_fpr: the false positive rate that is allowed where the threshold is chosen.
        share: the share of the clusters that it is chosen on.
        seed: of the split.
        unscored_as: how samples without a score count in the rates.

    Raises:
        ValueError: as for `tpr_at_fpr` and `split_by_cluster`.
    """
    chosen_on = split_by_cluster(clusters, share, seed=seed)
    rows = list(zip(unsafe, scores, chosen_on, strict=True))
    threshold = choose_threshold(
        [u for u, _, c in rows if c], [s for _, s, c in rows if c], max_fpr
    )
    if threshold.value is None:
        return HeldOut(threshold=threshold, tpr=None, tnr=None)
    rest = [(u, None if s is None else s >= threshold.value) for u, s, c in rows if not c]

    def counted(kind: bool, name: str) -> Rate:
        calls = [flagged for is_unsafe, flagged in rest if bool(is_unsafe) == kind]
        right, wrong = calls.count(kind), calls.count(not kind)
        return rate(right, wrong, calls.count(None), unscored_as=unscored_as, of=name)

    return HeldOut(
        threshold=threshold,
        tpr=counted(True, "unsafe samples"),
        tnr=counted(False, "safe samples"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranking:
    """The scored samples from the highest score down; `ends` are the last of each score."""

    unsafe: NDArray[np.bool_]
    ends: NDArray[np.intp]
    clusters: list[Hashable]

    def tpr(self, times: Array, max_fpr: float) -> Array:
        """The TPR at the last score at which the FPR is allowed, each sample so many times."""
        safe, unsafe = times * ~self.unsafe, times * self.unsafe
        alarms, hits = (np.cumsum(kind, axis=1)[:, self.ends] for kind in (safe, unsafe))
        total, positive = safe.sum(axis=1), unsafe.sum(axis=1)
        reached = alarms <= np.floor(max_fpr * total + _ROUNDING)[:, None]
        value: Array = (hits * reached).max(axis=1) / positive
        return np.where(total > 0, value, np.nan)


def _ranked(
    unsafe: Sequence[bool],
    scores: Sequence[float | None],
    clusters: Sequence[Hashable],
    max_fpr: float,
) -> _Ranking:
    if not 0 < max_fpr < 1:
        raise ValueError(f"max_fpr is {max_fpr}, not between 0 and 1")
    rows = [(s, u, c) for u, s, c in zip(unsafe, scores, clusters, strict=True) if s is not None]
    if not all(math.isfinite(s) for s, *_ in rows):
        raise ValueError("a score is not finite")
    rows.sort(key=lambda row: -row[0])
    value = np.array([s for s, *_ in rows])
    return _Ranking(
        unsafe=np.array([u for _, u, _ in rows], dtype=bool),
        ends=np.flatnonzero(np.append(value[1:] != value[:-1], len(rows) > 0)),
        clusters=[c for *_, c in rows],
    )


def _too_few(ranking: _Ranking, total: int, max_fpr: float) -> str | None:
    if not len(ranking.unsafe):
        return "no sample has a score" if total else "no samples"
    unsafe = int(ranking.unsafe.sum())
    safe = len(ranking.unsafe) - unsafe
    if not safe or not unsafe:
        return f"no {'unsafe' if safe else 'safe'} sample has a score"
    if max_fpr * safe < 1 - _ROUNDING:
        needed = math.ceil(1 / max_fpr - _ROUNDING)
        return f"{100 * max_fpr:g}% of {safe} safe samples is less than one; {needed} are needed"
    return None
