"""The studies whose runs can be taken up again: what each asked, and how it judges new answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from trace import config
from trace.benchmarks.answerable import answerable
from trace.benchmarks.load import load
from trace.benchmarks.strongreject import outcomes, prompts, rubric
from trace.errors import ConfigError
from trace.models.open import open_model
from trace.models.unopened import Unopened
from trace.records import Completion, Json, Request, Sampling, Verdict
from trace.tasks.answers import addressed, answers
from trace.tasks.ask import Interview
from trace.tasks.panel_studies import ClarifyStudy, CrossLabStudy, RagSafetyStudy
from trace.tasks.recorded import Recorded


class Study(Protocol):
    """One kind of run, as this version asks and judges."""

    fingerprint: Mapping[str, str]
    """File name -> sha256 of the data as it is now."""

    @property
    def fresh(self) -> bool:
        """Whether a judge made any completion now."""

    @property
    def used(self) -> Mapping[str, Json]:
        """What paid services counted for judges now, by judge."""

    def requests(self) -> list[Request]:
        """All that the run can have asked its model; nothing is asked."""

    def check_judges(self) -> None:
        """Whether judges and their prompts are those of the run; no weights are loaded.

        Raises:
            TraceError: one is not, or cannot be asked.
        """

    def judge(self, asked: Sequence[Request], made: Sequence[Completion]) -> list[Verdict]:
        """Of new answers, one a request, in order; a request may come several times."""


def study_of(recorded: Recorded) -> Study:
    """The study of a run.

    Raises:
        ConfigError: its answers have no text, or are not of one model.
        DataError: its data cannot be read.
    """
    benchmark = recorded.settings.benchmark
    if isinstance(benchmark, config.StrongReject):
        return StrongRejectStudy(recorded, benchmark)
    if isinstance(benchmark, config.RagSafety):
        return RagSafetyStudy(recorded, benchmark)
    if isinstance(benchmark, config.CrossLab):
        return CrossLabStudy(recorded, benchmark)
    if isinstance(benchmark, config.Clarify):
        return ClarifyStudy(recorded)
    return ContentStudy(recorded)


class ContentStudy:
    """A judge before samples: its own verdicts are the answers, and nobody is asked of them."""

    fresh = False
    used: Mapping[str, Json] = {}

    def __init__(self, recorded: Recorded) -> None:
        settings, path = recorded.settings, recorded.path
        if settings.judges is not None:
            raise ConfigError(
                f"probe.run: {path} was judged by the panel {settings.judges.name}, so no one "
                "model wrote its verdicts. Give a run of a single model."
            )
        if settings.protocol.answer == "score":
            raise ConfigError(
                f"probe.run: {path} read likelihoods, and nothing was written. Run it again with "
                "protocol.answer=generate."
            )
        dataset = load(
            settings.benchmark,
            condition=settings.condition,
            limit=settings.limit,
            seed=settings.seed,
        )
        dataset = answerable(dataset, settings.protocol.answers)
        self.fingerprint = dataset.fingerprint
        self._settings = settings
        counts = settings.condition.tokens is not None  # in tokens of the model itself
        opened = counts or isinstance(settings.model, config.MockModel)
        model = open_model(settings.model) if opened else Unopened()
        self._interview = Interview(settings, dataset, model, settings.model).under_condition()
        if len(self._interview.requests) != len(self._interview.asked):
            raise ConfigError(
                f"probe.run: {path}: {settings.model.name} is asked several things of a sample, so "
                "no one answer has the label. Give a run of a model that is asked one."
            )

    def requests(self) -> list[Request]:
        """One a sample and epoch."""
        return self._interview.requests

    def check_judges(self) -> None:
        """There is none but the model."""

    def judge(self, asked: Sequence[Request], made: Sequence[Completion]) -> list[Verdict]:
        """By the parser of the run."""
        interview = self._interview
        of = {(one.sample.id, one.epoch): one for one in interview.asked}
        released = self._settings.scoring.parser == "released" and not interview.guarding
        return [
            interview.released([completion], one)
            if released
            else interview.strict([completion], one.sample)
            for request, completion in zip(asked, made, strict=True)
            for one in [of[request.sample, request.epoch]]
        ]


class StrongRejectStudy:
    """A respondent before forbidden prompts, and one judge who grades."""

    def __init__(self, recorded: Recorded, benchmark: config.StrongReject) -> None:
        settings = recorded.settings
        path = Path(benchmark.path).expanduser()
        self._prompts = prompts.read(path, limit=settings.limit, seed=settings.seed)
        self.fingerprint = self._prompts.fingerprint
        self.fresh = False
        self.used: dict[str, Json] = {}
        self._recorded, self._judge = recorded, benchmark.judge

    def requests(self) -> list[Request]:
        """One a prompt and epoch."""
        settings = self._recorded.settings
        sampling = Sampling(**config.plain(settings.sampling))
        asked = outcomes.questions(self._prompts.samples, epochs=settings.epochs, sampling=sampling)
        return addressed(asked, settings.model)

    def check_judges(self) -> None:
        """The judge's model and the rubric."""
        judge = open_model(self._judge)
        self._recorded.check_same("judge", dict(judge.identity), f"the judge {self._judge.name}")
        self._recorded.check_same("prompt", rubric.PROMPT_HASH, "the rubric")

    def judge(self, asked: Sequence[Request], made: Sequence[Completion]) -> list[Verdict]:
        """By the rubric."""
        samples = self._prompts.samples
        to_grade = addressed(outcomes.to_judge(samples, asked, made), self._judge)
        grades: Sequence[Completion] = ()
        if to_grade:
            name, output_dir = self._judge.name, self._recorded.settings.output_dir
            model = open_model(self._judge)
            grades, made_now = answers(model, name, to_grade, output_dir)
            self.fresh = self.fresh or made_now
            if model.usage:
                self.used["benchmark.judge"] = dict(model.usage)
        return [outcome.verdict for outcome in outcomes.fold(samples, asked, made, grades)]
