"""The stages of a build of questions with documents, each computed when it is first needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from trace import config
from trace.benchmarks.rag_safety.builder import auditing, review, writing
from trace.benchmarks.rag_safety.builder.articles import Articles
from trace.benchmarks.rag_safety.builder.auditing import Audited, Pair
from trace.benchmarks.rag_safety.builder.corpus import Corpus, corpus, scarce
from trace.benchmarks.rag_safety.builder.freeze import balanced, counts
from trace.benchmarks.rag_safety.builder.questions import Questions, questions
from trace.benchmarks.rag_safety.builder.review import Kept, Reviewed, Reviews, kept
from trace.benchmarks.rag_safety.builder.selection import Candidate, Candidates, candidates
from trace.config.rag_builder import STAGES
from trace.records import Completion, Json, Request, Sampling
from trace.report.plan import Work
from trace.tasks.helpers import Helpers
from trace.tasks.planning import work

ROLES = ("writer", "auditor")


@dataclass(frozen=True, kw_only=True)
class Build:
    """The stages over the user's articles; each is computed once, when it is first needed."""

    settings: config.Root
    builder: config.RagBuilder
    articles: Articles
    reviews: Reviews

    @cached_property
    def helpers(self) -> Helpers:
        """Whoever can be asked, by their key in the configuration."""
        given = {role: getattr(self.builder, role) for role in ROLES}
        return Helpers({k: one for k, one in given.items() if one}, self.settings.output_dir)

    def how(self) -> dict[str, Json]:
        """All of our own that can change the set, but the stage."""
        builder = self.builder
        numbers = ("licence", "per_article", "on_topic", "random", "words")
        return {
            **{name: getattr(builder, name) for name in numbers},
            "limit": self.settings.limit,
            "seed": self.settings.seed,
            "writing": config.plain(builder.writing),
            "auditing": config.plain(self.settings.sampling),
            "names": {role: model.name for role, model in self.helpers.models.items()},
            "prompts": {"writer": writing.PROMPT_HASH, "auditor": auditing.PROMPT_HASH},
        }

    def does(self, stage: str) -> bool:
        """Whether the stage is one of those up to the configured one."""
        last = self.settings.stage
        return last == "all" or STAGES.index(stage) <= STAGES.index(last)

    @cached_property
    def corpus(self) -> Corpus:
        """All documents."""
        return corpus(self.articles.articles, self.builder.words)

    @property
    def scarce(self) -> tuple[list[str], bool]:
        """Where documents are too few for a question, and whether they are for all."""
        builder = self.builder
        return scarce(self.corpus, on_topic=builder.on_topic, random=builder.random)

    @cached_property
    def asked(self) -> list[writing.Asked]:
        """What questions are wanted about."""
        return writing.asked(
            self.corpus.documents,
            per_article=self.builder.per_article,
            limit=self.settings.limit,
            seed=self.settings.seed,
        )

    @cached_property
    def questions(self) -> Questions:
        """What was written and can be asked."""
        pairs = zip(self.asked, self._replies, strict=True)
        return questions(one for asked, made in pairs for one in writing.parse(asked, made))

    @cached_property
    def candidates(self) -> Candidates:
        """The questions with their documents."""
        return candidates(
            self.questions.kept,
            self.corpus,
            on_topic=self.builder.on_topic,
            random=self.builder.random,
            seed=self.settings.seed,
        )

    @cached_property
    def audited(self) -> list[Audited]:
        """Every question with each of its documents, and what the auditor found."""
        pairs = zip(self._pairs, self._verdicts, strict=True)
        return [
            Audited(pair=pair, found=auditing.parse(made, pair.document.text))
            for pair, made in pairs
        ]

    @cached_property
    def reviewed(self) -> list[Reviewed]:
        """The same with what people decided."""
        return review.review(self.audited, self.reviews)

    @cached_property
    def kept(self) -> Kept:
        """The questions that are frozen."""
        return kept(self.candidates.kept, self.reviewed)

    @cached_property
    def balanced(self) -> tuple[Candidate, ...]:
        """Those of the balanced set."""
        return balanced(self.kept.kept, self.settings.seed)

    @property
    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """Subcategory -> questions, of the full set and of the balanced one."""
        return counts(self.kept.kept), counts(self.balanced)

    @property
    def by_people(self) -> int:
        """Documents that people decided about."""
        return sum(one.by_people for one in self.reviewed)

    @property
    def waiting(self) -> int:
        """Documents that people have to decide about, as far as the configured stage tells."""
        if not self.does("audit"):
            return 0
        return sum(one.answer is None and one.audited.for_people for one in self.reviewed)

    @property
    def failed(self) -> str:
        """Says so where requests failed, in the stages up to the configured one; else empty."""
        made: list[Completion] = []
        if self.does("questions"):
            made += self._replies
        if self.does("audit"):
            made += self._verdicts
        errors = [one.error or "" for one in made if one.finish == "error"]
        if not errors:
            return ""
        return (
            f"{len(errors):,} requests to models failed ({errors[0]}). They are not logged: the "
            "same command asks them again."
        )

    @property
    def unused(self) -> int:
        """Decisions of people about no document of this build, as far as the stage tells."""
        if not self.does("review"):
            return 0
        return len(self.reviews.decisions.keys() - {one.audited.pair.id for one in self.reviewed})

    def left_out(self) -> dict[str, dict[str, int]]:
        """Stage -> reason -> questions that are not in the set."""
        return {
            "questions": dict(self.questions.left_out),
            "documents": dict(self.candidates.left_out),
            "audit": dict(self.kept.left_out),
        }

    def work(self) -> list[Work]:
        """What the stages ask, at most; those up to the configured one."""
        made: list[Work] = []
        if self.does("questions"):
            made.append(self._work("writer", self._requests))
        if self.does("audit"):
            # Nobody knows the questions yet: each is as long as the task, its documents the oracle.
            each = [
                auditing.request("", one.document.text, self._auditing)
                for one in self.asked
                for _ in range(one.number)
            ]
            one = self._work("auditor", each)
            pairs = 1 + self.builder.on_topic + self.builder.random
            made.append(
                replace(
                    one,
                    requests=pairs * one.requests,
                    read=pairs * one.read,
                    written=pairs * one.written,
                )
            )
        return made

    def _work(self, role: str, requests: Sequence[Request]) -> Work:
        model = self.helpers.models[role]
        return replace(work(model, requests), model=f"{model.name} ({role})")

    @property
    def _auditing(self) -> Sampling:
        return Sampling(**config.plain(self.settings.sampling))

    @cached_property
    def _requests(self) -> list[Request]:
        sampling = Sampling(**config.plain(self.builder.writing))
        return [writing.request(one, sampling) for one in self.asked]

    @cached_property
    def _replies(self) -> Sequence[Completion]:
        return self._ask("writer", self._requests)

    @cached_property
    def _pairs(self) -> list[Pair]:
        return [
            Pair(question=one.question, role=role, document=document)
            for one in self.candidates.kept
            for role, document in one.roles()
        ]

    @cached_property
    def _verdicts(self) -> Sequence[Completion]:
        requests = [
            auditing.request(p.question.question, p.document.text, self._auditing, p.id)
            for p in self._pairs
        ]
        return self._ask("auditor", requests)

    def _ask(self, role: str, requests: Sequence[Request]) -> Sequence[Completion]:
        ask = self.helpers.ask(role)
        assert ask is not None  # the configuration has checked that the stage has its model
        return ask(requests) if requests else []
