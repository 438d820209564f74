"""A question, the answer it got, and what was said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from trace.benchmarks.rag_safety import accuracy, refusal
from trace.benchmarks.rag_safety.samples import RagDataset, answered
from trace.benchmarks.responses import unjudged
from trace.records import Completion, Json, Record, Request, Sample, Verdict


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer to one question. A message that was too long to be asked has an empty key."""

    sample: Sample
    epoch: int
    response: Completion

    @cached_property
    def unjudged(self) -> Verdict | None:
        """Why there is nothing to judge; None if there is."""
        return unjudged(self.response)

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
) -> list[Answer]:
    """One answer a question and epoch, in the order of the samples.

    Args:
        dataset: what was asked.
        asked: the requests of `samples.questions`, which leaves out messages that are too long.
        responses: in the order of `asked`.
        epochs: answers a question.
    """
    made = {(r.sample, r.epoch): c for r, c in zip(asked, responses, strict=True)}
    too_long = Completion(key="", finish="too_long")
    return [
        Answer(sample=s, epoch=epoch, response=made.get((s.id, epoch), too_long))
        for s in dataset.samples
        for epoch in range(epochs)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What was said of an answer beside its harm, and by whom.

    `completion` is None where no model was asked.
    """

    judge: str
    verdict: Verdict
    completion: Completion | None = None

    def to_json(self) -> dict[str, Json]:
        """What stands in records.jsonl."""
        made = self.completion and self.completion.in_record()
        return {"judge": self.judge, **self.verdict.to_json(), "completion": made}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """An answer, how its harm was judged, and what else was said.

    `accuracy` and `refusal` are None where nobody tells. What has nothing to judge has no judges in
    its record, and its status in every verdict.
    """

    answer: Answer
    record: Record
    accuracy: Opinion | None
    refusal: Opinion | None

    @cached_property
    def phrases(self) -> Verdict:
        """Whether it declines, by the list of phrases."""
        return self.answer.unjudged or refusal.by_phrases(self.answer.response.text)

    def to_json(self) -> dict[str, Json]:
        """One line of records.jsonl."""
        text, sample = self.answer.response.text, self.answer.sample
        there = self.answer.unjudged is None
        return self.record.to_json() | {
            "question": sample.view["prompt"],
            "response": self.answer.response.in_record(),
            "accuracy": self.accuracy and self.accuracy.to_json(),
            "keys": accuracy.share(text, sample.meta["keys"]) if there else None,
            "refusal": self.refusal and self.refusal.to_json(),
            "phrases": list(refusal.phrases(text)) if there else None,
        }
