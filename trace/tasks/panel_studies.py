"""The studies whose answers a panel judges, taken up again from a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property

from trace import config
from trace.benchmarks.cross_lab.outcomes import Answer as LabAnswer
from trace.benchmarks.cross_lab.samples import agenda
from trace.benchmarks.rag_safety import samples as rag_samples
from trace.benchmarks.rag_safety.outcomes import Answer as RagAnswer
from trace.errors import ConfigError
from trace.models.open import open_model
from trace.records import Completion, Json, Request, Verdict
from trace.tasks.administer import Administration
from trace.tasks.answering import Answering
from trace.tasks.answers import addressed
from trace.tasks.beside import Beside, read_beside
from trace.tasks.clarifying import Clarifying
from trace.tasks.fitting import fitted
from trace.tasks.peers import Peers
from trace.tasks.recorded import Recorded


class RagSafetyStudy:
    """A respondent before questions with documents, and a panel."""

    def __init__(self, recorded: Recorded, benchmark: config.RagSafety) -> None:
        settings = recorded.settings
        condition = settings.condition
        assert isinstance(condition, config.RagCondition)
        if condition.filter in ("corpus", "retrieval"):
            raise ConfigError(
                f"probe.run: {recorded.path}: condition.filter={condition.filter} dropped "
                "documents, so its questions are not those of the data. Give a run without it."
            )
        dataset = rag_samples.of(
            benchmark, condition=condition, limit=settings.limit, seed=settings.seed
        )
        self.fingerprint = dataset.fingerprint
        self.fresh = False
        self.used: dict[str, Json] = {}
        self._recorded = recorded
        self._answering = Answering.begun(settings, benchmark, dataset)

    def requests(self) -> list[Request]:
        """One a message and epoch, cut to the context of the run's model."""
        answering, settings = self._answering, self._recorded.settings
        dataset = fitted(answering.dataset, open_model(settings.model), settings)
        return addressed(dataclasses.replace(answering, dataset=dataset).questions, settings.model)

    def check_judges(self) -> None:
        """The panel, its prompts, and the votes that are set aside."""
        judges, prompt, _ = self._answering.bench.introduce()
        self._recorded.check_same("judges", judges, "its judges")
        self._recorded.check_same("prompt.harm", prompt, "the prompts of its judges")
        _check_beside(self._recorded, self._beside)

    def judge(self, asked: Sequence[Request], made: Sequence[Completion]) -> list[Verdict]:
        """By the panel, and by no filter."""
        of = {sample.id: sample for sample in self._answering.dataset.samples}
        given = [
            RagAnswer(sample=of[request.sample], epoch=request.epoch, response=completion)
            for request, completion in zip(asked, made, strict=True)
        ]
        sitting = self._answering.sit(given, self._beside.excluded)
        if sitting is None:
            return [answer.unjudged for answer in given if answer.unjudged]
        self.fresh = self.fresh or sitting.fresh
        self.used.update({f"judges.{name}": used for name, used in sitting.used.items()})
        coming = iter(sitting.verdicts)
        return [answer.unjudged or next(coming) for answer in given]

    @cached_property
    def _beside(self) -> Beside:
        ids = {sample.id for sample in self._answering.dataset.samples}
        return read_beside(self._recorded.settings, ids)


class CrossLabStudy:
    """A respondent before items in one wording, and its peers."""

    def __init__(self, recorded: Recorded, benchmark: config.CrossLab) -> None:
        settings = recorded.settings
        asked = agenda(benchmark, limit=settings.limit, seed=settings.seed)
        self.fingerprint = asked.fingerprint
        self.fresh = False
        self.used: dict[str, Json] = {}
        self._recorded, self._agenda = recorded, asked
        self._administration = Administration(settings=settings, benchmark=benchmark, agenda=asked)
        self._peers = Peers(
            settings=settings,
            benchmark=dataclasses.replace(benchmark, trace_judge=None),  # labels no answer
            agenda=asked,
            wording=self._administration.wording,
            own=frozenset(recorded.manifest["own"]),
        )

    def requests(self) -> list[Request]:
        """One an item and epoch, and those that may have been asked again."""
        return self._administration.planned()

    def check_judges(self) -> None:
        """The peers, the rubrics with their prompts, and the votes that are set aside."""
        _, now = self._peers.introduce(self._recorded.answered)
        for key, value, what in (
            ("judges", now["judges"], "its judges"),
            ("rubrics", now["rubrics"], "the rubrics"),
            ("prompt.judges", now["prompt"]["judges"], "the prompts of its judges"),
        ):
            self._recorded.check_same(key, value, what)
        _check_beside(self._recorded, self._beside)

    def judge(self, asked: Sequence[Request], made: Sequence[Completion]) -> list[Verdict]:
        """By the votes of the peers."""
        of = {item.id: item for item in self._agenda.items}
        given = [
            LabAnswer(
                item=of[request.sample],
                epoch=request.epoch,
                response=completion,
                tokens=request.sampling.max_new_tokens,
            )
            for request, completion in zip(asked, made, strict=True)
        ]
        heard = self._peers.judge(given, self._beside.excluded)
        self.fresh = self.fresh or heard.fresh
        self.used.update(heard.used)
        return [outcome.verdict for outcome in heard.outcomes]

    @cached_property
    def _beside(self) -> Beside:
        return read_beside(self._recorded.settings, {item.id for item in self._agenda.items})


class ClarifyStudy:
    """A respondent before requests that lack something, and a rule or a panel."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._clarifying = Clarifying(recorded.settings)
        self.fingerprint = self._clarifying.items.fingerprint

    @property
    def fresh(self) -> bool:
        """Whether a judge made any completion now."""
        return self._clarifying.fresh

    @property
    def used(self) -> Mapping[str, Json]:
        """What paid services counted for judges now, by judge."""
        return self._clarifying.used

    def requests(self) -> list[Request]:
        """One a request and epoch."""
        return self._clarifying.questions

    def check_judges(self) -> None:
        """The rule or the panel, its prompts, and the votes that are set aside."""
        judges, prompt, _ = self._clarifying.bench.introduce()
        self._recorded.check_same("judges", judges, "its judges")
        self._recorded.check_same("prompt", prompt, "the prompts of its judges")
        _check_beside(self._recorded, self._clarifying.beside)

    def judge(self, asked: Sequence[Request], made: Sequence[Completion]) -> list[Verdict]:
        """By the rule or the panel."""
        return [outcome.record.verdict for outcome in self._clarifying.judge(asked, made)]


def _check_beside(recorded: Recorded, beside: Beside) -> None:
    if (now := beside.origin.get("exclusions")) is not None:
        recorded.check_same("exclusions", now, "judges.exclusions")
