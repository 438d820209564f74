"""The published way to every figure: tests, effects and intervals of counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.report.cross_lab.planted import FULL, Plan, votes
from trace.report.cross_lab.context_field import context_field
from trace.report.cross_lab.family import adjusted
from trace.report.cross_lab.gaps import decomposed
from trace.report.cross_lab.votes import MIN_VALID, majority
from trace.report.cross_lab.words import REPEAT
from trace.report.rag_safety.answers import ABSENT
from trace.stats.rates import rate
from trace.stats.unpaired import cohens_h, fisher_p


def fisher(a: int, b: int, n1: int = 100, n2: int = 100) -> float:
    return float(fisher_p(a, n1, b, n2))


def h(p1: float, p2: float) -> float:
    return abs(float(cohens_h(p1, p2)))


def wilson(k: int, n: int) -> list[float | None]:
    found = rate(k, n - k, 0, unscored_as="exclude")
    return [found.low, found.high]


def ranked(p: float, rank: int) -> float:
    """The adjusted value of a p at a rank of 450, behind smaller and before larger ones."""
    q = adjusted(np.array([p * 1e-9] * (rank - 1) + [p] + [1.0] * (450 - rank)))
    return float(q[rank - 1])


def tied(p: float, times: int) -> float:
    return float(adjusted(np.array([p] * times + [1.0] * (450 - times)))[0])


def gap_part(full: int, asked: int) -> float:
    counts = {FULL: full, "asks": asked, "else": 100 - full - asked}
    part: float = decomposed(counts)["parts"]["asks"]
    return part


def judged_again(counts: dict[str, tuple[int, int, int, int]]) -> dict[str, Any]:
    """The arms, so that of each category so many labels come out in both, in one, in neither."""
    of = votes(Plan(drawn=6))
    labels = majority(of, REPEAT).labels
    for category, (_, with_only, without_only, neither) in counts.items():
        at = np.argwhere((labels != ABSENT) & of.of(category)[:, None, None])
        lost = {1: [*range(without_only + neither)], 2: [*range(without_only)]}
        lost[2] = [*range(without_only, without_only + neither + with_only)]
        for arm, places in lost.items():
            for i, c, m in at[places]:
                said = of.votes[arm, i, c, m]
                of.votes[arm, i, c, m] = (said + 1) % 5
    return context_field(of, MIN_VALID)
