"""Every pair of models on every label of a core category under both conditions: one family."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from trace.report.cross_lab.votes import Votes
from trace.report.cross_lab.words import CONDITIONS, CORE
from trace.report.rag_safety.answers import ABSENT, Codes
from trace.stats.paired import mcnemar_p
from trace.stats.unpaired import cohens_h, fisher_p

ALPHA = 0.05
"""The false discovery rate that a family is held to."""

Array: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One label an answer, counted and compared.

    `labels` is [items, conditions, models], codes as in `Votes`. `cells` are (category, label) of
    the core categories; `hits` and `n` are [cells, conditions, models], `n` the answers with any
    label. `pairs` are places of two models each. `p` (Fisher), `q` (Benjamini-Hochberg), `by`
    (Benjamini-Yekutieli) and `h` (Cohen, first less second; NaN where a side has no label) are
    [cells, conditions, pairs].
    """

    votes: Votes
    labels: Codes
    cells: tuple[tuple[str, str], ...]
    hits: Counts
    n: Counts
    pairs: tuple[tuple[int, int], ...]
    p: Array
    q: Array
    by: Array
    h: Array

    @property
    def shares(self) -> Array:
        """[cells, conditions, models]; NaN where no answer has a label."""
        return shares(self.hits, self.n)

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Which tests have q below `ALPHA`, [cells, conditions, pairs]."""
        found: NDArray[np.bool_] = self.q < ALPHA
        return found


def shares(hits: Counts, n: Counts) -> Array:
    """Hits by answers, NaN without answers."""
    found: Array = np.divide(hits, n, out=np.full(hits.shape, np.nan), where=n > 0)
    return found


def reading(votes: Votes, labels: Codes) -> Reading:
    """Counts the labels and tests the whole family.

    The family is fixed before any answer is seen, by the rubrics and the models: six models and
    three rubrics of five labels make 15 pairs × 15 labels × 2 conditions = 450 tests. A label that
    never occurs has p = 1 and is one of them; so is a pair of which a model has no label at all,
    whose p counts as 1. (Benjamini & Hochberg 1995, J. R. Stat. Soc. B 57:289-300. The labels of
    an answer exclude each other, so that the tests depend on each other negatively, too; whatever
    the dependence, Benjamini & Yekutieli 2001, Ann. Stat. 29:1165-1188, hold the rate.)

    Args:
        votes: whose rubrics, models and items they are.
        labels: [items, conditions, models].
    """
    cells = tuple((name, label) for name in CORE for label in votes.rubrics.get(name, ()))
    models = len(votes.respondents)
    hits = np.zeros((len(cells), len(CONDITIONS), models), dtype=np.int64)
    n = hits.copy()
    for i, (category, label) in enumerate(cells):
        of = labels[votes.of(category)]
        hits[i] = (of == votes.rubrics[category].index(label)).sum(axis=0)
        n[i] = (of >= 0).sum(axis=0)
    pairs = tuple(combinations(range(models), 2))
    a, b = ends(pairs)
    p = fisher_p(hits[..., a], n[..., a], hits[..., b], n[..., b])
    part = shares(hits, n)
    return Reading(
        votes=votes,
        labels=labels,
        cells=cells,
        hits=hits,
        n=n,
        pairs=pairs,
        p=p,
        q=adjusted(p),
        by=adjusted(p, "by"),
        h=cohens_h(part[..., a], part[..., b]),
    )


def adjusted(p: Array, method: Literal["bh", "by"] = "bh") -> Array:
    """The p of a family, each adjusted for all (`bh` or `by`); in the same shape."""
    if not p.size:
        return p
    found: Array = false_discovery_control(p.ravel(), method=method).reshape(p.shape)
    return found


def ends(pairs: tuple[tuple[int, int], ...]) -> tuple[list[int], list[int]]:
    """The first models of all pairs, and the second ones."""
    return [a for a, _ in pairs], [b for _, b in pairs]


def only(labels: Codes, wanted: NDArray[np.bool_]) -> Codes:
    """The labels of some items, all others as if nobody had been asked; [items] wanted."""
    return np.where(wanted[:, None, None], labels, ABSENT).astype(np.int8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discordant:
    """The same family on the items that both models of a pair have a label for.

    All are [cells, conditions, pairs]: items that are a hit for one model alone, p of McNemar's
    exact test, and q within the family.
    """

    first_only: Counts
    second_only: Counts
    p: Array
    q: Array


def discordant(read: Reading) -> Discordant:
    """McNemar beside Fisher: the models answer the same items, so that the shares are paired."""
    shape = read.p.shape
    first_only = np.zeros(shape, dtype=np.int64)
    second_only = first_only.copy()
    a, b = ends(read.pairs)
    for i, (category, label) in enumerate(read.cells):
        of = read.labels[read.votes.of(category)]
        hit = of == read.votes.rubrics[category].index(label)
        both = (of[..., a] >= 0) & (of[..., b] >= 0)
        first_only[i] = (both & hit[..., a] & ~hit[..., b]).sum(axis=0)
        second_only[i] = (both & hit[..., b] & ~hit[..., a]).sum(axis=0)
    p = np.ones(shape)
    exact = cache(mcnemar_p)  # few tables differ
    for at in np.ndindex(shape):
        p[at] = exact(int(first_only[at]), int(second_only[at]))
    return Discordant(first_only=first_only, second_only=second_only, p=p, q=adjusted(p))
