"""A proposer before the development responses: labels of each part, then one list a category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from trace import config
from trace.benchmarks.cross_lab import freeze, propose
from trace.benchmarks.cross_lab.collect import Collected, Response
from trace.benchmarks.cross_lab.items import ItemSet
from trace.benchmarks.cross_lab.proposal import FEWEST, Labels, Unread, read
from trace.benchmarks.cross_lab.rubric import Rubrics
from trace.records import Json, Request, Sampling
from trace.report.plan import Work
from trace.tasks.helpers import Helpers
from trace.tasks.planning import work

ROLE = "proposer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request; whose each numbered thing in it is, and the responses not to be quoted."""

    request: Request
    sources: Sequence[Sequence[str]]
    texts: Sequence[str]


@dataclass(kw_only=True)
class Proposal:
    """Category -> its labels; how many replies there were, and how many are of no use, by why."""

    labels: dict[str, Labels] = field(default_factory=dict)
    replies: int = 0
    unusable: Counter[Unread] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Json]:
        """What the manifest says of it."""
        return {
            "replies": self.replies,
            "unusable": dict(self.unusable),
            "categories": list(self.labels),
        }

    def reasons(self) -> str:
        """How many replies are of no use, in words."""
        return "; ".join(f"{n:,} {why}" for why, n in self.unusable.items())


@dataclass(frozen=True, kw_only=True)
class Build:
    """The stages over the responses of some runs; each is computed once, when it is needed."""

    settings: config.Root
    benchmark: config.CrossLab
    items: ItemSet
    before: Rubrics
    collected: Collected

    @cached_property
    def helpers(self) -> Helpers:
        """The proposer, where there is one."""
        proposer = self.benchmark.proposer
        models = {} if proposer is None else {ROLE: proposer}
        return Helpers(models, self.settings.output_dir)

    @property
    def room(self) -> propose.Room:
        """How much the proposer is shown at once."""
        proposer = self.benchmark.proposer
        context = None if proposer is None else proposer.context
        sampling = Sampling(**config.plain(self.settings.sampling))
        return propose.Room(context=context or propose.CONTEXT, sampling=sampling)

    def how(self) -> dict[str, Json]:
        """All of our own that can change the rubrics, but the stage and what a person edited."""
        return {
            "limit": self.settings.limit,
            "seed": self.settings.seed,
            "sampling": self.room.sampling.to_json(),
            "context": self.room.context,
            "before": self.before.hash,
            "prompt": propose.PROMPT_HASH,
        }

    @cached_property
    def observed(self) -> list[str]:
        """The categories of which labels are proposed."""
        counts = Counter(one.category for one in self.collected.responses)
        return [name for name, n in counts.items() if n >= FEWEST]

    @cached_property
    def proposal(self) -> Proposal:
        """What the proposer makes of all parts, and of several lists of one category."""
        made = Proposal()
        lists = self._put(list(self._asked), made)
        while any(len(of) > 1 for of in lists.values()):
            kept, asked = self._merging(lists)
            merged = self._put(asked, made)
            lists = {name: [*kept[name], *merged.get(name, [])] for name in lists}
        made.labels = {name: of[0] for name, of in lists.items() if of}
        return made

    @cached_property
    def proposed(self) -> Rubrics:
        """The rubrics that were proposed."""
        return freeze.proposed(self.before, self.proposal.labels, self.observed)

    def work(self) -> list[Work]:
        """What it takes, at most: lists may have to be merged two at a time."""
        proposer = self.benchmark.proposer
        if self.settings.stage == "collect" or proposer is None:
            return []
        first = work(proposer, [one.request for one in self._asked])
        merged = sum(len(parts) - 1 for parts in self._parts.values())
        longest = self.room.sampling.max_new_tokens
        return [
            replace(
                first,
                model=f"{proposer.name} ({ROLE})",
                requests=first.requests + merged,
                read=first.read + 2 * merged * longest,
                written=first.written + merged * longest,
            )
        ]

    @cached_property
    def _parts(self) -> dict[str, list[list[Response]]]:
        """Category -> the responses of each request."""
        return {
            name: propose.batches(
                self.collected.of(name),
                self.collected.prompts,
                self._question(name),
                self.room,
                seed=self.settings.seed,
            )
            for name in self.observed
        }

    @cached_property
    def _asked(self) -> list[Asked]:
        """What is asked first: a request a part."""
        return [
            Asked(
                request=propose.request(
                    part, self.collected.prompts, self._question(name), self.room.sampling
                ),
                sources=[(one.respondent,) for one in part],
                texts=[one.text for one in part],
            )
            for name, parts in self._parts.items()
            for part in parts
        ]

    def _merging(
        self, lists: dict[str, list[Labels]]
    ) -> tuple[dict[str, list[Labels]], list[Asked]]:
        """The lists that stand alone in this round; and what is asked about the others."""
        kept: dict[str, list[Labels]] = {name: [] for name in lists}
        asked = []
        for name, of in lists.items():
            question = self._question(name)
            for several in propose.groups(of, question, self.room):
                if len(several) == 1:
                    kept[name] += several
                    continue
                labels = propose.flat(several)
                asked.append(
                    Asked(
                        request=propose.merging(labels, name, question, self.room.sampling),
                        sources=[label.derived_from for label in labels],
                        texts=[one.text for one in self.collected.of(name)],
                    )
                )
        return kept, asked

    def _put(self, asked: Sequence[Asked], made: Proposal) -> dict[str, list[Labels]]:
        """Category -> the lists proposed; `made` is told of all replies."""
        ask = self.helpers.ask(ROLE)
        assert ask is not None  # the configuration has checked that the stage has its model
        completions = ask([one.request for one in asked]) if asked else []
        made.replies += len(completions)
        lists: dict[str, list[Labels]] = {one.request.sample: [] for one in asked}
        for one, completion in zip(asked, completions, strict=True):
            found = read(completion, one.sources, one.texts)
            if not isinstance(found, str):
                lists[one.request.sample].append(found)
                continue
            made.unusable[found] += 1
            if found == "error":
                made.errors.append(completion.error or "")
        return lists

    def _question(self, category: str) -> str:
        return freeze.question_of(self.before, category)
