"""A respondent before the requests of clarify, and who says whether its answers ask back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trace import config
from trace.benchmarks.base import Dataset
from trace.benchmarks.clarify import rule
from trace.benchmarks.clarify.items import Item, ItemSet, read_items
from trace.benchmarks.clarify.outcomes import Outcome
from trace.benchmarks.clarify.taxonomy import TAXONOMY
from trace.benchmarks.responses import unjudged
from trace.models.open import open_model
from trace.records import Completion, Json, Record, Request, Sampling
from trace.report.plan import Work
from trace.tasks.answers import addressed, answers
from trace.tasks.before_judges import judging
from trace.tasks.bench import Bench
from trace.tasks.beside import read_beside
from trace.tasks.planning import work

RULE = "rule"


class Clarifying:
    """What the respondent is asked, and what judges are asked of its answers.

    Without a panel the benchmark's own rule judges. Judges are greedy whatever the respondent is,
    and judge every answer once. `fresh` tells whether any completion was made now, and `used` what
    paid services counted.
    """

    def __init__(self, settings: config.Root) -> None:
        """Before anyone is asked; no model is opened.

        Raises:
            DataError: requests, or what stands beside them, cannot be read.
        """
        benchmark = settings.benchmark
        assert isinstance(benchmark, config.Clarify)
        self.settings = settings
        self.items = read_items(benchmark.path, limit=settings.limit, seed=settings.seed)
        empty = [(item, "") for item in self.items.items]
        self.bench = Bench(_judged_by(settings), _dataset(self.items, empty))
        self.beside = read_beside(settings, {item.id for item in self.items.items})
        self.fresh = False
        self.used: dict[str, Json] = {}

    @property
    def questions(self) -> list[Request]:
        """What the respondent is asked: each request as it stands, `epochs` times in a row."""
        sampling = Sampling(**config.plain(self.settings.sampling))
        asked = [
            Request(
                messages=({"role": "user", "content": item.text},),
                sampling=sampling,
                epoch=epoch,
                sample=item.id,
            )
            for item in self.items.items
            for epoch in range(self.settings.epochs)
        ]
        return addressed(asked, self.settings.model)

    def introduce(self) -> tuple[dict[str, Json], tuple[str, ...]]:
        """What identifies data, models and prompts, and what has to be said of them.

        Raises:
            TraceError: a model cannot be asked at all. Nothing has been written yet.
        """
        model = open_model(self.settings.model)
        model.prepare(self.questions[0])
        judges, prompt, notes = self.bench.introduce()
        origin = {
            "data": dict(self.items.fingerprint),
            "model": dict(model.identity),
            "judges": judges,
            "prompt": prompt,
            **self.beside.origin,
        }
        return origin, (self.items.note, *notes, *self.beside.notes, *_warnings(self.settings))

    def respond(self) -> tuple[list[Request], list[Completion]]:
        """What was asked, and the answers in that order."""
        of, asked = self.settings.model, self.questions
        model = open_model(of)
        made, fresh = answers(
            model,
            of.name,
            asked,
            self.settings.output_dir,
            unscored=lambda completion: unjudged(completion) is not None,
        )
        if model.usage:
            self.used[of.name] = dict(model.usage)
        self.fresh = self.fresh or fresh
        return asked, made

    def judge(self, asked: Sequence[Request], given: Sequence[Completion]) -> list[Outcome]:
        """Every answer with what is said of it, in order. A request may have several answers.

        The respondent is let go when the first judge is opened: only one of them is in memory.
        """
        by_id = {item.id: item for item in self.items.items}
        items = [by_id[request.sample] for request in asked]
        shown = [
            (item, completion.text)
            for item, completion in zip(items, given, strict=True)
            if unjudged(completion) is None
        ]
        records: list[Record] = []
        if shown:
            sitting = self.bench.facing(_dataset(self.items, shown)).sit(self.beside.excluded)
            records = sitting.records(self.bench.settings)
            self.fresh = self.fresh or sitting.fresh
            self.used.update({f"judges.{name}": said for name, said in sitting.used.items()})
        coming = iter(records)
        return [
            Outcome(
                item=item,
                response=completion,
                record=replace(
                    next(coming)
                    if unjudged(completion) is None
                    else self._unjudged(item, completion),
                    epoch=request.epoch,
                ),
            )
            for item, request, completion in zip(items, asked, given, strict=True)
        ]

    def work(self) -> tuple[Work, ...]:
        """What it takes, at most: a judge reads every answer as long as it may be."""
        responding = work(self.settings.model, self.questions)
        judging = [
            replace(once, model=f"{name} (judge)", requests=epochs * once.requests,
                    read=epochs * once.read + responding.written, written=epochs * once.written)
            for name, hearing in self.bench.hearings.items()
            if not isinstance(hearing.judge, config.RuleModel)
            for once, epochs in [(work(hearing.judge, hearing.questions()), self.settings.epochs)]
        ]  # fmt: skip
        return (responding, *judging)

    def _unjudged(self, item: Item, completion: Completion) -> Record:
        sample, verdict = item.shown(""), unjudged(completion)
        assert verdict is not None
        return Record(
            id=sample.id,
            gold=sample.gold,
            condition=self.settings.condition.name,
            protocol=self.settings.protocol.name,
            verdict=verdict,
            judges={},
            answers={},
            cluster=sample.cluster,
            excluded=self.beside.excluded.get(item.id, frozenset()),
            meta=sample.meta,
        )


def _judged_by(settings: config.Root) -> config.Root:
    """The settings of the judges: those given, or the rule alone."""
    if settings.judges is not None:
        return judging(settings)
    own = config.RuleModel(name=RULE, rule=config.OWN_RULE, engine=config.RuleEngine())
    return judging(
        replace(settings, judges=config.Judges(name=RULE, models={f"own_{RULE}": own}, min_valid=1))
    )


def _dataset(items: ItemSet, shown: Sequence[tuple[Item, str]]) -> Dataset:
    return Dataset(
        samples=tuple(item.shown(answer) for item, answer in shown),
        taxonomy=TAXONOMY,
        fingerprint=items.fingerprint,
        licence=items.licence,
        rule_judges={"asks_back": rule.judged},
    )


def _warnings(settings: config.Root) -> tuple[str, ...]:
    """What a configuration that can work still makes doubtful."""
    if settings.epochs > 1 and settings.sampling.temperature == 0:
        return (
            f"epochs={settings.epochs} at sampling.temperature=0 ask for the same answer again.",
        )
    return ()
