"""Peers before the answers of a respondent: each votes blind for a label of the rubric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from trace import config
from trace.benchmarks.cross_lab import judging, traces
from trace.benchmarks.cross_lab.items import Wording
from trace.benchmarks.cross_lab.masking import Masked, masked
from trace.benchmarks.cross_lab.outcomes import Answer, Outcome, Vote
from trace.benchmarks.cross_lab.rubric import Rubric
from trace.benchmarks.cross_lab.samples import Agenda
from trace.judging.panel import rule_of
from trace.models.mock import plant
from trace.records import Completion, Json, Request, Sampling, Verdict, digest
from trace.report.plan import Work
from trace.tasks.helpers import Helpers
from trace.tasks.planning import work

_EPOCHS = {"main": 0, "repeat": 1, "field_free": 1}
"""Arm -> epoch of what judges are asked: both smaller arms are judged afresh."""
_TRACE = "trace_judge"


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

    @cached_property
    def helpers(self) -> Helpers:
        """The judges that are models, and who reads traces."""
        models = {
            f"judges.{name}": model
            for name, model in self.seats.items()
            if not isinstance(model, config.RuleModel)
        }
        if self.benchmark.trace_judge is not None:
            models[_TRACE] = self.benchmark.trace_judge
        return Helpers(models, self.settings.output_dir)

    def introduce(self, respondent: Mapping[str, Json]) -> tuple[Peers, dict[str, Json]]:
        """The same with the respondent's own seats found; and what identifies judges and prompts.

        Args:
            respondent: what identifies it. A judge of the same name, or that nothing tells from
                it, is the respondent itself.

        Raises:
            TraceError: one of them cannot be asked at all. Nothing has been written yet.
        """
        found = self._prepared()
        name = self.settings.model.name
        own = [n for n, of in self.seats.items() if of.name == name or found[n] == respondent]
        prompt = judging.prompt_hash(self.agenda.rubrics.of, context=self._context)
        origin: dict[str, Json] = {
            "judges": {seat: found[seat] for seat in self.seats},
            "own": own,
            "rubrics": self.agenda.rubrics.hash,
            "prompt": {"judges": prompt},
        }
        if _TRACE in found:
            origin[_TRACE] = found[_TRACE]
            asked = {traces.RUBRIC.category: traces.RUBRIC}
            origin["prompt"]["trace"] = judging.prompt_hash(asked, context=False)
        hashes = {seat: digest([found[seat], prompt])[:16] for seat in self.seats}
        return replace(self, own=frozenset(own), identities=hashes), origin

    def judge(
        self, given: Sequence[Answer], excluded: Mapping[str, frozenset[str]]
    ) -> list[Outcome]:
        """The answers with the votes of all judges, one judge after the other.

        Args:
            given: what the respondent said.
            excluded: item -> judges whose vote on it is set aside.
        """
        names = [model.name for model in (self.settings.model, *self.seats.values())]
        shown = [masked(answer.response.text, names) for answer in given]
        votes = {name: self._votes(name, given, shown) for name in self.seats}
        traced = self._traces(given)
        assert self.settings.judges is not None
        return [
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

    def work(self, written: int) -> list[Work]:
        """What it takes, at most.

        Args:
            written: tokens of all answers, as long as they may be; each judge reads them.
        """
        empty = [
            Answer(item=item, epoch=epoch, response=Completion(key=""), tokens=0)
            for item in self.agenda.items
            for epoch in range(self.settings.epochs)
        ]
        asked = [self._question(answer, Masked(text="")) for answer in empty]
        return [
            replace(one, read=one.read + written, model=f"{name} (judge)")
            for name, model in self.seats.items()
            if not isinstance(model, config.RuleModel)
            for one in [work(model, asked)]
        ]

    @property
    def _context(self) -> bool:
        return self.benchmark.arm != "field_free"

    def _prepared(self) -> dict[str, Json]:
        """Seat, or trace judge -> what identifies it."""
        prepared = self.helpers.prepare()
        found = {role.removeprefix("judges."): identity for role, identity in prepared.items()}
        for name, model in self.seats.items():
            if isinstance(model, config.RuleModel):
                found[name] = {"rule": model.rule}
        return found

    def _votes(
        self, name: str, given: Sequence[Answer], shown: Sequence[Masked]
    ) -> dict[int, Vote]:
        """What one judge says of every answer that can be judged, asked in an order of its own."""
        rubrics = self.agenda.rubrics.of
        places = [i for i, answer in enumerate(given) if answer.unjudged is None]
        cued = {i: rubrics[given[i].item.category].cued(shown[i].text) for i in places}
        judge, seed = self.seats[name], self.settings.seed
        if isinstance(judge, config.RuleModel):
            return {i: Vote(verdict=Verdict(status="ok", label=cued[i])) for i in places}
        places.sort(key=lambda i: digest([name, seed, given[i].item.id, given[i].epoch]))
        requests = [self._question(given[i], shown[i]) for i in places]
        if isinstance(judge, config.MockModel) and judge.rates:
            requests = [
                replace(request, planted=plant("default", cued[i], self._rubric(given[i]).names))
                for i, request in zip(places, requests, strict=True)
            ]
        ask = self.helpers.ask(f"judges.{name}")
        assert ask is not None
        made = zip(places, ask(requests), strict=True)
        return {i: self._vote(completion, self._rubric(given[i])) for i, completion in made}

    def _traces(self, given: Sequence[Answer]) -> dict[int, Vote]:
        """What became of the values in each trace of the category that suppresses them."""
        ask = self.helpers.ask(_TRACE)
        if ask is None:
            return {}
        shown = {
            i: answer.response.reasoning
            for i, answer in enumerate(given)
            if answer.item.category == traces.CATEGORY and answer.response.reasoning
        }
        asked = [self._request(given[i], text, traces.RUBRIC, False) for i, text in shown.items()]
        made = zip(shown, ask(asked), strict=True)
        return {i: self._vote(completion, traces.RUBRIC) for i, completion in made}

    def _rubric(self, answer: Answer) -> Rubric:
        return self.agenda.rubrics.of[answer.item.category]

    def _vote(self, completion: Completion, rubric: Rubric) -> Vote:
        normalise = self.settings.protocol.normalise
        return Vote(verdict=judging.read(completion, rubric, normalise), completion=completion)

    def _question(self, answer: Answer, shown: Masked) -> Request:
        return self._request(answer, shown.text, self._rubric(answer), self._context)

    def _request(self, answer: Answer, text: str, rubric: Rubric, context: bool) -> Request:
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
        )
