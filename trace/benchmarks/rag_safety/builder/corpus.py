"""The documents of a build: passages of articles, each with what has to be said of its source."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trace.benchmarks.rag_safety.builder.article import Article
from trace.benchmarks.rag_safety.builder.passages import SHORTEST, passages
from trace.benchmarks.rag_safety.prompts import MAX_CHARS
from trace.benchmarks.rag_safety.row import Document, DocumentSafety
from trace.benchmarks.rag_safety.taxonomy import SUBCATEGORIES, TAXONOMY
from trace.records import Json, digest
from trace.report.grid import Grid

Role: TypeAlias = Literal["oracle", "on_topic", "random"]
HARMLESS = TAXONOMY.benign.name
_CUT = "Cut into passages by section."
_KINDS: Mapping[Role, tuple[DocumentSafety, str, str]] = {
    "oracle": ("unsafe", "full", "answers"),
    "on_topic": ("unknown", "none", "same_topic"),
    "random": ("safe", "none", "unrelated"),
}
"""What a document is to a question -> its safety, and its support and relation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDocument:
    """A passage of an article, before any question is asked about it."""

    article: Article
    sections: tuple[str, ...]
    headings: tuple[str, ...]
    text: str

    @property
    def id(self) -> str:
        """Derived from the article's version and the text."""
        return f"d{digest([self.article.id, self.sections, self.text])[:12]}"

    @property
    def subcategory(self) -> str | None:
        """That of its article."""
        return self.article.subcategory

    @property
    def change_note(self) -> str:
        """What was changed in the text, by us last."""
        note = self.article.change_note.rstrip(".")
        return _CUT if note.casefold() == "none" else f"{note}. {_CUT}"

    def shown(self, rank: int, *, role: Role) -> Document:
        """The document as it stands beside a question.

        Whether a document on the topic is safe is not known: the audit says only that it does not
        answer this question.
        """
        safety, support, relation = _KINDS[role]
        return Document(
            id=self.id,
            title=self.article.title,
            url=self.article.url,
            rank=rank,
            is_gold=role == "oracle",
            safety=safety,
            support=support,
            relation=relation,
            text=self.text,
            provenance=self._provenance(),
        )

    def to_json(self) -> dict[str, Json]:
        """One line of corpus.jsonl: the released schema without what depends on a question."""
        return {
            "doc_id": self.id,
            "title": self.article.title,
            "url": self.article.url,
            **self._provenance(),
            "text": self.text,
        }

    def _provenance(self) -> dict[str, Json]:
        return {
            "source_category": self.subcategory or HARMLESS,
            "section_ids": list(self.sections),
            "section_headings": list(self.headings),
            "text_source": self.article.form,
            "revision": self.article.revision,
            "change_note": self.change_note,
            "licence": self.article.licence,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """All documents, in the order of their articles; `lost` says what became none of them."""

    documents: tuple[SourceDocument, ...]
    lost: Mapping[str, int]

    def of(self, subcategory: str | None) -> list[SourceDocument]:
        """Those of a subcategory; the harmless ones for None."""
        return [one for one in self.documents if one.subcategory == subcategory]

    def grid(self) -> Grid:
        """How many there are, by subcategory."""
        grid = Grid(title="Documents", header=["Subcategory", "Articles", "Documents", "Words"])
        for name in (*SUBCATEGORIES, None):
            if not (found := self.of(name)):
                continue
            articles = len({one.article.id for one in found})
            words = sum(len(one.text.split()) for one in found)
            numbers = [(f"{n:,}",) for n in (articles, len(found), words)]
            grid.rows.append([(name or f"none ({HARMLESS})",), *numbers])
        return grid


def corpus(articles: Iterable[Article], words: int) -> Corpus:
    """The documents of the articles; a text that stands twice is one document.

    One that stands under different subcategories is none: beside a question it would be harmless
    and not. Nor is one that the respondent would not be shown to its end.

    Args:
        articles: in the order of the documents.
        words: of a document, at most.
    """
    documents: dict[str, SourceDocument] = {}
    places: dict[str, set[str | None]] = defaultdict(set)
    lost: Counter[str] = Counter()
    for article in articles:
        made, left = passages(article.sections, words)
        lost["words in leftovers that are too short"] += left
        lost[f"articles below {SHORTEST} words"] += not made
        for one in made:
            if len(one.text) > MAX_CHARS:
                lost[f"documents above {MAX_CHARS:,} characters"] += 1
                continue
            places[one.text].add(article.subcategory)
            if one.text in documents:
                lost["documents that repeat another"] += 1
                continue
            documents[one.text] = SourceDocument(
                article=article, sections=one.sections, headings=one.headings, text=one.text
            )
    kept = tuple(one for text, one in documents.items() if len(places[text]) == 1)
    lost["documents under several subcategories"] = len(documents) - len(kept)
    return Corpus(documents=kept, lost={k: n for k, n in lost.items() if n})


def lost_note(lost: Mapping[str, int]) -> list[str]:
    """What has to be said of it."""
    said = ", ".join(f"{what} ({n:,})" for what, n in lost.items())
    return [f"Not in the corpus: {said}."] if lost else []


def few_note(made: Corpus) -> list[str]:
    """Says so where some subcategories have no document."""
    have = [name for name in SUBCATEGORIES if made.of(name)]
    if len(have) == len(SUBCATEGORIES):
        return []
    return [
        f"Documents are about {len(have)} of the {len(SUBCATEGORIES)} subcategories: "
        f"{', '.join(have) or 'none'}."
    ]


def scarce(made: Corpus, *, on_topic: int, random: int) -> tuple[list[str], bool]:
    """Where no question can be kept, whatever the models say.

    Args:
        made: the corpus.
        on_topic: documents on the topic, a question: its subcategory needs one more.
        random: harmless documents, a question.

    Returns:
        What has to be said of it, and whether it is so of all questions.
    """
    have = {name: len(found) for name in SUBCATEGORIES if (found := made.of(name))}
    short = [f"{name} has {n:,}" for name, n in have.items() if n <= on_topic]
    harmless = len(made.of(None))
    notes = []
    if short:
        notes.append(
            "No question is kept in a subcategory of fewer than "
            f"{on_topic + 1:,} documents: {', '.join(short)}. Give more articles about it, or a "
            "smaller benchmark.builder.on_topic."
        )
    if harmless < random:
        notes.append(
            f"No question is kept with fewer than {random:,} harmless documents: there are "
            f"{harmless:,}. Give more articles without a subcategory, or a smaller "
            "benchmark.builder.random."
        )
    return notes, harmless < random or len(short) == len(have)
