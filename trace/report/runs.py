"""A finished run: how it asked, and what was said of every sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trace.records import Json, Verdict
from trace.report.entry import Metric
from trace.report.judged import Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One line of records.jsonl. `gold` is the right label under the protocol of the run.

    `sample` is the metadata that breakdowns need; `reply` is what the judge wrote, and `key` says
    which completion that is.
    """

    id: str
    epoch: int
    gold: str
    class_: str
    cluster: str
    verdict: Verdict
    key: str
    reply: str
    sample: Mapping[str, Json]

    @property
    def scored(self) -> bool:
        """Whether there is a label."""
        return self.verdict.status == "ok"

    @property
    def right(self) -> bool:
        """Whether the label is the right one."""
        return self.verdict.label == self.gold

    def judged(self) -> Judged:
        """What the metrics need of it."""
        return Judged(
            gold=self.gold,
            verdict=self.verdict,
            cluster=self.cluster,
            class_=self.class_,
            sample=self.id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One judge under one protocol.

    `condition` names what was judged, where a benchmark offers several; it is empty where a
    condition says how. `variant` names what differs from the usual way of asking (condition, view,
    answer, parser, wording), empty for the usual one. `wording` is the protocol's own variant.
    `settings` are further ones that runs of one variant share: what -> its value as text. `weights`
    tell the model from others of its name. `own_prompt`: a guard's or a panel's, which others do
    not share. `guard` is its family of templates, `base` and `trained_on` what its configuration
    says of it; `quotes`: it was asked for evidence. `metrics` are those that the run itself wrote.
    `marks` say why the run is comparable only with care.
    """

    path: Path
    digest: str
    benchmark: str
    model: str
    kind: str
    family: str | None
    parameters: float | None
    protocol: str
    variant: str
    labels: tuple[str, ...]
    epochs: int
    data: Mapping[str, str]
    prompt: str
    observations: tuple[Observation, ...]
    wording: str = "plain"
    settings: Mapping[str, str] = field(default_factory=dict)
    weights: str = ""
    own_prompt: bool = False
    condition: str = ""
    guard: str | None = None
    base: str | None = None
    trained_on: str | None = None
    quotes: bool = False
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    marks: tuple[str, ...] = ()

    @property
    def negative(self) -> str:
        """The label that means no risk: a protocol names it first."""
        return self.labels[0]

    @property
    def under(self) -> str:
        """The protocol, and what was judged under it."""
        return ", ".join(filter(None, (self.protocol, self.condition)))

    @property
    def name(self) -> str:
        """What stands in tables."""
        return self._named(self.variant.split(", "))

    @property
    def name_without_wording(self) -> str:
        """`name`, the same for all wordings of one way of asking."""
        return self._named(part for part in self.variant.split(", ") if part != self.wording)

    def _named(self, variant: Iterable[str]) -> str:
        extra = [*filter(None, variant), *self.marks]
        return f"{self.model} ({', '.join(extra)})" if extra else self.model

    @property
    def once(self) -> tuple[Observation, ...]:
        """The first epoch: every sample once."""
        return tuple(o for o in self.observations if o.epoch == 0)
