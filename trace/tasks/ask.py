"""What a judge is asked about each sample, and how its completions are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

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
from trace.records import Completion, Record, Request, Sample, Sampling, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question: a sample, which repeat of it, and its right label under the protocol."""

    sample: Sample
    epoch: int
    gold: str


@dataclass(frozen=True)
class Interview:
    """A judge before a dataset: every question in the order of the samples, and its reading."""

    settings: config.Root
    dataset: Dataset
    model: Model

    @cached_property
    def protocol(self) -> JudgeProtocol:
        """How the judge is asked."""
        settings = self.settings
        return judge_protocol(settings.protocol, self.dataset.taxonomy, settings.condition)

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
    def requests(self) -> list[Request]:
        """One request a question."""
        settings, protocol = self.settings, self.protocol
        scores = settings.protocol.answer == "score"
        template_args = dict(settings.model.template_args or {})
        if scores and settings.model.reasoning == "think":
            template_args["enable_thinking"] = False  # the verdict is read where an answer begins
        labels = protocol.labels.labels
        mock = self.model if isinstance(self.model, MockModel) else None
        if mock:
            taxonomy = self.dataset.taxonomy
            mock.check_classes([c.name for c in (taxonomy.benign, *taxonomy.classes)])
        return [
            Request(
                messages=protocol.messages(asked.sample),
                sampling=Sampling(**config.plain(settings.sampling)),
                labels=protocol.label_strings if scores else (),
                prefix=protocol.answer_prefix if scores else "",
                template_args=template_args,
                epoch=asked.epoch,
                sample=asked.sample.id,
                planted=plant(self.class_of(asked.sample), asked.gold, labels) if mock else None,
                reply=place if mock and not mock.rates else None,
            )
            for place, asked in enumerate(self.asked)
        ]

    def strict(self, completion: Completion) -> Verdict:
        """Reads a completion. Never cached: another parser needs no new completion."""
        if completion.scores is not None:
            scores = self.protocol.by_label(completion.scores)
            normalise = self.settings.protocol.normalise
            return verdict_from_scores(scores, self.protocol.labels, normalise)
        if not completion.reasoning_closed:
            return Verdict(status="truncated")
        return parse_verdict(completion.text, self.protocol.labels, finish=completion.finish)

    def released(self, completion: Completion, gold: str) -> Verdict:
        """Reads a written reply by the released substring rules, its reasoning included."""
        if completion.finish in ("too_long", "error"):
            return self.strict(completion)
        thought = completion.reasoning
        text = completion.text if thought is None else f"<think>{thought}</think>{completion.text}"
        return released_verdict(text, self.protocol.labels, gold)

    def records(self, completions: Sequence[Completion]) -> list[Record]:
        """One record a question, scored by the parser of the configuration."""
        released = self.settings.scoring.parser == "released"
        return [
            self._record(asked, completion, self.released(completion, asked.gold))
            if released
            else self._record(asked, completion, self.strict(completion))
            for asked, completion in zip(self.asked, completions, strict=True)
        ]

    def _record(self, asked: Asked, completion: Completion, verdict: Verdict) -> Record:
        return Record(
            id=asked.sample.id,
            gold=asked.sample.gold,
            condition=self.settings.condition.name,
            protocol=self.settings.protocol.name,
            verdict=verdict,
            judges={self.settings.model.name: verdict},
            completion=completion,
            cluster=asked.sample.cluster,
            epoch=asked.epoch,
            meta=asked.sample.meta,
        )
