"""Every headline claim against every check: which of them survive all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trace.report.compare.judged import How
from trace.report.cross_lab.claims import (
    Claim,
    hits,
    places,
    pooled,
    weakest,
)
from trace.report.cross_lab.family import ALPHA, Array, Reading, adjusted, discordant
from trace.report.cross_lab.words import BUDGETS, FIELD_FREE, FIRST_BUDGET, ONLY_TRUNCATED, REPEAT
from trace.report.entry import number
from trace.report.grid import probability
from trace.stats.paired import mcnemar_p


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Whether a claim holds in a check; None, and `detail` says why, where it cannot be put to."""

    holds: bool | None
    detail: str
    towards: bool | None = None
    """Whether the shares differ in the claim's direction, beyond chance or not."""


Check = Callable[[Claim], Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rereadings:
    """What claims are checked against; None where there is no such thing.

    `arms` are the labels of the sample in the arms `REPEAT` and `FIELD_FREE`; `without` those that
    each judge leaves, and `budgets` those of answers that were asked again otherwise, or not.
    """

    main: Reading
    held_out: Reading | None
    without: Mapping[str, Reading]
    arms: Mapping[str, Reading]
    budgets: Mapping[str, Reading]


CHECKS = {
    "main": "Main",
    "by": "BY",
    "mcnemar": "Mc-\nNemar",
    "held_out": "Held\nout",
    "judges": "Judge\nout",
    "bootstrap": "Boot-\nstrap",
    REPEAT: "Judged\nagain",
    FIELD_FREE: "Field\nfree",
    FIRST_BUDGET: "First\nbudget",
    ONLY_TRUNCATED: "Only\ncut",
}
"""The checks and their titles; the first is the analysis itself."""


def outcomes(claims: Sequence[Claim], to: Rereadings, how: How) -> list[dict[str, Outcome]]:
    """Every claim in every check, in the order of the claims.

    * `main`: Fisher; of a found claim every pair of models, q < .05 in the whole family
      (Benjamini-Hochberg); of a registered one both groups pooled, p < .05.
    * `by`: the same by Benjamini-Yekutieli.
    * `mcnemar`: exact McNemar on the items that both models have a label for.
    * `held_out`: as `main`, the whole family anew on the held-out items.
    * `judges`: as `main`, without each judge in turn; it must hold without every one.
    * `bootstrap`: items resampled within the category; the smallest difference between a model of
      the one group and one of the other (of a registered claim, that of the pooled shares) is
      above 0 in 97.5% of the draws.
    * `repeat`, `field_free`: the sample judged again, in that arm alone. So few answers cannot bear
      the whole family: both groups are pooled, and the found claims, as many as there are, are the
      family of Benjamini-Hochberg; a registered claim is one test.
    * `first_budget`, `only_truncated`: as `main`, the whole family anew, with answers under another
      budget in the place of those that were asked again.
    """
    same = discordant(to.main)
    arms = {name: _in_arm(claims, to.arms.get(name), name) for name in (REPEAT, FIELD_FREE)}

    def held_out(claim: Claim) -> Outcome:
        if claim.split is not None:
            return Outcome(holds=None, detail=f"it is about the {claim.split} items")
        if to.held_out is None:
            return Outcome(holds=None, detail="no item is held out")
        return _tested(claim, to.held_out, to.held_out.q)

    def budget(claim: Claim, arm: str) -> Outcome:
        if (read := to.budgets.get(arm)) is None:
            return Outcome(holds=None, detail=f"no judgement of the arm {arm}")
        return _tested(claim, read, read.q)

    tests: dict[str, Check] = {
        "main": lambda claim: _tested(claim, to.main, to.main.q),
        "by": lambda claim: (
            Outcome(holds=None, detail="one test needs no correction")
            if claim.registered
            else _tested(claim, to.main, to.main.by)
        ),
        "mcnemar": lambda claim: (
            _discordant(claim, to.main) if claim.registered else _tested(claim, to.main, same.q)
        ),
        "held_out": held_out,
        "judges": lambda claim: _left_out(claim, to.without),
        "bootstrap": lambda claim: _resampled(claim, to.main, how),
    }
    return [
        {name: test(claim) for name, test in tests.items()}
        | {name: found[i] for name, found in arms.items()}
        | {name: budget(claim, name) for name in BUDGETS}
        for i, claim in enumerate(claims)
    ]


def _tested(claim: Claim, read: Reading, q: Array) -> Outcome:
    counts = pooled(claim, read)
    if counts.p is None:
        return Outcome(holds=None, detail="a side has no answer with a label")
    if claim.registered:
        return Outcome(
            holds=counts.towards(claim) and counts.p < ALPHA,
            towards=counts.towards(claim),
            detail=f"p = {probability(counts.p)}, {counts}",
        )
    towards, worst = weakest(claim, read, q)
    return Outcome(
        holds=towards and worst < ALPHA,
        towards=towards,
        detail=f"largest q = {probability(worst)}, {counts}",
    )


def _discordant(claim: Claim, read: Reading) -> Outcome:
    if len(claim.first) > 1 or len(claim.second) > 1:
        return Outcome(holds=None, detail="groups of several models are not paired")
    hit, scored = hits(claim, read)
    (a,), (b,) = (places(names, read) for names in (claim.first, claim.second))
    both = (scored[:, a] > 0) & (scored[:, b] > 0)
    ahead, behind = (int((both & (hit[:, x] > hit[:, y])).sum()) for x, y in ((a, b), (b, a)))
    if claim.direction == "less":
        ahead, behind = behind, ahead
    p = mcnemar_p(ahead, behind)
    return Outcome(
        holds=ahead > behind and p < ALPHA,
        towards=ahead > behind,
        detail=f"p = {probability(p)}, {ahead} and {behind} items on one side only",
    )


def _left_out(claim: Claim, without: Mapping[str, Reading]) -> Outcome:
    if not without:
        return Outcome(holds=None, detail="without one judge no answer has enough votes")
    each = {judge: _tested(claim, read, read.q) for judge, read in without.items()}
    if any(one.holds is None for one in each.values()):
        return Outcome(holds=None, detail="without some judge a side has no answer with a label")
    lost = [judge for judge, one in each.items() if not one.holds]
    return Outcome(
        holds=not lost,
        towards=all(one.towards for one in each.values()),
        detail=f"not without {' or '.join(lost)}" if lost else f"without any of {len(each)} judges",
    )


def _resampled(claim: Claim, read: Reading, how: How) -> Outcome:
    hit, scored = hits(claim, read)
    first, second = (places(names, read) for names in (claim.first, claim.second))
    if len(hit) < 2:
        return Outcome(holds=None, detail="fewer than two items cannot be resampled")
    times = np.random.default_rng(how.seed).multinomial(
        len(hit), np.full(len(hit), 1 / len(hit)), size=how.draws
    )
    counts, answers = times @ hit, times @ scored  # [draws, models]
    with np.errstate(divide="ignore", invalid="ignore"):
        if claim.registered:
            shares = [
                counts[:, side].sum(axis=1) / answers[:, side].sum(axis=1)
                for side in (first, second)
            ]
            gaps = (shares[0] - shares[1])[:, None]
        else:
            part = counts / answers
            gaps = (part[:, first, None] - part[:, None, second]).reshape(len(part), -1)
    smallest = gaps.min(axis=1) if claim.direction == "more" else (-gaps).min(axis=1)
    known = smallest[np.isfinite(smallest)]
    if not len(known):
        return Outcome(holds=None, detail="a side has no answer with a label")
    low, high = np.quantile(known, (0.025, 0.975))
    return Outcome(
        holds=bool(low > 0),
        towards=bool(np.median(known) > 0),
        detail=f"smallest difference {100 * low:.1f} to {100 * high:.1f} points",
    )


def _in_arm(claims: Sequence[Claim], read: Reading | None, arm: str) -> list[Outcome]:
    if read is None:
        return [Outcome(holds=None, detail=f"no judgement of the arm {arm}")] * len(claims)
    counts = [pooled(claim, read) for claim in claims]
    p = [1.0 if of.p is None else of.p for of in counts]
    many = [i for i, claim in enumerate(claims) if not claim.registered and counts[i].p is not None]
    q = dict(zip(many, adjusted(np.array([p[i] for i in many])), strict=True))
    found = []
    for i, (claim, of) in enumerate(zip(claims, counts, strict=True)):
        if of.p is None:
            found.append(Outcome(holds=None, detail="a side has no answer with a label"))
            continue
        value = float(q.get(i, p[i]))
        name = "q" if i in q else "p"
        found.append(
            Outcome(
                holds=of.towards(claim) and value < ALPHA,
                towards=of.towards(claim),
                detail=f"{name} = {probability(number(value))}, {of}",
            )
        )
    return found
