"""What the study says: some models do something more often than others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from trace.errors import DataError
from trace.report.cross_lab.family import Array, Reading
from trace.report.cross_lab.tiers import tiers_of
from trace.report.cross_lab.votes import Votes
from trace.report.cross_lab.words import CONDITIONS, HELD_OUT, SPLIT, SPLITS, plain
from trace.stats.unpaired import fisher_p

LARGEST = 5
"""So many of the largest effects are claims, where no tier says the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Answers of the `first` models have one of the labels more (or less) often than the `second`.

    A claim found in the data holds if every model of the one group differs so from every one of
    the other, each test being one of the whole family. A `registered` one was written down before
    there were answers: both groups are pooled, and it is one test. `split` limits the items.
    """

    category: str
    condition: str
    labels: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    direction: Literal["more", "less"] = "more"
    split: str | None = None
    registered: bool = False

    @property
    def parts(self) -> tuple[str, str, str]:
        """Where, which labels, and who: what stands in tables."""
        where = [plain(self.category), self.condition, *filter(None, [self.split])]
        first, second = (", ".join(side) for side in (self.first, self.second))
        return (
            plain(", ".join(where)),
            " or ".join(map(plain, self.labels)),
            f"{first} {self.direction} than {second}",
        )

    def __str__(self) -> str:
        return ": ".join(self.parts)


def found_claims(read: Reading) -> list[Claim]:
    """The headline claims of the data: neighbouring tiers, and the largest effects.

    Of each label and condition every two neighbouring tiers make a claim. Of the `LARGEST` effects
    of the whole family, |h|, those significant are claims, too, unless their two models stand on
    the two sides of such a claim.
    """
    names = read.votes.respondents
    claims: list[Claim] = []
    for cell, (category, label) in enumerate(read.cells):
        for c, condition in enumerate(CONDITIONS):
            split = tiers_of(read, cell, c)
            for upper, lower in pairwise(split):
                first, second = (tuple(names[m] for m in tier) for tier in (upper, lower))
                claims.append(
                    Claim(
                        category=category,
                        condition=condition,
                        labels=(label,),
                        first=first,
                        second=second,
                    )
                )
    size = np.where(np.isnan(read.h), -1.0, np.abs(read.h))
    for place in np.argsort(-size, axis=None, kind="stable")[:LARGEST]:
        cell, c, pair = np.unravel_index(place, size.shape)
        if not read.significant[cell, c, pair]:
            continue
        a, b = (names[m] for m in read.pairs[pair])
        more, less = (a, b) if read.h[cell, c, pair] > 0 else (b, a)
        category, label = read.cells[cell]
        where = (category, CONDITIONS[c], (label,))
        covered = any(
            (one.category, one.condition, one.labels) == where
            and more in one.first
            and less in one.second
            for one in claims
        )
        if not covered:
            claims.append(
                Claim(
                    category=category,
                    condition=CONDITIONS[c],
                    labels=(label,),
                    first=(more,),
                    second=(less,),
                )
            )
    return claims


def checked(claims: Iterable[Claim], votes: Votes) -> list[Claim]:
    """The claims, if these votes can decide them.

    Raises:
        DataError: a claim names a category, label, condition, split or model that is not there.
    """
    kept = list(claims)
    for claim in kept:
        named = [
            ("category", [claim.category], votes.rubrics),
            ("label", claim.labels, votes.rubrics.get(claim.category, ())),
            ("condition", [claim.condition], CONDITIONS),
            ("split", [claim.split or HELD_OUT], SPLITS),
            ("model", [*claim.first, *claim.second], votes.respondents),
        ]
        for what, names, choices in named:
            for name in names:
                if name not in choices:
                    raise DataError(
                        f"claim ({claim}): there is no {what} {name!r}. Choose one of "
                        f"{', '.join(choices)}."
                    )
        if not claim.labels or not claim.first or not claim.second:
            raise DataError(f"claim ({claim}): name a label, and models on both sides.")
        if both := set(claim.first) & set(claim.second):
            raise DataError(
                f"claim ({claim}): {', '.join(sorted(both))} stands on both sides. Keep it on one."
            )
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """Both groups of a claim counted together: `k` of `n` answers have one of its labels."""

    k: tuple[int, int]
    n: tuple[int, int]

    @property
    def p(self) -> float | None:
        """Two-sided, of Fisher's exact test; None where a side has no answer with a label."""
        if not all(self.n):
            return None
        return float(fisher_p(self.k[0], self.n[0], self.k[1], self.n[1]))

    def towards(self, claim: Claim) -> bool:
        """Whether the shares differ in the claim's direction."""
        ahead = self.k[0] * self.n[1] - self.k[1] * self.n[0]
        return ahead > 0 if claim.direction == "more" else ahead < 0

    def __str__(self) -> str:
        return f"{self.k[0]}/{self.n[0]} against {self.k[1]}/{self.n[1]}"


def hits(claim: Claim, read: Reading) -> tuple[Array, Array]:
    """Whether each answer has one of the claim's labels, and whether it has any.

    Returns:
        Two of [items of the claim, models], 0 or 1.
    """
    votes = read.votes
    wanted = votes.of(claim.category)
    if claim.split is not None:
        wanted = wanted & votes.where(SPLIT, claim.split)
    of = read.labels[wanted, CONDITIONS.index(claim.condition)]
    codes = [votes.rubrics[claim.category].index(label) for label in claim.labels]
    return np.isin(of, codes).astype(np.float64), (of >= 0).astype(np.float64)


def pooled(claim: Claim, read: Reading) -> Pooled:
    """The counts of both groups."""
    hit, scored = hits(claim, read)
    sides = [places(names, read) for names in (claim.first, claim.second)]
    k, n = ([int(of[:, side].sum()) for side in sides] for of in (hit, scored))
    return Pooled(k=(k[0], k[1]), n=(n[0], n[1]))


def weakest(claim: Claim, read: Reading, q: Array) -> tuple[bool, float]:
    """Whether every pair of a found claim is in the order it says, and the largest q among them.

    Args:
        claim: with one label.
        read: the labels, counted.
        q: adjusted p of the family, [cells, conditions, pairs].
    """
    cell = read.cells.index((claim.category, claim.labels[0]))
    c = CONDITIONS.index(claim.condition)
    worst, right = 0.0, True
    for a in places(claim.first, read):
        for b in places(claim.second, read):
            pair = read.pairs.index((min(a, b), max(a, b)))
            h = read.h[cell, c, pair] * (1 if a < b else -1)
            right = right and bool(h > 0 if claim.direction == "more" else h < 0)
            worst = max(worst, float(q[cell, c, pair]))
    return right, worst


def places(names: Iterable[str], read: Reading) -> list[int]:
    """Where models stand among the respondents."""
    return [read.votes.respondents.index(name) for name in names]
