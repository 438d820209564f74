"""What a study asks of people, and what becomes of what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from trace.annotation.decide import Decision
from trace.annotation.form import Form
from trace.annotation.item import Answer, Item
from trace.records import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A data set with the work of people in it.

    `files` maps the name of a file to its lines: JSON values of a *.jsonl, finished text of any
    other. `counts` says how much was replaced, closed or left open, `notes` what has to be said.
    """

    files: Mapping[str, Sequence[Json]]
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


Merge: TypeAlias = Callable[[Sequence[Answer], Sequence[Decision]], Merged]
"""Pure. Answers and decisions about items that the study does not have are an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanStudy:
    """All that the task needs to know of a study, called `name` as in its forms.

    `forms` maps an item's `form` to it. `fingerprint` maps a file that was read to its sha256: an
    import from another data set differs in it. `terms` are those of the texts and go with every
    export. `notes` are said to the user.
    """

    name: str
    forms: Mapping[str, Form]
    items: tuple[Item, ...]
    fingerprint: Mapping[str, str]
    merge: Merge
    terms: str
    notes: tuple[str, ...] = ()
