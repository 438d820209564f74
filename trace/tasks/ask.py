"""What a judge is asked about each sample, and how its completions are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, islice

from trace import config
from trace.benchmarks import conditions
from trace.benchmarks.base import Dataset
from trace.judging.labels import gold_label
from trace.judging.likelihood import verdict_from_scores
from trace.judging.parse import parse_verdict
from trace.judging.protocols import JudgeProtocol, judge_protocol
from trace.judging.released import released_verdict
from trace.models.base import Model
from trace.models.mock import MockModel, plant
from trace.records import Completion, Request, Sample, Sampling, Verdict
from trace.tasks.guarding import Guarding


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question: a sample, which repeat of it, and its right label under the protocol."""

    sample: Sample
    epoch: int
    gold: str


@dataclass(frozen=True)
class Interview:
    """A judge before a dataset: every question in the order of the samples, and its reading.

    A judge is a model asked through the protocol, or a guard with a template of its own; `judge` is
    its configuration, `model` what answers.
    """

    settings: config.Root
    dataset: Dataset
    model: Model
    judge: config.Model

    @cached_property
    def protocol(self) -> JudgeProtocol:
        """The labels, and how a judge without a template of its own is asked."""
        settings = self.settings
        return judge_protocol(settings.protocol, self.dataset.taxonomy, settings.condition)

    @cached_property
    def guarding(self) -> Guarding | None:
        """The guard, if the judge is one that can answer what is asked.

        Raises:
            UnsupportedError: it is a guard, and cannot.
        """
        if self.judge.guard is None:
            return None
        guarding = Guarding(self.judge)
        guarding.check(self.settings)
        guarding.fit(self.dataset.samples)
        return guarding

    @property
    def prompt_hash(self) -> str:
        """Identifies all wording of ours that the judge sees."""
        return self.guarding.prompt_hash if self.guarding else self.protocol.prompt_hash

    def under_condition(self) -> Interview:
        """The same interview with the samples as the condition leaves them."""
        changed = conditions.apply(
            self.settings.condition,
            self.dataset,
            label_of=lambda sample: self.label_of(self.class_of(sample)),
            tokens_of=self.model.count_tokens,
            seed=self.settings.seed,
        )
        return replace(self, dataset=changed)

    def class_of(self, sample: Sample) -> str:
        """The gold class of a sample, benign's name for a benign one."""
        return sample.gold.class_ or self.dataset.taxonomy.benign.name

    def label_of(self, class_name: str) -> str:
        """The label that is right for a class under the protocol."""
        return gold_label(self.settings.protocol.answers, self.dataset.taxonomy, class_name)

    @cached_property
    def asked(self) -> list[Asked]:
        """All questions."""
        return [
            Asked(sample=sample, epoch=epoch, gold=self.label_of(self.class_of(sample)))
            for sample in self.dataset.samples
            for epoch in range(self.settings.epochs)
        ]

    @cached_property
    def _requests(self) -> list[list[Request]]:
        """Those of each question: one through the protocol, one or more to a guard."""
        mock = self.model if isinstance(self.model, MockModel) else None
        if mock:
            taxonomy = self.dataset.taxonomy
            mock.check_classes([c.name for c in (taxonomy.benign, *taxonomy.classes)])
        labels, number = self.protocol.labels.labels, count()
        return [
            [
                replace(
                    request,
                    planted=plant(self.class_of(asked.sample), asked.gold, labels)
                    if mock
                    else None,
                    reply=next(number) if mock and not mock.rates else None,
                )
                for request in self._asked_of(asked)
            ]
            for asked in self.asked
        ]

    def _asked_of(self, asked: Asked) -> list[Request]:
        if self.guarding:
            return self.guarding.requests(asked.sample, asked.epoch)
        settings, protocol = self.settings, self.protocol
        scores = settings.protocol.answer == "score"
        template_args = dict(self.judge.template_args or {})
        if scores and self.judge.reasoning in ("think", "gemma"):
            template_args["enable_thinking"] = False  # the verdict is read where an answer begins
        return [
            Request(
                messages=protocol.messages(asked.sample),
                sampling=Sampling(**config.plain(settings.sampling)),
                labels=protocol.label_strings if scores else (),
                prefix=protocol.answer_prefix if scores else "",
                template_args=template_args,
                epoch=asked.epoch,
                sample=asked.sample.id,
            )
        ]

    @property
    def requests(self) -> list[Request]:
        """Everything that is asked, in order."""
        return [request for requests in self._requests for request in requests]

    def grouped(self, completions: Sequence[Completion]) -> list[tuple[Completion, ...]]:
        """The completions of each question."""
        coming = iter(completions)
        return [tuple(islice(coming, len(requests))) for requests in self._requests]

    def strict(self, completions: Sequence[Completion], sample: Sample) -> Verdict:
        """Reads the answer to a question. Never cached: another parser needs no new completion."""
        if self.guarding:
            return self.guarding.verdict(completions, sample)
        (completion,) = completions
        if completion.scores is not None:
            scores = self.protocol.by_label(completion.scores)
            normalise = self.settings.protocol.normalise
            return verdict_from_scores(scores, self.protocol.labels, normalise)
        if not completion.reasoning_closed:
            return Verdict(status="truncated")
        return parse_verdict(completion.text, self.protocol.labels, finish=completion.finish)

    def unreadable(self, completion: Completion) -> bool:
        """Whether a completion alone shows that its question has no label; for the progress."""
        if self.guarding:
            return completion.finish in ("error", "too_long", "content_filter")
        return self.strict([completion], self.dataset.samples[0]).status != "ok"

    def released(self, completions: Sequence[Completion], asked: Asked) -> Verdict:
        """Reads a written reply by the released substring rules, its reasoning included."""
        (completion,) = completions
        if completion.finish in ("too_long", "error"):
            return self.strict(completions, asked.sample)
        thought = completion.reasoning
        text = completion.text if thought is None else f"<think>{thought}</think>{completion.text}"
        return released_verdict(text, self.protocol.labels, asked.gold)

    def verdicts(self, completions: Sequence[Completion]) -> list[Verdict]:
        """One verdict a question, by the parser of the configuration."""
        released = self.settings.scoring.parser == "released" and not self.guarding
        return [
            self.released(group, asked) if released else self.strict(group, asked.sample)
            for asked, group in zip(self.asked, self.grouped(completions), strict=True)
        ]

    def other_readings(self, completions: Sequence[Completion]) -> dict[str, list[Verdict]]:
        """How else the same answers can be read: by the other parser, or a third label loosely."""
        groups = list(zip(self.asked, self.grouped(completions), strict=True))
        if self.guarding:
            if self.guarding.guard.third_label is None:
                return {}
            read = self.guarding.verdict
            return {"loose reading": [read(group, a.sample, "loose") for a, group in groups]}
        if self.settings.protocol.answer == "score":
            return {}
        if self.settings.scoring.parser == "strict":
            return {"released parser": [self.released(group, a) for a, group in groups]}
        return {"strict parser": [self.strict(group, a.sample) for a, group in groups]}
