"""What every benchmark gives to a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from trace.judging.taxonomy import Taxonomy
from trace.records import Completion, Request, Sample, Verdict
from trace.report.grid import Grid

RuleJudge = Callable[[Sample], str]
"""A judge that needs no model: the class it sees in a sample, or benign's name."""

Ask = Callable[[Sequence[Request]], Sequence[Completion]]
"""Puts requests to a model and returns its completions in their order. A task gives it to a
benchmark that needs a model to be made: the benchmark itself knows none."""


class Study(Protocol):
    """What a benchmark measures beyond what every judge is measured by."""

    def measure(
        self,
        samples: Sequence[Sample],
        verdicts: Sequence[Verdict],
        *,
        negative: str,
        answers: str,
        quotes: bool,
        family: str | None,
        unscored: str,
        draws: int,
        seed: int,
    ) -> dict[str, Any]:
        """`{"metrics": …, "breakdowns": …}` in the shape of metrics.json, added to the others.

        Args:
            samples: one a question, repeats included.
            verdicts: the scored verdict of each.
            negative: the label that means no risk.
            answers: binary, domain or class, as the protocol asks.
            quotes: whether it asks for evidence.
            family: of the guard that judges alone; None for any other judge.
            unscored: as_wrong or exclude.
            draws: bootstrap resamples.
            seed: of the resampling.
        """

    def grids(self, result: Mapping[str, Any]) -> list[Grid]:
        """The tables that show it, made from metrics.json alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """The samples of one benchmark, and where they come from.

    `fingerprint` maps a file name (or an asset) to its sha256. `notes` are said to the user and
    kept in the manifest. `rule_judges` are the benchmark's own baselines. `capability` names the
    metric that compares models with one another, where a set is read for that (capability.csv).
    `study` measures what only this benchmark asks for.
    """

    samples: tuple[Sample, ...]
    taxonomy: Taxonomy
    fingerprint: Mapping[str, str]
    licence: str
    notes: tuple[str, ...] = ()
    rule_judges: Mapping[str, RuleJudge] = field(default_factory=dict)
    capability: str | None = None
    study: Study | None = None
