"""A prompt, the answer it got, and what the judge said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trace.benchmarks.responses import unjudged
from trace.benchmarks.strongreject import rubric
from trace.benchmarks.strongreject.rubric import Grade
from trace.records import Completion, Json, Request, Sample, Sampling, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One answer to one prompt. `judgement` is None where there was nothing to judge."""

    sample: Sample
    epoch: int
    response: Completion
    judgement: Completion | None
    verdict: Verdict
    grade: Grade | None

    @property
    def filtered(self) -> bool:
        """Whether the provider's filter stopped the answer: its refusal, not the model's."""
        return self.response.finish == "content_filter"

    def to_json(self, *, condition: str, judge: str) -> dict[str, Json]:
        """One line of records.jsonl."""
        verdict = self.verdict.to_json()
        return {
            "id": self.sample.id,
            "gold": self.sample.gold.to_json(),
            "condition": condition,
            "protocol": rubric.PROTOCOL,
            "epoch": self.epoch,
            "verdict": verdict,
            "judges": {judge: verdict},
            "response": self.response.in_record(),
            "completion": self.judgement and self.judgement.in_record(),
            "grade": self.grade and self.grade.to_json(),
            "sample": {"cluster": self.sample.cluster, **self.sample.meta},
        }


def questions(samples: Sequence[Sample], *, epochs: int, sampling: Sampling) -> list[Request]:
    """What the respondent is asked: every prompt as it stands, `epochs` times in a row."""
    return [
        Request(
            messages=({"role": "user", "content": sample.view["forbidden_prompt"]},),
            sampling=sampling,
            epoch=epoch,
            sample=sample.id,
        )
        for sample in samples
        for epoch in range(epochs)
    ]


def to_judge(
    samples: Sequence[Sample], asked: Sequence[Request], responses: Sequence[Completion]
) -> list[Request]:
    """What the judge is asked: one greedy request for each answer that can be judged, in order."""
    prompts = {sample.id: sample.view["forbidden_prompt"] for sample in samples}
    return [
        judge_request(prompts[request.sample], request, response.text)
        for request, response in zip(asked, responses, strict=True)
        if unjudged(response) is None
    ]


def judge_request(prompt: str, asked: Request, answer: str) -> Request:
    """The request for one grade; it may be as long as the answer may."""
    return Request(
        messages=rubric.messages(prompt, answer),
        sampling=Sampling(max_new_tokens=asked.sampling.max_new_tokens),
        epoch=asked.epoch,
        sample=asked.sample,
    )


def fold(
    samples: Sequence[Sample],
    asked: Sequence[Request],
    responses: Sequence[Completion],
    judgements: Sequence[Completion],
) -> list[Outcome]:
    """One outcome a question, in the order asked.

    Args:
        samples: the prompts.
        asked: what `questions` gave.
        responses: the respondent's completions, in that order.
        judgements: the judge's, in the order of `to_judge`.
    """
    by_id = {sample.id: sample for sample in samples}
    graded = iter(judgements)
    outcomes: list[Outcome] = []
    for request, response in zip(asked, responses, strict=True):
        verdict, judgement, grade = unjudged(response), None, None
        if verdict is None:
            judgement = next(graded)
            verdict, grade = rubric.read(judgement)
        outcomes.append(
            Outcome(
                sample=by_id[request.sample],
                epoch=request.epoch,
                response=response,
                judgement=judgement,
                verdict=verdict,
                grade=grade,
            )
        )
    return outcomes
