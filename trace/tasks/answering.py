"""A respondent before the questions of RAG-Safety-Bench, and judges before its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trace import config
from trace.benchmarks.rag_safety import prompts, samples
from trace.benchmarks.rag_safety.outcomes import Answer, Outcome, answers_to
from trace.benchmarks.rag_safety.questions import Questions
from trace.benchmarks.rag_safety.samples import RagDataset
from trace.benchmarks.rag_safety.screening import blocked_by
from trace.benchmarks.responses import unjudged
from trace.models.open import open_model
from trace.records import Json, Record, Sampling, Verdict
from trace.report.plan import Work
from trace.tasks.answers import addressed, answers
from trace.tasks.before_judges import before_judges, judging
from trace.tasks.bench import Bench, Sitting
from trace.tasks.filtering import Filtering
from trace.tasks.fitting import fitted, room
from trace.tasks.opinions import Opinions
from trace.tasks.planning import work


@dataclass(frozen=True, kw_only=True)
class Answering:
    """What the respondent is asked, and what its judges are asked of its answers.

    The judges are greedy whatever the respondent is, and judge every answer once.
    """

    settings: config.Root
    dataset: RagDataset
    bench: Bench
    opinions: Opinions
    filtering: Filtering | None

    @classmethod
    def begun(
        cls, settings: config.Root, benchmark: config.RagSafety, dataset: RagDataset
    ) -> Answering:
        """Before the respondent has answered; no model is opened.

        Raises:
            DataError: a filter has nothing to drop.
        """
        empty = [samples.answered(sample, "") for sample in dataset.samples]
        return cls(
            settings=settings,
            dataset=dataset,
            bench=Bench(judging(settings), before_judges(dataset, empty)),
            opinions=Opinions(settings, benchmark, dataset),
            filtering=Filtering.of(settings, benchmark, dataset),
        )

    @property
    def condition(self) -> str:
        """What tells the condition from others."""
        condition = self.settings.condition
        assert isinstance(condition, config.RagCondition)
        return condition.label

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be said of the filter once it was asked, and of the questions."""
        return (*(() if self.filtering is None else self.filtering.notes), *self.dataset.notes)

    @property
    def asked_anew(self) -> bool:
        """Whether a guard beside the panel made any completion now."""
        return self.opinions.fresh or (self.filtering is not None and self.filtering.fresh)

    @property
    def questions(self) -> Questions:
        """What the respondent is asked, if nothing is blocked."""
        sampling = Sampling(**config.plain(self.settings.sampling))
        return Questions.of(self.dataset, epochs=self.settings.epochs, sampling=sampling)

    def introduce(self) -> tuple[dict[str, Json], tuple[str, ...]]:
        """What identifies all models and prompts, and what has to be said of them.

        Raises:
            TraceError: one of the models cannot be asked at all. Nothing has been written yet.
        """
        model = open_model(self.settings.model)
        room(model, self.settings)
        model.prepare(addressed(self.questions[:1], self.settings.model)[0])
        judges, prompt, notes = self.bench.introduce()
        further, further_prompts, said = self.opinions.introduce()
        wording = {"question": prompts.PROMPT_HASH, "harm": prompt, **further_prompts}
        models = {"model": dict(model.identity), "judges": judges, "further": further}
        told = [*notes, *said]
        if self.filtering is not None:
            models["filter"], wording["filter"], said = self.filtering.introduce()
            told += said
        return {**models, "prompt": wording}, tuple(dict.fromkeys(told))

    def ready(self) -> Answering:
        """The same with messages that the respondent's context holds.

        A filter before the respondent is asked now, and its documents are gone.
        """
        left = self.dataset if self.filtering is None else self.filtering.ahead()
        return replace(self, dataset=fitted(left, open_model(self.settings.model), self.settings))

    def respond(self) -> tuple[list[Answer], dict[str, Json], bool]:
        """Every answer, in the order asked; what was used of a service; whether any is new.

        The respondent is let go when the next model is opened: only one of them is in memory.
        """
        of = self.settings.model
        screened = {} if self.filtering is None else self.filtering.by_question()
        asked = [
            request
            for request in addressed(self.questions, of)
            if blocked_by(screened.get(request.sample, ())) is None
        ]
        model = open_model(of)
        responses, fresh = answers(
            model,
            of.name,
            asked,
            self.settings.output_dir,
            unscored=lambda completion: unjudged(completion) is not None,
        )
        epochs = self.settings.epochs
        made = answers_to(self.dataset, asked, responses, epochs=epochs, screened=screened)
        return made, dict(model.usage), fresh

    def let_through(self, given: Sequence[Answer]) -> list[Answer]:
        """The answers as a filter behind the respondent leaves them; it is asked now."""
        return list(given) if self.filtering is None else self.filtering.behind(given)

    def sit(
        self, given: Sequence[Answer], excluded: Mapping[str, frozenset[str]]
    ) -> Sitting | None:
        """What the panel says of the answers that can be judged; None where there are none."""
        shown = [answer.shown for answer in given if answer.delivered]
        if not shown:
            return None
        return self.bench.facing(before_judges(self.dataset, shown)).sit(excluded)

    def outcomes(
        self,
        given: Sequence[Answer],
        sitting: Sitting | None,
        excluded: Mapping[str, frozenset[str]],
    ) -> list[Outcome]:
        """The answers with all that is said of them; the further judges are asked now.

        Args:
            given: all answers.
            sitting: what the panel said of those that were delivered.
            excluded: question -> judges whose vote on it is set aside.
        """
        coming = iter(() if sitting is None else sitting.records(self.bench.settings))
        records = [
            replace(next(coming), epoch=answer.epoch, condition=self.condition)
            if answer.delivered
            else self._undelivered(answer, excluded.get(answer.sample.id, frozenset()))
            for answer in given
        ]
        negative, opinions = self.bench.labels.negative, self.opinions
        unsafe = [record.verdict.label not in (None, negative) for record in records]
        accuracy, refusal = opinions.of_accuracy(given), opinions.of_refusal(given)
        action = opinions.of_action(given, unsafe)
        return [
            Outcome(
                answer=answer,
                record=records[i],
                accuracy=accuracy[i],
                refusal=refusal[i],
                actionability=action[i],
            )
            for i, answer in enumerate(given)
        ]

    def work(self) -> tuple[Work, ...]:
        """What it takes, at most.

        Nothing is blocked, everything is unsafe, and answers are as long as they may be.
        """
        asked, most = self.questions, self.settings.sampling.max_new_tokens
        judged = [
            (name, hearing.judge, hearing.questions())
            for name, hearing in self.bench.hearings.items()
            if not isinstance(hearing.judge, config.RuleModel)
        ]
        judged += [(role, *said) for role, said in self.opinions.questions().items()]
        planned = [work(self.settings.model, asked)]
        planned += [
            replace(
                _times(work(model, requests), self.settings.epochs, most), model=f"{name} (judge)"
            )
            for name, model, requests in judged
        ]
        if self.filtering is not None:
            screened = work(self.filtering.guard, self.filtering.questions())
            if self.filtering.place == "output":
                screened = _times(screened, self.settings.epochs, most)
            planned.append(replace(screened, model=f"{screened.model} (filter)"))
        return tuple(planned)

    def _undelivered(self, answer: Answer, excluded: frozenset[str]) -> Record:
        sample, verdict = answer.sample, answer.unjudged
        return Record(
            id=sample.id,
            gold=sample.gold,
            condition=self.condition,
            protocol=self.settings.protocol.name,
            verdict=verdict
            or Verdict(
                status="ok",
                label=self.bench.labels.negative,
                rationale=f"nothing was delivered: condition.filter={answer.blocked}",
            ),
            judges={},
            answers={},
            cluster=sample.cluster,
            epoch=answer.epoch,
            excluded=excluded,
            meta=sample.meta,
        )


def _times(once: Work, epochs: int, answer: int) -> Work:
    """The work of a judge on every epoch, each request with an answer of so many tokens to read."""
    return replace(
        once,
        requests=once.requests * epochs,
        read=(once.read + once.requests * answer) * epochs,
        written=once.written * epochs,
    )
