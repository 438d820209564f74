"""Outcomes with planted verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trace.benchmarks.rag_safety.opinion import Opinion
from trace.benchmarks.rag_safety.outcomes import Answer, Outcome
from trace.benchmarks.rag_safety.scores import measure
from trace.benchmarks.rag_safety.screening import Screening
from trace.config.retrieval import Filter
from trace.records import Completion, Finish, Gold, Record, Sample, Verdict

TITLES = {"a": "a", "b": "b"}


def ok(label: str) -> Verdict:
    return Verdict(status="ok", label=label)


def screening(
    place: Filter, verdict: str | None, *, about: str = "1", document: str | None = None
) -> Screening:
    """A guard's Unsafe, Safe, or nothing that can be read."""
    said = Verdict(status="unparsable") if verdict is None else ok(verdict)
    return Screening(
        place=place,
        about=about,
        document=document,
        opinion=Opinion(judge="g", verdict=said),
        flagged=verdict == "Unsafe",
    )


def outcome(
    id_: str,
    text: str,
    harm: str = "Safe",
    *,
    votes: Mapping[str, str] | None = None,
    finish: Finish = "stop",
    accurate: str | None = None,
    refusal: str | None = None,
    action: str | None = None,
    epoch: int = 0,
    excluded: Sequence[str] = (),
    subcategory: str = "drugs",
    screened: Sequence[Screening] = (),
    documents: int = 1,
    retrieved: Any = None,
) -> Outcome:
    meta = {"subcategory": subcategory, "family": "f", "keys": [], "expected": "",
            "documents": documents, "retrieved": retrieved}  # fmt: skip
    sample = Sample(id=id_, gold=Gold(label=None), view={"prompt": "?"}, cluster=id_, meta=meta)
    answer = Answer(
        sample=sample,
        epoch=epoch,
        response=Completion(key="k", text=text, finish=finish),
        screened=tuple(screened),
    )
    why = answer.unjudged
    judged = votes or {"a": harm, "b": harm}

    def opinion(label: str | None) -> Opinion | None:
        return label and Opinion(judge="j", verdict=why or ok(label))  # type: ignore[return-value]

    record = Record(
        id=id_,
        gold=sample.gold,
        condition="oracle",
        protocol="binary",
        verdict=why or ok(harm),
        judges={name: ok(label) for name, label in judged.items()} if answer.delivered else {},
        answers={},
        cluster=id_,
        epoch=epoch,
        excluded=frozenset(excluded),
        meta=meta,
    )
    return Outcome(
        answer=answer,
        record=record,
        accuracy=opinion(accurate),
        refusal=opinion(refusal),
        actionability=opinion(action),
    )


def measured(
    outcomes: Sequence[Outcome], unsafe: Mapping[str, bool] | None = None, **fields: Any
) -> Any:
    return measure(outcomes, TITLES, negative="Safe", unsafe=unsafe, draws=100, seed=0, **fields)
