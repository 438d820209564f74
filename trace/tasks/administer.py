"""A respondent before the items of the cross-laboratory study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trace import config
from trace.benchmarks.cross_lab.items import Wording
from trace.benchmarks.cross_lab.outcomes import Answer
from trace.benchmarks.cross_lab.rubric import CORE
from trace.benchmarks.cross_lab.samples import Agenda, longer, questions
from trace.benchmarks.responses import unjudged
from trace.models.open import open_model
from trace.records import Completion, Json, Request, Sampling
from trace.tasks.answers import addressed, answers


@dataclass(frozen=True, kw_only=True)
class Administration:
    """What a respondent is asked in one wording, and again where it was cut off."""

    settings: config.Root
    benchmark: config.CrossLab
    agenda: Agenda

    @property
    def wording(self) -> Wording:
        """What the respondent is given."""
        condition = self.settings.condition
        assert isinstance(condition, config.WordingCondition)
        return condition.wording  # type: ignore[return-value]  # the configuration has checked it

    def questions(self, wording: Wording) -> list[Request]:
        """What it is asked in one wording, at first."""
        sampling = Sampling(**config.plain(self.settings.sampling))
        return questions(self.agenda.items, wording, sampling, self.settings.epochs)

    def prepare(self) -> dict[str, Json]:
        """What identifies the respondent. No weights are loaded.

        Raises:
            TraceError: it cannot be asked at all.
        """
        of = self.settings.model
        model = open_model(of)
        model.prepare(addressed(self.questions(self.wording)[:1], of)[0])
        return dict(model.identity)

    def respond(self) -> tuple[list[Answer], dict[str, Json], bool]:
        """Every answer, in the order asked; what was used of a service; whether any is new.

        With `regenerate=model` both wordings are asked, lest one of them is longer than the other;
        the log has them for the run of the other wording.
        """
        asked = self.questions(self.wording)
        responses, fresh = self._ask(asked)
        again = [False] * len(asked)
        if self.benchmark.regenerate != "none":
            again = self._cut(asked, responses)
        if self.benchmark.regenerate == "model":
            other = self.questions("steered" if self.wording == "base" else "base")
            others, made = self._ask(other)
            fresh = fresh or made
            any_cut = any(again) or any(self._cut(other, others))
            again = [any_cut and core for core in self._core(asked)]
        first = dict(zip(_keys(asked), zip(asked, responses, strict=True), strict=True))
        repeated = longer(
            [request for request, more in zip(asked, again, strict=True) if more],
            self.benchmark.budget,
        )
        if repeated:
            longest, made = self._ask(repeated)
            fresh = fresh or made
            first |= dict(zip(_keys(repeated), zip(repeated, longest, strict=True), strict=True))
        items = {item.id: item for item in self.agenda.items}
        given = [
            Answer(
                item=items[request.sample],
                epoch=request.epoch,
                response=completion,
                tokens=request.sampling.max_new_tokens,
                asked_again=more,
            )
            for (request, completion), more in zip(first.values(), again, strict=True)
        ]
        return given, dict(open_model(self.settings.model).usage), fresh

    def _ask(self, requests: Sequence[Request]) -> tuple[list[Completion], bool]:
        of = self.settings.model
        return answers(
            open_model(of),
            of.name,
            addressed(requests, of),
            self.settings.output_dir,
            unscored=lambda completion: unjudged(completion) is not None,
        )

    def _core(self, asked: Sequence[Request]) -> list[bool]:
        core = {item.id for item in self.agenda.items if item.category in CORE}
        return [request.sample in core for request in asked]

    def _cut(self, asked: Sequence[Request], made: Sequence[Completion]) -> list[bool]:
        """Which core answers the token limit cut off."""
        return [
            core and (one.finish == "length" or not one.reasoning_closed)
            for core, one in zip(self._core(asked), made, strict=True)
        ]


def _keys(requests: Sequence[Request]) -> list[tuple[str, int]]:
    return [(request.sample, request.epoch) for request in requests]
