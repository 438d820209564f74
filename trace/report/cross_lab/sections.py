"""Every analysis of the cross-laboratory study, in the order of its report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trace.report.compare.judged import How
from trace.report.compare.section import Section
from trace.report.cross_lab import (
    agreement,
    budgets,
    context_field,
    gaps,
    held_out,
    jury,
    pairs,
    rates,
    robustness,
    self_preference,
    shifts,
    tiers,
    traced,
    underspecified,
)
from trace.report.cross_lab.checks import Rereadings
from trace.report.cross_lab.claims import Claim, checked, found_claims
from trace.report.cross_lab.family import reading
from trace.report.cross_lab.registered import Announced, oriented
from trace.report.cross_lab.registered import section as registered_section
from trace.report.cross_lab.traced import Traces
from trace.report.cross_lab.votes import MIN_VALID, gathered, majority
from trace.report.cross_lab.words import FIELD_FREE, REPEAT, Rubrics
from trace.report.judgements import Judgement


def sections(
    judgements: Iterable[Judgement],
    rubrics: Rubrics,
    how: How,
    *,
    min_valid: int = MIN_VALID,
    registered: Sequence[Claim] = (),
    announced: Announced | None = None,
    traces: Traces | None = None,
) -> list[Section]:
    """The main table first.

    Answers of a respondent have no gold label, so what is unscored is left out of shares whatever
    `how` says, and shown beside them.

    Args:
        judgements: as `read_judgements` gives them with `vocabulary(rubrics)`.
        rubrics: category -> its labels.
        how: resamples and seed.
        min_valid: how many of a model's peers must have given a label.
        registered: claims written down before there were answers; they stand before those that the
            data suggest.
        announced: the claim of a file, which has a section of its own; without doubts about when it
            was written down, it stands among the registered ones.
        traces: what became of values in reasoning that was shown, where somebody read it.

    Raises:
        DataError: nothing was judged in the main arm; no model has an item under both conditions;
            or a claim that was written down names what is not there.
    """
    votes = gathered(judgements, rubrics)
    written_down = checked(registered, votes)
    checked([] if announced is None else [announced.claim], votes)
    said = majority(votes, min_valid=min_valid)
    read = reading(votes, said.labels)
    held = held_out.held_out(read)
    without = jury.readings(votes, min_valid)
    agreed = agreement.agreement(votes, how)
    field = context_field.context_field(votes, min_valid)
    arms = {
        arm: reading(votes, majority(votes, arm, min_valid=min_valid).labels)
        for arm in (REPEAT, FIELD_FREE)
        if votes.has(arm)
    }
    if announced is not None and not announced.doubts:
        written_down.append(oriented(announced, read))
    claims = [*written_down, *found_claims(read)]
    budget = budgets.readings(read, min_valid)
    again = Rereadings(main=read, held_out=held, without=without, arms=arms, budgets=budget)
    return [
        rates.section(votes, said, min_valid),
        *([] if announced is None else [registered_section(announced, read)]),
        pairs.section(read),
        tiers.section(read),
        shifts.section(read),
        underspecified.section(votes, said, min_valid),
        gaps.gap_section(read),
        gaps.split_section(read),
        traced.section(votes, said, traces),
        agreement.section(agreed),
        self_preference.section(votes, min_valid, how),
        jury.section(read, without, claims),
        held_out.section(read, held, agreed),
        context_field.section(field),
        budgets.section(read, budget, min_valid),
        robustness.section(claims, again, agreed, field, how),
    ]
