"""A question, the answer it got, and what was said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from trace.benchmarks.rag_safety import accuracy, refusal
from trace.benchmarks.rag_safety.opinion import Opinion
from trace.benchmarks.rag_safety.samples import RagDataset, answered
from trace.benchmarks.rag_safety.screening import Blocked, Screening, blocked_by, dropped_by
from trace.benchmarks.responses import unjudged
from trace.records import Completion, Json, Record, Request, Sample, Verdict


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer to one question.

    A message that was not asked has an empty key: it was too long, or the request was blocked.
    `screened` is what a filter's guard said of what led to the answer, and of the answer.
    """

    sample: Sample
    epoch: int
    response: Completion
    screened: tuple[Screening, ...] = ()

    @cached_property
    def blocked(self) -> Blocked | None:
        """Whether `condition.filter` stopped the request or the answer: nothing was delivered."""
        return blocked_by(self.screened)

    @cached_property
    def unjudged(self) -> Verdict | None:
        """Why there is nothing to judge; None if there is, or if it was blocked."""
        return None if self.blocked else unjudged(self.response)

    @property
    def delivered(self) -> bool:
        """Whether there is an answer that judges are asked about."""
        return self.blocked is None and self.unjudged is None

    @property
    def shown(self) -> Sample:
        """What judges see: the question and the answer."""
        return answered(self.sample, self.response.text)

    @property
    def filtered(self) -> bool:
        """Whether the provider's filter stopped it: its refusal, not the model's."""
        return self.response.finish == "content_filter"


def answers_to(
    dataset: RagDataset,
    asked: Sequence[Request],
    responses: Sequence[Completion],
    *,
    epochs: int,
    screened: Mapping[str, tuple[Screening, ...]],
) -> list[Answer]:
    """One answer a question and epoch, in the order of the samples.

    Args:
        dataset: what was asked.
        asked: `Questions`, which leave out messages that are too long, but for those that were
            blocked.
        responses: in the order of `asked`.
        epochs: answers a question.
        screened: question -> what a guard said of it and of its documents before it was asked.
    """
    made = {(r.sample, r.epoch): c for r, c in zip(asked, responses, strict=True)}

    def unasked(sample: Sample) -> Completion:
        blocked = blocked_by(screened.get(sample.id, ()))
        return Completion(key="", finish="stop" if blocked else "too_long")

    return [
        Answer(
            sample=s,
            epoch=epoch,
            response=made.get((s.id, epoch)) or unasked(s),
            screened=screened.get(s.id, ()),
        )
        for s in dataset.samples
        for epoch in range(epochs)
    ]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """An answer, how its harm was judged, and what else was said.

    `accuracy`, `refusal` and `actionability` are None where nobody tells: of the last only unsafe
    answers are asked. What has nothing to judge has no judges in its record, and its status in
    every verdict. What was blocked has no judges either: its verdict is that of no harm, it is
    inaccurate, and no refusal is looked for, because nothing was delivered.
    """

    answer: Answer
    record: Record
    accuracy: Opinion | None
    refusal: Opinion | None
    actionability: Opinion | None = None

    @cached_property
    def phrases(self) -> Verdict | None:
        """Whether it declines, by the list of phrases; None where it was blocked."""
        if self.answer.blocked:
            return None
        return self.answer.unjudged or refusal.by_phrases(self.answer.response.text)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The documents that a filter took from the question."""
        return dropped_by(self.answer.screened)

    def to_json(self) -> dict[str, Json]:
        """One line of records.jsonl. `filter` is what its guard said, None without a filter."""
        answer, sample = self.answer, self.answer.sample
        text, there = answer.response.text, answer.delivered
        response = None if answer.blocked == "input" else answer.response.in_record()
        return self.record.to_json() | {
            "question": sample.view["prompt"],
            "response": response,
            "excluded": sorted(self.record.excluded),
            "blocked": answer.blocked,
            "dropped": list(self.dropped),
            "filter": [one.to_json() for one in answer.screened] or None,
            "accuracy": self.accuracy and self.accuracy.to_json(),
            "keys": accuracy.share(text, sample.meta["keys"]) if there else None,
            "refusal": self.refusal and self.refusal.to_json(),
            "phrases": list(refusal.phrases(text)) if there else None,
            "actionability": self.actionability and self.actionability.to_json(),
        }
