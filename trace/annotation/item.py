"""What people annotate, and what they said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal, TypeAlias

from trace.records import Json, Span

Standing: TypeAlias = Literal["done", "skipped", "draft"]
"""Skipped on purpose; or begun and never submitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to annotate.

    Annotators see `texts` and nothing else. `labels` (question -> value) and `spans` (passage ->
    pieces) are what the benchmark says, absent where it says nothing. `stratum` is what a draw is
    spread over, `cluster` what items of one source share.
    """

    id: str
    form: str
    texts: Mapping[str, str]
    labels: Mapping[str, str]
    stratum: str
    cluster: str
    spans: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """One line of items.jsonl."""
        return asdict(self)

    @classmethod
    def from_json(cls, line: Json) -> Item:
        """Reads back what `to_json` wrote."""
        return cls(**(line | {"spans": read_spans(line["spans"])}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one annotator said about one item.

    `annotator` is a pseudonym, `at` the time in ISO 8601. `values` (question -> value) and `spans`
    (passage -> pieces) have what can be used; `problems` says of a question or a passage why what
    was said about it cannot be.
    """

    item: str
    annotator: str
    standing: Standing
    at: str
    values: Mapping[str, str] = field(default_factory=dict)
    spans: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    comment: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """One line of answers.jsonl."""
        return asdict(self)

    @classmethod
    def from_json(cls, line: Json) -> Answer:
        """Reads back what `to_json` wrote."""
        return cls(**(line | {"spans": read_spans(line["spans"])}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """What of an annotator's work was not taken.

    `deleted` are tasks that the server no longer has, `no_consent` those that were left out as
    there is no consent, `twice` the answers to a task that has a later one.
    """

    deleted: int = 0
    no_consent: int = 0
    twice: int = 0


def read_spans(line: Json) -> dict[str, tuple[Span, ...]]:
    """The spans of passages, as they stand in JSON."""
    return {name: tuple(Span(**span) for span in given) for name, given in line.items()}
