"""How far raters agree on nominal labels, where some votes may be missing."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trace.stats.classification import Estimate
from trace.stats.resampling import BootstrapInterval, Statistic, cluster_bootstrap

Votes: TypeAlias = Sequence[Sequence[str | None]]
"""A row an item, in it a label a rater, the raters in the same order; None is no vote."""

Kind: TypeAlias = Literal["percent", "cohen", "fleiss", "krippendorff"]

Array: TypeAlias = NDArray[np.float64]


def agreement(kind: Kind, votes: Votes) -> Estimate:
    """A coefficient of agreement over the items with at least two votes.

    * `percent`: the share of pairs of votes on an item that are equal, averaged over items.
    * `cohen`: Cohen's kappa of two raters (Cohen 1960, Educ. Psychol. Meas. 20:37-46), whose
      chance agreement comes from each rater's own frequencies.
    * `fleiss`: Fleiss' kappa (Fleiss 1971, Psychol. Bull. 76:378-382). Where votes are missing,
      the agreement on an item is among its own votes, and the frequencies of the labels are those
      of all votes together; where none are, it is Fleiss' own.
    * `krippendorff`: Krippendorff's alpha for nominal data (Krippendorff 2011, Computing
      Krippendorff's Alpha-Reliability). An item weighs by its votes, and chance is drawn without
      replacement; with many items and no missing votes it is nearly Fleiss' kappa.

    An item with one vote agrees with nothing: it is left out, or agreement would rise as judges
    fail. When nearly every vote is the same, the coefficients are low however often raters agree,
    so `percent` belongs beside them.

    Args:
        kind: which coefficient.
        votes: the raters in the same order in every row; two of them for `cohen`.

    Returns:
        The value over `n` items; None with a reason when no item has two votes, or when all votes
        are the same label and chance would agree as well (0/0).

    Raises:
        ValueError: the rows differ in length, `cohen` has not two raters, or there is no such kind.
    """
    kept = _paired(kind, votes)
    if not kept:
        reason = "no item has two votes" if votes else "no items"
        return Estimate(value=None, n=0, reason=reason)
    columns, statistic = _sums(kind, kept)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(columns.sum(axis=0, keepdims=True))[0])
    if not np.isfinite(value):
        (label,) = _labels(kept)
        return Estimate(value=None, n=len(kept), reason=f"every vote is {label!r}")
    return Estimate(value=value, n=len(kept))


def agreement_interval(
    kind: Kind,
    votes: Votes,
    clusters: Sequence[Hashable],
    *,
    draws: int,
    rng: np.random.Generator,
) -> BootstrapInterval:
    """The percentile 95% interval of `agreement`, clusters of items resampled.

    Args:
        kind: which coefficient.
        votes: as for `agreement`.
        clusters: the cluster of each item.
        draws: how many resamples.
        rng: the source of randomness.

    Raises:
        ValueError: as for `agreement`; or the lengths differ, or `draws` is below 1.
    """
    kept = _paired(kind, votes)
    rated = [c for row, c in zip(votes, clusters, strict=True) if _is_paired(row)]
    columns, statistic = _sums(kind, kept)
    return cluster_bootstrap(columns, rated, statistic, draws=draws, rng=rng)


def stratified_agreement(kind: Kind, strata: Sequence[Votes]) -> Estimate:
    """The mean coefficient of several strata, each weighing by its items with two votes.

    Where each stratum has labels of its own, chance is of that stratum: pooled, raters who know
    no more than which stratum an item is of would seem to agree. (The weights are those of Barlow,
    Lai & Azen 1991, Stat. Med. 10:1465-1472, for raters equally reliable in all strata.)

    Args:
        kind: which coefficient.
        strata: the votes of each, as for `agreement`; those in which it is undefined are left out.

    Returns:
        The value over `n` items; None with the first reason when it is undefined in all.
    """
    each = [agreement(kind, votes) for votes in strata]
    known = [(one.value, one.n) for one in each if one.value is not None]
    if not known:
        return Estimate(value=None, n=0, reason=each[0].reason if each else "no items")
    n = sum(weight for _, weight in known)
    return Estimate(value=sum(value * weight for value, weight in known) / n, n=n)


def by_pair(
    votes: Votes, raters: Sequence[str]
) -> Mapping[tuple[str, str], list[tuple[str | None, str | None]]]:
    """The votes of each two raters, for pairwise kappas; a rater's place is its column."""
    return {
        (raters[i], raters[j]): [(row[i], row[j]) for row in votes]
        for i, j in combinations(range(len(raters)), 2)
    }


def _is_paired(row: Sequence[str | None]) -> bool:
    return sum(vote is not None for vote in row) > 1


def _paired(kind: Kind, votes: Votes) -> list[Sequence[str | None]]:
    if kind not in _COEFFICIENTS:
        raise ValueError(f"no agreement of the kind {kind!r}: {', '.join(_COEFFICIENTS)}")
    widths = {len(row) for row in votes}
    if len(widths) > 1:
        raise ValueError(f"rows of {sorted(widths)} votes; one a rater in each")
    if kind == "cohen" and widths - {2}:
        raise ValueError(f"Cohen's kappa is of two raters, not {widths.pop()}")
    return [row for row in votes if _is_paired(row)]


def _labels(votes: Votes) -> list[str]:
    return sorted({vote for row in votes for vote in row if vote is not None})


def _sums(kind: Kind, votes: Votes) -> tuple[Array, Statistic]:
    """Columns an item, and the coefficient as a function of their sums."""
    labels = {label: i for i, label in enumerate(_labels(votes))}
    raters = len(votes[0]) if votes else 2
    given = np.zeros((len(votes), raters, len(labels)))  # 1 where a rater gave a label
    for i, row in enumerate(votes):
        for j, vote in enumerate(row):
            if vote is not None:
                given[i, j, labels[vote]] = 1
    counts = given.sum(axis=1)
    n = counts.sum(axis=1)
    equal = (counts * (counts - 1)).sum(axis=1)  # ordered pairs of equal votes
    weight, agreeing = np.ones(len(votes)), equal / (n * (n - 1))
    each = [*counts.T]
    if kind == "cohen":
        each = [*given[:, 0].T, *given[:, 1].T]
    if kind == "krippendorff":
        weight, agreeing = n, equal / (n - 1)
    return np.stack([weight, agreeing, *each], axis=1), _COEFFICIENTS[kind]


def _percent(sums: Array) -> Array:
    value: Array = sums[:, 1] / sums[:, 0]
    return value


def _cohen(sums: Array) -> Array:
    first, second = np.split(sums[:, 2:], 2, axis=1)
    return _beyond_chance(sums, (first * second).sum(axis=1) / sums[:, 0] ** 2)


def _fleiss(sums: Array) -> Array:
    frequency = sums[:, 2:] / sums[:, 2:].sum(axis=1, keepdims=True)
    return _beyond_chance(sums, (frequency**2).sum(axis=1))


def _krippendorff(sums: Array) -> Array:
    counts, n = sums[:, 2:], sums[:, 0]
    return _beyond_chance(sums, (counts * (counts - 1)).sum(axis=1) / (n * (n - 1)))


def _beyond_chance(sums: Array, chance: Array) -> Array:
    value: Array = (_percent(sums) - chance) / (1 - chance)
    return value


_COEFFICIENTS: dict[Kind, Statistic] = {
    "percent": _percent,
    "cohen": _cohen,
    "fleiss": _fleiss,
    "krippendorff": _krippendorff,
}
