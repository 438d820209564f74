"""What people are asked about an item: its texts, questions, and what to mark in them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from trace.records import Json, digest

Language: TypeAlias = Literal["en", "zh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An answer to a question: what is stored, what an annotator reads, and what it means."""

    value: str
    shown: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with one answer out of several. `name` is unique in the form."""

    name: str
    title: str
    options: tuple[Option, ...]
    dropdown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Marking:
    """Pieces of a passage are marked where `question` is answered with `value`, and only there.

    `shown` is what the marker is called.
    """

    shown: str
    question: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text of the item, hidden until it is asked for. `name` is its key among the texts."""

    name: str
    title: str
    questions: tuple[Question, ...] = ()
    marking: Marking | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One way to ask about an item.

    `name` tells the forms of a study apart. `language` is that of its wording. `taxonomy` is the
    hash of the definitions that the options come from, empty without any.
    """

    study: str
    name: str
    title: str
    language: Language
    passages: tuple[Passage, ...]
    taxonomy: str = ""

    @property
    def questions(self) -> tuple[Question, ...]:
        """All questions, in the order in which they are asked."""
        return tuple(q for passage in self.passages for q in passage.questions)

    @property
    def digest(self) -> str:
        """Identifies all that an annotator sees of it."""
        return digest(self.to_json())

    def to_json(self) -> dict[str, Json]:
        """The whole form."""
        return asdict(self)
