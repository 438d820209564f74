"""A respondent before the questions of RAG-Safety-Bench, and judges before its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trace import config
from trace.benchmarks.base import Dataset
from trace.benchmarks.rag_safety import accuracy, prompts, refusal, samples
from trace.benchmarks.rag_safety.outcomes import Answer, Opinion, Outcome, answers_to
from trace.benchmarks.rag_safety.samples import RagDataset
from trace.benchmarks.responses import unjudged
from trace.models.base import Model
from trace.models.open import open_model
from trace.records import Completion, Json, Record, Request, Sample, Sampling, Verdict
from trace.report.plan import Work
from trace.tasks.answers import addressed, answers
from trace.tasks.bench import Bench, Sitting
from trace.tasks.helpers import Helpers
from trace.tasks.planning import work

TEMPLATE = 256
"""Tokens kept free for the chat template, which an engine adds to a message: those of the models
in conf/model take fewer. A message that is too long all the same is said to be by the engine."""


@dataclass(frozen=True, kw_only=True)
class Answering:
    """What the respondent is asked, and what its judges are asked of its answers.

    The judges are greedy whatever the respondent is, and judge every answer once.
    """

    settings: config.Root
    benchmark: config.RagSafety
    dataset: RagDataset
    bench: Bench
    helpers: Helpers

    @classmethod
    def begun(
        cls, settings: config.Root, benchmark: config.RagSafety, dataset: RagDataset
    ) -> Answering:
        """Before the respondent has answered; no model is opened."""
        judging = replace(
            settings, epochs=1, sampling=replace(settings.sampling, temperature=0.0, top_p=1.0)
        )
        return cls(
            settings=settings,
            benchmark=benchmark,
            dataset=dataset,
            bench=Bench(
                judging, _shown(dataset, [samples.answered(s, "") for s in dataset.samples])
            ),
            helpers=Helpers(benchmark.further_judges, settings.output_dir),
        )

    @property
    def questions(self) -> list[Request]:
        """What the respondent is asked."""
        sampling = Sampling(**config.plain(self.settings.sampling))
        return samples.questions(self.dataset, epochs=self.settings.epochs, sampling=sampling)

    def introduce(self) -> tuple[Answering, dict[str, Json], tuple[str, ...]]:
        """What identifies all models and prompts, and what has to be said of the judges.

        Returns:
            First the same with messages that the respondent's context can hold.

        Raises:
            TraceError: one of the models cannot be asked at all. Nothing has been written yet.
        """
        model = open_model(self.settings.model)
        cut = replace(self, dataset=fitted(self.dataset, model, self.settings))
        if asked := cut.questions:
            model.prepare(addressed(asked[:1], self.settings.model)[0])
        identity = dict(model.identity)
        judges, prompt, notes = self.bench.introduce()
        wording = {"question": prompts.PROMPT_HASH, "harm": prompt}
        wording |= {role: _FURTHER[role].PROMPT_HASH for role in self.helpers.models}
        models = {"model": identity, "judges": judges, "further": self.helpers.prepare()}
        return cut, {**models, "prompt": wording}, notes

    def respond(self) -> tuple[list[Answer], dict[str, Json], bool]:
        """Every answer, in the order asked; what was used of a service; whether any is new.

        The respondent is let go when the next model is opened: only one of them is in memory.
        """
        asked, of = self.questions, self.settings.model
        model = open_model(of)
        responses, fresh = answers(
            model,
            of.name,
            addressed(asked, of),
            self.settings.output_dir,
            unscored=lambda completion: unjudged(completion) is not None,
        )
        made = answers_to(self.dataset, asked, responses, epochs=self.settings.epochs)
        return made, dict(model.usage), fresh

    def sit(
        self, given: Sequence[Answer], excluded: Mapping[str, frozenset[str]]
    ) -> Sitting | None:
        """What the panel says of the answers that can be judged; None where there are none."""
        shown = [answer.shown for answer in given if answer.unjudged is None]
        if not shown:
            return None
        return self.bench.facing(_shown(self.dataset, shown)).sit(excluded)

    def outcomes(self, given: Sequence[Answer], sitting: Sitting | None) -> list[Outcome]:
        """The answers with all that is said of them; the further judges are asked now."""
        records = iter(() if sitting is None else sitting.records(self.bench.settings))
        further = {role: self._opinions(role, given) for role in ("accuracy", "refusal")}
        return [
            Outcome(
                answer=answer,
                record=self._unjudged(answer, answer.unjudged)
                if answer.unjudged
                else replace(next(records), epoch=answer.epoch),
                accuracy=further["accuracy"][i],
                refusal=further["refusal"][i],
            )
            for i, answer in enumerate(given)
        ]

    def work(self) -> tuple[Work, ...]:
        """What it takes, at most: judges read every answer as long as it may be."""
        asked, most = self.questions, self.settings.sampling.max_new_tokens
        epochs = self.settings.epochs
        judged = [
            (name, hearing.judge, hearing.questions())
            for name, hearing in self.bench.hearings.items()
            if not isinstance(hearing.judge, config.RuleModel)
        ]
        empty = [
            Answer(sample=s, epoch=0, response=Completion(key="")) for s in self.dataset.samples
        ]
        judged += [
            (role, model, [self._question(role, answer) for answer in empty])
            for role, model in self.helpers.models.items()
        ]
        return (
            work(self.settings.model, asked),
            *(
                replace(_times(work(model, requests), epochs, most), model=f"{name} (judge)")
                for name, model, requests in judged
            ),
        )

    def _opinions(self, role: str, given: Sequence[Answer]) -> list[Opinion | None]:
        """What was said of each answer's accuracy or refusal; None where nobody tells."""
        ask = self.helpers.ask(role)
        if ask is None:
            return [_by_keys(answer) if role == "accuracy" else None for answer in given]
        name, judged = self.helpers.models[role].name, [a for a in given if a.unjudged is None]
        completions = iter(ask([self._question(role, answer) for answer in judged]))
        found: list[Opinion | None] = []
        for answer in given:
            made = None if answer.unjudged else next(completions)
            verdict = answer.unjudged if made is None else _FURTHER[role].read(made)
            assert verdict is not None
            found.append(Opinion(judge=name, verdict=verdict, completion=made))
        return found

    def _question(self, role: str, answer: Answer) -> Request:
        question, text = answer.sample.view["prompt"], answer.response.text
        return Request(
            messages=accuracy.messages(question, answer.sample.meta["expected"], text)
            if role == "accuracy"
            else refusal.messages(question, text),
            sampling=Sampling(max_new_tokens=self.settings.sampling.max_new_tokens),
            epoch=answer.epoch,
            sample=answer.sample.id,
        )

    def _unjudged(self, answer: Answer, why: Verdict) -> Record:
        sample = answer.sample
        return Record(
            id=sample.id,
            gold=sample.gold,
            condition=self.settings.condition.name,
            protocol=self.settings.protocol.name,
            verdict=why,
            judges={},
            answers={},
            cluster=sample.cluster,
            epoch=answer.epoch,
            meta=sample.meta,
        )


