"""A respondent before the items of the cross-laboratory study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from trace import config
from trace.benchmarks.cross_lab.items import Item, Wording
from trace.benchmarks.cross_lab.outcomes import Answer
from trace.benchmarks.cross_lab.rubric import CORE
from trace.benchmarks.cross_lab.samples import Agenda, longer, questions
from trace.benchmarks.responses import unjudged
from trace.models.open import open_model
from trace.records import Completion, Json, Request, Sampling
from trace.tasks.answers import addressed, answers


@dataclass(frozen=True, kw_only=True)
class Administration:
    """What a respondent is asked in one wording, and again where it was cut off.

    A smaller arm judges answers of the main arm, so it asks for them in the same way: a mock deals
    the same replies, and `regenerate=model` looks at all items.
    """

    settings: config.Root
    benchmark: config.CrossLab
    agenda: Agenda

    @property
    def wording(self) -> Wording:
        """What the respondent is given."""
        condition = self.settings.condition
        assert isinstance(condition, config.WordingCondition)
        return condition.wording  # type: ignore[return-value]  # the configuration has checked it

    def prepare(self) -> dict[str, Json]:
        """What identifies the respondent. No weights are loaded.

        Raises:
            TraceError: it cannot be asked at all.
        """
        model = open_model(self.settings.model)
        model.prepare(self._asked(self.wording, self.agenda.items)[0])
        return dict(model.identity)

    def planned(self) -> list[Request]:
        """What it is asked, if everything that may be asked again is."""
        items = self.agenda.items
        most = self._asked(self.wording, self._first)
        if self.benchmark.regenerate == "model":
            most += self._asked(self._other, self._first)
        if self.benchmark.regenerate != "none":
            most += self._longer(self._asked(self.wording, _core(items)))
        return most

    @property
    def tokens(self) -> dict[str, int]:
        """The most that the answer to each item may have in the end, by id."""
        first = self.settings.sampling.max_new_tokens
        again = set() if self.benchmark.regenerate == "none" else _ids(_core(self.agenda.items))
        return {
            item.id: round(self.benchmark.budget * first) if item.id in again else first
            for item in self.agenda.items
        }

    def respond(self) -> tuple[list[Answer], dict[str, Json], bool]:
        """Every answer, in the order asked; what was used of a service; whether any is new.

        With `regenerate=model` both wordings are asked, lest one of them is longer than the other;
        the log has them for the run of the other wording.
        """
        asked = self._asked(self.wording, self._first)
        responses, fresh = self._ask(asked)
        again: set[str] = set()
        if self.benchmark.regenerate == "model":
            other = self._asked(self._other, self._first)
            others, made = self._ask(other)
            fresh = fresh or made
            if self._cut(asked, responses) or self._cut(other, others):
                again = _ids(_core(self.agenda.main))
        items = {item.id: item for item in self.agenda.items}
        kept = {
            (request.sample, request.epoch): (request, completion)
            for request, completion in zip(asked, responses, strict=True)
            if request.sample in items
        }
        cut = self._cut(asked, responses) if self.benchmark.regenerate == "truncated" else set()
        repeated = self._longer(
            [r for key, (r, _) in kept.items() if r.sample in again or key in cut]
        )
        if repeated:
            completions, made = self._ask(repeated)
            fresh = fresh or made
            for request, completion in zip(repeated, completions, strict=True):
                kept[request.sample, request.epoch] = request, completion
        twice = {(request.sample, request.epoch) for request in repeated}
        given = [
            Answer(
                item=items[id_],
                epoch=epoch,
                response=completion,
                tokens=request.sampling.max_new_tokens,
                asked_again=(id_, epoch) in twice,
            )
            for (id_, epoch), (request, completion) in kept.items()
        ]
        return given, dict(open_model(self.settings.model).usage), fresh

    @property
    def _other(self) -> Wording:
        return "steered" if self.wording == "base" else "base"

    @property
    def _first(self) -> Sequence[Item]:
        """The items that are asked at first."""
        whole = self.benchmark.regenerate == "model"
        return self.agenda.main if whole else self.agenda.items

    def _asked(self, wording: Wording, items: Iterable[Item]) -> list[Request]:
        """The requests of some items, addressed among those of the main arm."""
        wanted, settings = _ids(items), self.settings
        sampling = Sampling(**config.plain(settings.sampling))
        whole = questions(self.agenda.main, wording, sampling, settings.epochs)
        return [r for r in addressed(whole, settings.model) if r.sample in wanted]

    def _longer(self, requests: Sequence[Request]) -> list[Request]:
        """The same with more tokens; a mock goes on behind the replies of the first round."""
        before = len(self.agenda.main) * self.settings.epochs
        return [
            one if one.reply is None else replace(one, reply=one.reply + before)
            for one in longer(requests, self.benchmark.budget)
        ]

    def _ask(self, requests: Sequence[Request]) -> tuple[list[Completion], bool]:
        return answers(
            open_model(self.settings.model),
            self.settings.model.name,
            requests,
            self.settings.output_dir,
            unscored=lambda completion: unjudged(completion) is not None,
        )

    def _cut(self, asked: Sequence[Request], made: Sequence[Completion]) -> set[tuple[str, int]]:
        """Which core answers the token limit cut off, by item and epoch."""
        core = _ids(_core(self.agenda.main))
        return {
            (request.sample, request.epoch)
            for request, one in zip(asked, made, strict=True)
            if request.sample in core and (one.finish == "length" or not one.reasoning_closed)
        }


def _core(items: Iterable[Item]) -> list[Item]:
    return [item for item in items if item.category in CORE]


def _ids(items: Iterable[Item]) -> set[str]:
    return {item.id for item in items}
