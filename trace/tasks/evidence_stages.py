"""The stages of a build of evidence-grounded triples, each computed when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from trace import config
from trace.benchmarks.evidence import annotation, counts, infer
from trace.benchmarks.evidence.annotation import Annotation
from trace.benchmarks.evidence.curate import Curated
from trace.benchmarks.evidence.freeze import Annotated, texts
from trace.benchmarks.evidence.infer import Answered
from trace.benchmarks.evidence.taxonomy import MARKED_WORDS, marked_words
from trace.benchmarks.evidence.triple import Component, Triple
from trace.benchmarks.evidence.voting import rule_annotation, vote
from trace.records import Completion, Json, Request, Sampling, digest
from trace.report.plan import Work
from trace.tasks.helpers import Helpers
from trace.tasks.planning import work

RULES: Mapping[str, Callable[[str], tuple[str, ...]]] = {"marked_words": marked_words}
"""The rules that can annotate: what they find in a text makes it unsafe."""


RULE_HASHES: dict[str, str] = {"marked_words": digest(list(MARKED_WORDS))}
"""Rule -> what identifies the words that it looks for."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """The stages over curated prompts; each is computed once, when it is first needed."""

    settings: config.Root
    builder: config.EvidenceBuilder
    curated: Curated

    @cached_property
    def helpers(self) -> Helpers:
        """Whoever can be asked, by their key in the configuration."""
        return Helpers(
            {f"respondents.{name}": model for name, model in self.builder.respondents.items()}
            | {
                f"annotators.{name}": model
                for name, model in self.builder.annotators.items()
                if not isinstance(model, config.RuleModel)
            },
            self.settings.output_dir,
        )

    def how(self) -> dict[str, Json]:
        """All of our own that can change the set, but the stage."""
        builder = self.builder
        return {
            "share": builder.share,
            "limit": self.settings.limit,
            "seed": self.settings.seed,
            "answers": config.plain(builder.answers),
            "annotations": config.plain(self.settings.sampling),
            "min_valid": builder.min_valid,
            "quotes": builder.quotes,
            "respondents": [
                [name, model.family, model.abliterated, model.reasoning]
                for name, model in builder.respondents.items()
            ],
            "annotators": {
                name: [model.rule, RULE_HASHES[model.rule]]
                if isinstance(model, config.RuleModel)
                else model.name
                for name, model in builder.annotators.items()
            },
            "prompts": {"infer": infer.PROMPT_HASH, "annotate": annotation.PROMPT_HASH},
        }

    @cached_property
    def answered(self) -> list[Answered]:
        """Every prompt answered by every respondent, one respondent after the other."""
        sampling = Sampling(**config.plain(self.builder.answers))
        made: list[Answered] = []
        for name, model in self.builder.respondents.items():
            ask = self.helpers.ask(f"respondents.{name}")
            assert ask is not None
            made += infer.infer(self.curated.prompts, name, model, sampling, ask)
        return made

    @cached_property
    def annotated(self) -> list[Annotated]:
        """The valid answers with what their annotators decided, in the same order."""
        said = {name: self._annotations(name) for name in self.builder.annotators}
        return [
            Annotated(
                answered=one,
                decision=vote(
                    {name: annotations[place] for name, annotations in said.items()},
                    texts(one),
                    min_valid=self.builder.min_valid,
                    quotes_mode=self.builder.quotes,  # type: ignore[arg-type]
                ),
            )
            for place, one in enumerate(self._valid)
        ]

    @cached_property
    def triples(self) -> list[Triple]:
        """The set: the triples of which nothing is open."""
        return [triple for one in self.annotated if (triple := one.triple()) is not None]

    @property
    def errors(self) -> list[str]:
        """What went wrong with requests to models, in the stages up to the configured one."""
        if self.settings.stage == "curate":
            return []
        found = [one.error or "" for one in self.answered if one.invalid == "error"]
        if self.settings.stage != "infer":
            made = chain.from_iterable(self._replies.values())
            found += [one.error or "" for one in made if one.finish == "error"]
        return found

    def summary(self) -> dict[str, Json]:
        """What the manifest says of the set."""
        return {
            "triples": len(self.triples),
            "prompts": len(self.curated.prompts),
            "counts": counts.counted(self.triples),
            "invalid": infer.invalid_counts(self.answered),
            "queued": counts.queued(self.annotated),
            "failures": counts.failures(self.annotated),
            "invented": counts.invented(self.annotated),
            "agreement": counts.agreements(self.annotated, list(self.builder.annotators)),
        }

    def work(self) -> list[Work]:
        """What the stages ask, at most; those up to the configured one."""
        stage, answers = self.settings.stage, Sampling(**config.plain(self.builder.answers))
        asked: list[Work] = []
        if stage == "curate":
            return asked
        for name, model in self.builder.respondents.items():
            one = work(model, infer.first_requests(self.curated.prompts, model, answers))
            if infer.origin(model) == "elicited":  # asked again, with its thoughts
                again = one.read + one.written
                one = replace(_times(2, one), read=one.read + again)
            asked.append(replace(one, model=f"{model.name} (respondents.{name})"))
        if stage == "infer":
            return asked
        written = sum(one.written for one in asked)
        requests = [
            self._question({"prompt": prompt.text, "reasoning": "", "response": ""}, prompt.id)
            for prompt in self.curated.prompts
        ]
        for name, model in self.builder.annotators.items():
            if not isinstance(model, config.RuleModel):
                one = _times(len(self.builder.respondents), work(model, requests))
                who = f"{model.name} (annotators.{name})"
                asked.append(replace(one, model=who, read=one.read + written))
        return asked

    @cached_property
    def _valid(self) -> list[Answered]:
        return [one for one in self.answered if one.invalid is None]

    @cached_property
    def _replies(self) -> dict[str, list[Completion]]:
        """What every annotator that is a model replied about every valid answer."""
        requests = [self._question(texts(one), one.prompt.id) for one in self._valid]
        made: dict[str, list[Completion]] = {}
        for name, model in self.builder.annotators.items():
            if not isinstance(model, config.RuleModel):
                ask = self.helpers.ask(f"annotators.{name}")
                assert ask is not None
                made[name] = list(ask(requests))
        return made

    def _annotations(self, name: str) -> list[Annotation]:
        """What one annotator says of every valid answer."""
        model = self.builder.annotators[name]
        if isinstance(model, config.RuleModel):
            return [rule_annotation(texts(one), RULES[model.rule]) for one in self._valid]
        return [annotation.parse(made) for made in self._replies[name]]

    def _question(self, of: Mapping[Component, str], sample: str) -> Request:
        sampling = Sampling(**config.plain(self.settings.sampling))
        return annotation.request(of, sampling, sample)


def _times(number: int, one: Work) -> Work:
    """The same work so many times, about texts that differ."""
    return replace(
        one, requests=number * one.requests, read=number * one.read, written=number * one.written
    )
