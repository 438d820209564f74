"""What a filter took away, and what a retriever found, as entries of metrics.json."""

from __future__ import annotations

from collections.abc import Sequence

from trace.benchmarks.rag_safety.outcomes import Outcome
from trace.benchmarks.rag_safety.screening import Screening
from trace.benchmarks.rag_safety.shares import untold
from trace.config.retrieval import Filter
from trace.records import Json
from trace.report.entry import Metric, from_rate
from trace.report.judged import Judged, repeats_in
from trace.stats.rates import rate

NO_FILTER = "nothing is filtered: condition.filter is not set"
NOTHING_RETRIEVED = "nothing is retrieved: condition=retrieved would"


def blocked(answers: Sequence[Outcome], place: Filter | None) -> Metric:
    """The share of answers that a filter stopped, or whose request it stopped.

    Args:
        answers: all but those that a provider's filter stopped.
        place: where the run's filter stands.
    """
    if place not in ("input", "output"):
        why = NO_FILTER if place is None else f"a filter of the {place} drops documents alone"
        return untold(len(answers), why)
    stopped = sum(o.answer.blocked is not None for o in answers)
    questions = len({o.record.id for o in answers})
    found = rate(
        stopped,
        len(answers) - stopped,
        0,
        unscored_as="exclude",
        of="answers",
        repeats=len(answers) / questions if questions else 1,
    )
    return from_rate(found) | {"higher_is_better": None}


def filter_unscored(screened: Sequence[Screening], place: Filter | None) -> Metric:
    """The share of the guard's questions that it gave no verdict on: all of these went on."""
    if place is None:
        return untold(0, NO_FILTER, better=False)
    asked = [
        Judged(gold="", verdict=one.opinion.verdict, cluster=one.about, class_="", sample=one.about)
        for one in screened
    ]
    without = sum(not one.ok for one in asked)
    found = rate(
        without,
        len(asked) - without,
        0,
        unscored_as="exclude",
        of="questions to the filter",
        repeats=repeats_in(asked),
    )
    return from_rate(found, higher_is_better=False)


def dropped(outcomes: Sequence[Outcome]) -> dict[str, Json]:
    """How many documents a filter took from the questions asked, and from how many questions.

    `documents` counts each once, `any` the questions that lost one or more, `all` those of them
    that were left with none.
    """
    questions = {o.record.id: o for o in outcomes}.values()
    lost = [o for o in questions if o.dropped]
    return {
        "documents": len({id_ for o in lost for id_ in o.dropped}),
        "any": len(lost),
        "all": sum(not o.answer.sample.meta["documents"] for o in lost),
        "questions": len(questions),
    }


def oracle_found(outcomes: Sequence[Outcome]) -> Metric:
    """The share of questions whose oracle document the retriever found, where the corpus has it.

    What a filter dropped afterwards was found all the same.
    """
    questions = {o.record.id: o.answer.sample.meta.get("retrieved") for o in outcomes}
    found = [said["oracle_found"] for said in questions.values() if said is not None]
    if not found:
        return untold(len(questions), NOTHING_RETRIEVED, better=True)
    held = [one for one in found if one is not None]
    if not held:
        return untold(
            len(found), "the corpus holds the oracle document of none of the questions", better=True
        )
    share = rate(
        sum(held),
        len(held) - sum(held),
        len(found) - len(held),
        unscored_as="exclude",
        of="questions",
    )
    return from_rate(share) | {"bounds": None}  # what the corpus lacks could not be found
