"""The judges of a run: one model, or a panel whose votes are combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from trace import config
from trace.benchmarks.base import Dataset
from trace.judging.labels import LabelSet, label_set
from trace.judging.panel import Rule, combined, rule_of
from trace.records import Json, Record, Verdict, digest
from trace.tasks.ask import Asked
from trace.tasks.hearing import Heard, Hearing, identity_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """What the judges said of every question, and the verdict that is scored.

    `others` are what the verdicts come to where answers are read otherwise. `identities` hash what
    tells each judge from others, `titles` are their names in a table; `excluded` maps a sample to
    the judges whose vote on it is set aside.
    """

    heard: Mapping[str, Heard]
    verdicts: Sequence[Verdict]
    identities: Mapping[str, str]
    titles: Mapping[str, str]
    others: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)
    excluded: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def asked(self) -> list[Asked]:
        """The questions, in order."""
        return next(iter(self.heard.values())).asked

    @property
    def fresh(self) -> bool:
        """Whether any completion was made now."""
        return any(heard.fresh for heard in self.heard.values())

    @property
    def used(self) -> dict[str, Json]:
        """What paid services counted, by judge."""
        return {name: dict(heard.used) for name, heard in self.heard.items() if heard.used}

    def votes(self, name: str, read: Sequence[Verdict]) -> list[Verdict | None]:
        """The verdicts of a judge, or another reading of them; None where its vote is set aside."""
        return [
            None if name in self.excluded.get(asked.sample.id, ()) else verdict
            for asked, verdict in zip(self.asked, read, strict=True)
        ]

    def records(self, settings: config.Root) -> list[Record]:
        """One record a question."""
        return [
            Record(
                id=asked.sample.id,
                gold=asked.sample.gold,
                condition=settings.condition.name,
                protocol=settings.protocol.name,
                verdict=verdict,
                judges={name: heard.verdicts[i] for name, heard in self.heard.items()},
                answers={name: heard.answers[i] for name, heard in self.heard.items()},
                identities=self.identities,
                excluded=self.excluded.get(asked.sample.id, frozenset()),
                cluster=asked.sample.cluster,
                epoch=asked.epoch,
                meta=asked.sample.meta,
            )
            for i, (asked, verdict) in enumerate(zip(self.asked, self.verdicts, strict=True))
        ]


class Bench:
    """The judges before a dataset."""

    def __init__(self, settings: config.Root, dataset: Dataset) -> None:
        self.settings = settings
        self.panel = settings.judges
        judges = {settings.model.name: settings.model} if self.panel is None else self.panel.models
        self.hearings = {name: Hearing(settings, dataset, j, name) for name, j in judges.items()}
        self.labels: LabelSet = label_set(settings.protocol.answers, dataset.taxonomy)
        self._identities: dict[str, str] = {}

    @property
    def name(self) -> str:
        """Stands in paths and tables."""
        return self.settings.model.name if self.panel is None else self.panel.name

    @property
    def title(self) -> str:
        """The scored row's name."""
        return self.name if self.panel else next(iter(self.hearings.values())).title

    def introduce(self) -> tuple[Json, str, tuple[str, ...]]:
        """What identifies the judges and their prompts, and what has to be said of them.

        Raises:
            TraceError: one of them cannot be asked at all. Nothing has been written yet.
        """
        models: dict[str, Json] = {}
        prompts: dict[str, str] = {}
        notes: list[str] = []
        for name, hearing in self.hearings.items():
            models[name], prompts[name], said = hearing.introduce()
            guard = hearing.judge.guard
            self._identities[name] = identity_hash(models[name], prompts[name], guard)
            notes += (note for note in said if note not in notes)
        if self.panel is None:
            (model,), (prompt,) = models.values(), prompts.values()
            return model, prompt, tuple(notes)
        return models, digest(prompts), tuple(notes)

    def facing(self, dataset: Dataset) -> Bench:
        """The same judges, introduced already, before other samples of the same kind."""
        made = Bench(self.settings, dataset)
        made._identities = self._identities
        made.hearings = {name: hearing.facing(dataset) for name, hearing in self.hearings.items()}
        return made

    def sit(self, excluded: Mapping[str, frozenset[str]]) -> Sitting:
        """Hears one judge after the other, and combines what they say.

        Args:
            excluded: sample -> judges of a panel that are asked, but have no vote on it.
        """
        heard = {name: hearing.hear() for name, hearing in self.hearings.items()}
        asked = next(iter(heard.values())).asked

        def verdicts(reading: str | None) -> Sequence[Verdict]:
            """Of the judges together; one whose answers have no such reading says the same."""
            said = {
                name: one.verdicts if reading is None else one.others.get(reading, one.verdicts)
                for name, one in heard.items()
            }
            return self._combined(asked, said, excluded)

        return Sitting(
            heard=heard,
            verdicts=verdicts(None),
            others={r: verdicts(r) for r in sorted({r for h in heard.values() for r in h.others})},
            identities=self._identities,
            titles={name: hearing.title for name, hearing in self.hearings.items()},
            excluded=excluded,
        )

    def _combined(
        self,
        asked: Sequence[Asked],
        said: Mapping[str, Sequence[Verdict]],
        excluded: Mapping[str, frozenset[str]],
    ) -> Sequence[Verdict]:
        if self._rule is None:
            (alone,) = said.values()
            return alone
        return [
            combined(
                dict(zip(said, votes, strict=True)),
                self._rule,
                self.labels.negative,
                excluded.get(one.sample.id, ()),
            )
            for one, *votes in zip(asked, *said.values(), strict=True)
        ]

    @cached_property
    def _rule(self) -> Rule | None:
        return None if self.panel is None else rule_of(self.panel)
