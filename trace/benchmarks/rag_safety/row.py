"""A question under one retrieval condition, with the documents that a respondent is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from trace.benchmarks.fields import Fields
from trace.benchmarks.rag_safety.names import RELEASED, SPELLINGS, retrieval_of
from trace.config import nearest
from trace.config.retrieval import Retrieval
from trace.errors import DataError
from trace.records import Json

DocumentSafety: TypeAlias = Literal["safe", "unsafe", "unknown"]

_OF_DOCUMENT = ("doc_id", "title", "url", "rank", "is_gold", "doc_safety", "answer_support",
                "topic_relation", "text")  # fmt: skip
_OF_ROW = ("prompt_id", "question", "condition", "docs", "doc_count", "taxonomy_family",
           "taxonomy_subcategory", "gold_doc_id", "gold_doc_title",
           "expected_unsafe_answer_summary", "expected_keys")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as a respondent reads it, and what is known of it.

    `is_gold` marks the one that holds the answer. `support` says how far a text supports the
    expected answer (`none`: not at all), `relation` how it relates to the question's topic, both
    in the words of whoever built the set. `provenance` is the rest of the released object:
    sections, source, revision, licence and the like, kept as it stands.
    """

    id: str
    title: str
    url: str
    rank: int
    is_gold: bool
    safety: DocumentSafety
    support: str
    relation: str
    text: str
    provenance: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """The document in the released schema."""
        return {
            "doc_id": self.id,
            "title": self.title,
            "url": self.url,
            "rank": self.rank,
            "is_gold": self.is_gold,
            "doc_safety": self.safety,
            "answer_support": self.support,
            "topic_relation": self.relation,
            **self.provenance,
            "text": self.text,
        }

    @classmethod
    def from_json(cls, value: Json, at: str) -> Document:
        """Reads a document of a row.

        Args:
            value: what stands in the row.
            at: file, line and the document's place, for the message.

        Raises:
            DataError: a field is missing or wrong.
        """
        fields = Fields(value, at)
        return cls(
            id=fields.text("doc_id"),
            title=fields.text("title"),
            url=fields.take("url", str),
            rank=fields.take("rank", int),
            is_gold=fields.take("is_gold", bool),
            safety=fields.choice("doc_safety", ("safe", "unsafe", "unknown")),
            support=fields.take("answer_support", str),
            relation=fields.take("topic_relation", str),
            text=fields.text("text"),
            provenance={k: v for k, v in value.items() if k not in _OF_DOCUMENT},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A question under one condition.

    `id` is the question's: its rows under the other conditions have the same. `family` is None
    where the file names none. `expected` sums the answer up, and `keys` are terms that it cannot
    do without (sets of our own have them; one of several will do). `oracle` and `oracle_title` name
    the document that holds the answer, whether or not this row shows it.
    """

    id: str
    question: str
    condition: Retrieval
    documents: tuple[Document, ...]
    subcategory: str
    family: str | None
    expected: str
    oracle: str
    oracle_title: str
    keys: tuple[str | tuple[str, ...], ...] = ()
    provenance: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """One line of an expanded file, in the released schema and spelling."""
        return {
            "prompt_id": self.id,
            "question": self.question,
            "condition": RELEASED.get(self.condition, self.condition),
            "docs": [document.to_json() for document in self.documents],
            "doc_count": len(self.documents),
            **({} if self.family is None else {"taxonomy_family": self.family}),
            "taxonomy_subcategory": self.subcategory,
            "gold_doc_id": self.oracle,
            "gold_doc_title": self.oracle_title,
            "expected_unsafe_answer_summary": self.expected,
            **({"expected_keys": list(self.keys)} if self.keys else {}),
            **self.provenance,
        }

    @classmethod
    def from_json(cls, line: Json, at: str) -> Row:
        """Reads a line of an expanded file. Either spelling of the condition will do.

        Args:
            line: what stands in the file.
            at: file and line, for the message.

        Raises:
            DataError: a field is missing or wrong, or the documents are not those of the condition.
        """
        fields = Fields(line, at)
        docs = fields.take("docs", list)
        row = cls(
            id=fields.text("prompt_id"),
            question=fields.text("question"),
            condition=_condition(fields),
            documents=tuple(
                Document.from_json(doc, f"{at}: docs, number {number}")
                for number, doc in enumerate(docs, start=1)
            ),
            subcategory=fields.text("taxonomy_subcategory"),
            family=fields.optional("taxonomy_family"),
            expected=fields.text("expected_unsafe_answer_summary"),
            oracle=fields.text("gold_doc_id"),
            oracle_title=fields.take("gold_doc_title", str),
            keys=_keys(fields),
            provenance={k: v for k, v in line.items() if k not in _OF_ROW},
        )
        _check(row, fields.take("doc_count", int), at)
        return row


def _condition(fields: Fields) -> Retrieval:
    name = fields.text("condition")
    if (condition := retrieval_of(name)) is None:
        raise DataError(
            f"{fields.at}: condition: {name!r:.40} is none of the four"
            f"{nearest(name, list(SPELLINGS))} They are {', '.join(RELEASED)}, or as released "
            f"{', '.join(RELEASED.values())}."
        )
    return condition


def _keys(fields: Fields) -> tuple[str, ...]:
    if "expected_keys" not in fields.line:
        return ()
    keys = fields.take("expected_keys", list)
    if not keys or not all(isinstance(key, str) and key.strip() for key in keys):
        raise DataError(f"{fields.at}: expected_keys: should be texts. Leave it out without any.")
    return tuple(keys)


def _check(row: Row, count: int, at: str) -> None:
    """Refuses documents that contradict the condition."""
    documents, gold = row.documents, [d.id for d in row.documents if d.is_gold]
    if count != len(documents):
        raise DataError(
            f"{at}: doc_count: is {count}, and docs has {len(documents)}. Get the file again, or "
            "mend the line."
        )
    if row.condition == "non_rag":
        if documents:
            raise DataError(f"{at}: docs: a non_rag row has none. Empty it, or name its condition.")
        return
    if not documents:
        raise DataError(
            f"{at}: docs: is empty, and the condition {row.condition} needs documents. Add them, "
            "or remove the question from the file."
        )
    if len({document.id for document in documents}) != len(documents):
        raise DataError(f"{at}: docs: holds a document twice. Remove one, and mend doc_count.")
    if row.condition == "oracle" and gold != [row.oracle]:
        raise DataError(
            f"{at}: docs: an oracle row needs {row.oracle}, its gold_doc_id, and no other with "
            f"is_gold=true; it has {', '.join(gold) or 'none'}."
        )
    if row.condition != "oracle" and (gold or row.oracle in {d.id for d in documents}):
        raise DataError(
            f"{at}: docs: holds the gold document, which under {row.condition} must not be seen. "
            "Remove it, and mend doc_count."
        )
