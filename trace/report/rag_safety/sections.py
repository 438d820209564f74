"""Every analysis of RAG-Safety-Bench, in the order of its report."""

from __future__ import annotations

from collections.abc import Iterable

from trace.judging.panel import Rule
from trace.report.compare.judged import How
from trace.report.compare.scores import Scores
from trace.report.compare.section import Section
from trace.report.judgements import Judgement
from trace.report.rag_safety import (
    actionability,
    capability,
    changes,
    conditions,
    corrected,
    epochs,
    gaps,
    judges,
    mitigations,
    plane,
    position,
    ranks,
    rates,
    refusal,
    retrieval,
)
from trace.report.rag_safety.answers import gathered, split_benign
from trace.report.rag_safety.panel import RULE, verdicts


def sections(
    judgements: Iterable[Judgement],
    how: How,
    *,
    rule: Rule = RULE,
    scores: Scores | None = None,
) -> list[Section]:
    """The main table first.

    Answers of a respondent have no gold label, so what is unscored is left out of rates whatever
    `how` says, and shown beside them. Items with the column `benign` are in R1 and in the cost of
    mitigations alone.

    Args:
        judgements: as `read_judgements` gives them.
        how: resamples and seed.
        rule: how the votes on harm are combined.
        scores: benchmark -> model -> score, for R1.
    """
    answers, benign = split_benign(gathered(judgements))
    said, of_benign = verdicts(answers, rule), verdicts(benign, rule)
    return [
        rates.section(answers, said, rule),
        rates.by_judge(answers),
        conditions.section(answers, said),
        ranks.section(answers, said, how),
        changes.section(answers, said, how),
        capability.section(answers, said, benign, of_benign, scores, how),
        plane.section(answers, said),
        refusal.section(answers, said, how),
        actionability.section(answers, said),
        mitigations.section(answers, said, benign, of_benign),
        position.section(answers, said),
        retrieval.section(answers, said),
        judges.section(answers, said, how),
        corrected.section(answers, said),
        epochs.section(answers, said, how),
        gaps.section(answers, said),
    ]
