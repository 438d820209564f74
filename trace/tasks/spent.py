"""What a run of RAG-Safety-Bench took, for its manifest."""

from __future__ import annotations

from collections.abc import Sequence

from trace.benchmarks.rag_safety.outcomes import Outcome
from trace.records import Json
from trace.tasks.answering import Answering
from trace.tasks.bench import Sitting
from trace.tasks.opinions import ACTIONABILITY, READERS


def spent(
    answering: Answering, outcomes: Sequence[Outcome], used: Json, sitting: Sitting | None
) -> dict[str, Json]:
    """Seconds that the models took, as the log has them, and what paid services counted.

    Args:
        answering: after all were asked.
        outcomes: one an answer.
        used: what the respondent's service counted.
        sitting: what the panel said; None where it was not asked.
    """
    respondent, filtering = answering.settings.model.name, answering.filtering
    seconds = {respondent: sum(outcome.answer.response.seconds for outcome in outcomes)}
    counted = {respondent: used} if used else {}
    for role in READERS:
        opinions = [getattr(outcome, role) for outcome in outcomes]
        if asked := [one for one in opinions if one and one.completions]:
            seconds[role] = sum(one.seconds for one in asked)
    if answering.opinions.used:
        counted[ACTIONABILITY] = dict(answering.opinions.used)
    if filtering is not None:
        seconds["filter"] = sum(one.opinion.seconds for one in filtering.said)
        if filtering.used:
            counted["filter"] = dict(filtering.used)
    if sitting is not None:
        for name, heard in sitting.heard.items():
            seconds[f"judges.{name}"] = sum(c.seconds for group in heard.answers for c in group)
        counted |= {f"judges.{name}": said for name, said in sitting.used.items()}
    found: dict[str, Json] = {"seconds": {k: round(v, 1) for k, v in seconds.items()}}
    return found | ({"usage": counted} if counted else {})