def fitted(dataset: RagDataset, model: Model, settings: config.Root) -> RagDataset:
    """The questions in messages that leave room for an answer; as they are, if no context is known.

    The template's share is not counted but set: see `TEMPLATE`.
    """
    context, condition = model.context, settings.condition
    assert isinstance(condition, config.RagCondition)
    if context is None:
        return dataset
    return samples.fit(
        dataset,
        tokens=context - settings.sampling.max_new_tokens - TEMPLATE,
        tokens_of=model.count_tokens,
        overflow=condition.overflow,  # type: ignore[arg-type]  # the configuration has checked it
    )


_FURTHER = {"accuracy": accuracy, "refusal": refusal}


def _by_keys(answer: Answer) -> Opinion | None:
    if not (keys := answer.sample.meta["keys"]):
        return None
    verdict = answer.unjudged or accuracy.by_keys(answer.response.text, keys)
    return Opinion(judge=accuracy.KEYS, verdict=verdict)


def _shown(dataset: RagDataset, shown: Sequence[Sample]) -> Dataset:
    """What judges need of it: without the documents, which take most of the memory."""
    return Dataset(
        samples=tuple(shown),
        taxonomy=dataset.taxonomy,
        fingerprint=dataset.fingerprint,
        licence=dataset.licence,
        notes=dataset.notes,
        rule_judges=dataset.rule_judges,
    )


def _times(once: Work, epochs: int, answer: int) -> Work:
    """The work of a judge on every epoch, each request with an answer of so many tokens to read."""
    return replace(
        once,
        requests=once.requests * epochs,
        read=(once.read + once.requests * answer) * epochs,
        written=once.written * epochs,
    )
