"""A respondent before its prompts, and a judge before its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trace import config
from trace.benchmarks.responses import unjudged
from trace.benchmarks.strongreject import outcomes as study
from trace.benchmarks.strongreject import rubric
from trace.benchmarks.strongreject.outcomes import Outcome
from trace.benchmarks.strongreject.prompts import PromptSet
from trace.models.open import open_model
from trace.records import Completion, Json, Request, Sampling
from trace.report.plan import Work
from trace.tasks.answers import addressed, answers
from trace.tasks.planning import work


@dataclass(frozen=True)
class Inquiry:
    """What both are asked, and what came of it."""

    settings: config.Root
    benchmark: config.StrongReject
    prompts: PromptSet

    @property
    def questions(self) -> list[Request]:
        """What the respondent is asked."""
        return study.questions(
            self.prompts.samples,
            epochs=self.settings.epochs,
            sampling=Sampling(**config.plain(self.settings.sampling)),
        )

    def prepare(self) -> dict[str, Json]:
        """What identifies both models and the rubric. No weights are loaded.

        Raises:
            TraceError: one of the models cannot be asked at all.
        """
        first = self.questions[0]
        graded = self._to_grade(first)
        identity: dict[str, Json] = {}
        for name, of, request in (
            ("model", self.settings.model, first),
            ("judge", self.benchmark.judge, graded),
        ):
            model = open_model(of)
            model.prepare(addressed([request], of)[0])
            identity[name] = dict(model.identity)
        return identity | {"prompt": rubric.PROMPT_HASH}

    def work(self) -> tuple[Work, Work]:
        """What it takes, at most: the judge reads every answer as long as it may be."""
        asked = self.questions
        responding = work(self.settings.model, asked)
        judging = work(self.benchmark.judge, [self._to_grade(request) for request in asked])
        return responding, replace(judging, read=judging.read + responding.written)

    def outcomes(self) -> tuple[list[Outcome], bool]:
        """Every answer with its grade, in the order asked; and whether any was made now.

        The respondent is let go before the judge is opened: only one of them is in memory.
        """
        asked, samples = self.questions, self.prompts.samples
        responses, answered = self._ask(self.settings.model, asked)
        graded = study.to_judge(samples, asked, responses)
        judgements, judged = self._ask(self.benchmark.judge, graded, grades=True)
        return study.fold(samples, asked, responses, judgements), answered or judged

    @staticmethod
    def _to_grade(asked: Request) -> Request:
        """What the judge is asked where the answer is empty."""
        return study.judge_request(asked.messages[-1]["content"], asked, "")

    def _ask(
        self, of: config.Model, requests: Sequence[Request], *, grades: bool = False
    ) -> tuple[list[Completion], bool]:
        def unscored(completion: Completion) -> bool:
            if grades:
                return rubric.read(completion)[1] is None
            return unjudged(completion) is not None

        model = open_model(of)
        put = addressed(requests, of)
        return answers(model, of.name, put, self.settings.output_dir, unscored)
