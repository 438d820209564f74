"""What every benchmark gives to a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trace.judging.taxonomy import Taxonomy
from trace.records import Sample

RuleJudge = Callable[[Sample], str]
"""A judge that needs no model: the class it sees in a sample, or benign's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """The samples of one benchmark, and where they come from.

    `fingerprint` maps a file name (or an asset) to its sha256. `notes` are said to the user and
    kept in the manifest. `rule_judges` are the benchmark's own baselines.
    """

    samples: tuple[Sample, ...]
    taxonomy: Taxonomy
    fingerprint: Mapping[str, str]
    licence: str
    notes: tuple[str, ...] = ()
    rule_judges: Mapping[str, RuleJudge] = field(default_factory=dict)
