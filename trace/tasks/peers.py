"""Peers before the answers of a respondent: each votes blind for a label of the rubric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trace import config
from trace.benchmarks.cross_lab import judging, traces
from trace.benchmarks.cross_lab.items import Item, Wording
from trace.benchmarks.cross_lab.masking import Masked, masked
from trace.benchmarks.cross_lab.outcomes import Answer, Outcome, Vote
from trace.benchmarks.cross_lab.rubric import Rubric
from trace.benchmarks.cross_lab.samples import Agenda
from trace.errors import ConfigError
from trace.judging.panel import rule_of
from trace.models.mock import plant
from trace.records import Completion, Json, Request, Sampling, Verdict, digest
from trace.report.plan import Work
from trace.tasks.planning import work
from trace.tasks.seats import Asking, identity_of, refuse_twins

_EPOCHS = {"main": 0, "repeat": 1, "field_free": 1}
"""Arm -> epoch of what judges are asked: both smaller arms are judged afresh."""
_TRACE = "trace_judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The answers with all votes, what was used of the judges' services, and whether any is new."""

    outcomes: list[Outcome]
    used: Mapping[str, Json]
    fresh: bool


@dataclass(frozen=True, kw_only=True)
class Peers:
    """The judges of a run. `own` names the seats that are the respondent itself."""

    settings: config.Root
    benchmark: config.CrossLab
    agenda: Agenda
    wording: Wording
    own: frozenset[str] = frozenset()
    identities: Mapping[str, str] | None = None

    @property
    def seats(self) -> dict[str, config.Model]:
        """Every judge, the respondent's own seat among them."""
        assert self.settings.judges is not None
        return self.settings.judges.models

    def introduce(self, respondent: Mapping[str, Json]) -> tuple[Peers, dict[str, Json]]:
        """The same with the respondent's own seats found; and what identifies judges and prompts.

        Args:
            respondent: what identifies it. A judge of the same name, or that nothing tells from
                it, is the respondent itself.

        Raises:
            TraceError: one of them cannot be asked at all, two are one model, or one only goes by
                the respondent's name. Nothing has been written yet.
        """
        first = {item.category: item for item in self.agenda.items}
        asked = [self._planted(_empty(item), Masked(text="")) for item in first.values()]
        found = {
            name: identity_of(f"judges.models.{name}", model, asked)
            for name, model in self.seats.items()
        }
        refuse_twins(found)
        name = self.settings.model.name
        own = [n for n, of in self.seats.items() if of.name == name or found[n] == respondent]
        if name in self.seats and name not in own:
            raise ConfigError(
                f"judges.models.{name}: has the respondent's name and is another model, so its "
                "votes would pass for the respondent's own. Give the seat another name."
            )
        prompt = judging.prompt_hash(self.agenda.rubrics.of, context=self._context)
        origin: dict[str, Json] = {
            "judges": found,
            "own": own,
            "rubrics": self.agenda.rubrics.hash,
            "prompt": {"judges": prompt},
        }
        if (reader := self.benchmark.trace_judge) is not None:
            traced = [self._of_trace(_empty(self.agenda.items[0]), "")]
            origin[_TRACE] = identity_of(f"benchmark.{_TRACE}", reader, traced)
            origin["prompt"]["trace"] = judging.prompt_hash(
                {traces.RUBRIC.category: traces.RUBRIC}, context=False, what="reasoning"
            )
        hashes = {seat: digest([found[seat], prompt])[:16] for seat in self.seats}
        return replace(self, own=frozenset(own), identities=hashes), origin

    def judge(self, given: Sequence[Answer], excluded: Mapping[str, frozenset[str]]) -> Heard:
        """The answers with the votes of all judges, one judge after the other.

        Args:
            given: what the respondent said.
            excluded: item -> judges whose vote on it is set aside.
        """
        asking = Asking(output_dir=self.settings.output_dir)
        shown = [self._masked(answer.response.text) for answer in given]
        votes = {name: self._votes(asking, name, given, shown) for name in self.seats}
        traced = self._traces(asking, given)
        assert self.settings.judges is not None
        outcomes = [
            Outcome(
                answer=answer,
                shown=shown[i],
                votes={name: made[i] for name, made in votes.items() if i in made},
                own=self.own,
                rule=rule_of(self.settings.judges),
                excluded=excluded.get(answer.item.id, frozenset()),
                trace=traced.get(i),
                identities=self.identities or {},
            )
            for i, answer in enumerate(given)
        ]
        return Heard(outcomes=outcomes, used=asking.used, fresh=asking.fresh)

    def work(self, tokens: Mapping[str, int]) -> list[Work]:
        """What it takes, at most.

        Args:
            tokens: the most that the answer to each item may have; each judge reads them all.
        """
        epochs = range(self.settings.epochs)
        empty = [_empty(item, epoch) for item in self.agenda.items for epoch in epochs]
        asked = {
            f"{name} (judge)": (model, [self._question(one, Masked(text="")) for one in empty])
            for name, model in self.seats.items()
            if not isinstance(model, config.RuleModel)
        }
        if (reader := self.benchmark.trace_judge) is not None:
            shown = [one for one in empty if one.item.category == traces.CATEGORY]
            asked[f"{reader.name} (traces)"] = reader, [self._of_trace(one, "") for one in shown]
        return [
            replace(one, read=one.read + sum(tokens[r.sample] for r in requests), model=name)
            for name, (model, requests) in asked.items()
            for one in [work(model, requests)]
        ]

    @property
    def _context(self) -> bool:
        return self.benchmark.arm != "field_free"

    def _masked(self, text: str) -> Masked:
        models = [self.settings.model, *self.seats.values()]
        models = [model for model in models if not isinstance(model, config.RuleModel)]
        return masked(text, [name for model in models for name in (model.name, model.id) if name])

    def _votes(
        self, asking: Asking, name: str, given: Sequence[Answer], shown: Sequence[Masked]
    ) -> dict[int, Vote]:
        """What one judge says of every answer that can be judged, asked in an order of its own."""
        places = [i for i, answer in enumerate(given) if answer.unjudged is None]
        judge, seed = self.seats[name], self.settings.seed
        if isinstance(judge, config.RuleModel):
            cued = {i: self._rubric(given[i]).cued(shown[i].text) for i in places}
            return {i: Vote(verdict=Verdict(status="ok", label=cued[i])) for i in places}
        places.sort(key=lambda i: digest([name, seed, given[i].item.id, given[i].epoch]))
        requests = [self._planted(given[i], shown[i]) for i in places]
        made = zip(places, asking.put(f"judges.{name}", judge, requests), strict=True)
        return {i: self._vote(completion, self._rubric(given[i])) for i, completion in made}

    def _traces(self, asking: Asking, given: Sequence[Answer]) -> dict[int, Vote]:
        """What became of the values in each trace of the category that suppresses them."""
        if (reader := self.benchmark.trace_judge) is None:
            return {}
        shown = {
            i: self._masked(answer.response.reasoning).text
            for i, answer in enumerate(given)
            if answer.item.category == traces.CATEGORY and answer.response.reasoning
        }
        asked = [self._of_trace(given[i], text) for i, text in shown.items()]
        made = zip(shown, asking.put(_TRACE, reader, asked), strict=True)
        return {i: self._vote(completion, traces.RUBRIC) for i, completion in made}

    def _rubric(self, answer: Answer) -> Rubric:
        return self.agenda.rubrics.of[answer.item.category]

    def _vote(self, completion: Completion, rubric: Rubric) -> Vote:
        normalise = self.settings.protocol.normalise
        return Vote(verdict=judging.read(completion, rubric, normalise), completion=completion)

    def _planted(self, answer: Answer, shown: Masked) -> Request:
        """The question, with what the rule says for a mock that errs at planted rates."""
        rubric = self._rubric(answer)
        planted = plant("default", rubric.cued(shown.text), rubric.names)
        return replace(self._question(answer, shown), planted=planted)

    def _question(self, answer: Answer, shown: Masked) -> Request:
        rubric = self._rubric(answer)
        return self._request(answer, shown.text, rubric, self._context, "response")

    def _of_trace(self, answer: Answer, text: str) -> Request:
        return self._request(answer, text, traces.RUBRIC, False, "reasoning")

    def _request(
        self, answer: Answer, text: str, rubric: Rubric, context: bool, what: str
    ) -> Request:
        """Judges are greedy, whatever the respondent is."""
        return judging.request(
            answer.item,
            answer.item.prompt(self.wording),
            text,
            rubric,
            context=context,
            scored=self.settings.protocol.answer == "score",
            sampling=Sampling(max_new_tokens=self.settings.sampling.max_new_tokens),
            epoch=_EPOCHS[self.benchmark.arm],
            what=what,
        )


def _empty(item: Item, epoch: int = 0) -> Answer:
    return Answer(item=item, epoch=epoch, response=Completion(key=""), tokens=0)
