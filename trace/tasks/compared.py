"""What a comparison is of: runs, or judgements that were made elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from trace.records import Json
from trace.report.compare.judged import How
from trace.report.compare.section import Section

Analyses: TypeAlias = Callable[[How], "Found"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The analyses, the main table first; what has to be said, and a row a run for the file."""

    sections: Sequence[Section]
    notes: Sequence[str] = ()
    runs: Sequence[Json] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """An input that was read and checked. `identity` is all of it that can change a number."""

    what: str
    identity: Mapping[str, Json]
    analyses: Analyses
    notes: tuple[str, ...] = ()
