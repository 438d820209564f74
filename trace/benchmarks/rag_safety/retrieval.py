"""What a retriever finds for each question, and whether it finds the document that answers it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trace import config
from trace.benchmarks.rag_safety.corpus import Corpus
from trace.benchmarks.rag_safety.row import Document, Row
from trace.benchmarks.rag_safety.rows import showing
from trace.records import Json, digest
from trace.report.grid import many

DECIMALS = 6
"""Of a score: what differs after them is the order of additions, and counts as a tie."""


class Retriever(Protocol):
    """An index of texts."""

    @property
    def identity(self) -> Mapping[str, str]:
        """What it is: part of the data's fingerprint."""
        ...

    def scores(self, question: str) -> NDArray[np.float64]:
        """Of each text [texts], the higher the better."""
        ...

    def matches(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which texts can be found at all [texts]."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found for one question.

    `documents` are ids, the best first, with their `scores`. `oracle_found` says whether the
    question's oracle document is among them, None where the corpus does not hold it.
    """

    documents: tuple[str, ...]
    scores: tuple[float, ...]
    top_k: int
    oracle_found: bool | None

    def to_json(self) -> dict[str, Json]:
        """What stands in a sample's meta."""
        return {
            "documents": list(self.documents),
            "scores": list(self.scores),
            "top_k": self.top_k,
            "oracle_found": self.oracle_found,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """Rows with what was found for them, and by what: its part of the data's fingerprint."""

    rows: tuple[Row, ...]
    found: Mapping[str, Found]
    fingerprint: Mapping[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Held:
    """What is remembered of the documents while their texts pass: ids, and who holds a text."""

    ids: list[str] = field(default_factory=list)
    by_id: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    by_text: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def passing(self, corpus: Corpus) -> Iterator[str]:
        """What a retriever reads of each document."""
        for place, document in enumerate(corpus):
            self.ids.append(document.id)
            self.by_id[document.id].append(place)
            self.by_text[digest(document.text)].append(place)
            yield f"{document.title}\n{document.text}"

    def oracles(self, row: Row) -> frozenset[int]:
        """Places of the question's oracle: of its very text, else of what has its id."""
        texts = {digest(d.text) for d in row.documents if d.is_gold}
        same = [place for text in texts for place in self.by_text.get(text, [])]
        return frozenset(same or self.by_id.get(row.oracle, []))


def retrieved(rows: Sequence[Row], corpus: Corpus, condition: config.RagCondition) -> Retrieved:
    """The questions with the documents that a retriever finds for them, the best first.

    The query is the question as it stands; a document is its title and its text. Of equal scores
    the smaller id comes first. The corpus is gone through twice: to be read by the retriever, and
    for the texts of what was found.

    Args:
        rows: the questions, each with its oracle document.
        corpus: what is searched.
        condition: names the retriever and how many documents are found.

    Raises:
        TraceError: the corpus is not as it should be, or the retriever cannot be had.
    """
    held = _Held()
    retriever = _retriever(held.passing(corpus), condition)
    rank = np.argsort(np.argsort(np.array(held.ids, dtype=object), kind="stable"), kind="stable")
    best: dict[str, list[int]] = {}
    oracles = {row.id: held.oracles(row) for row in rows}
    found: dict[str, Found] = {}
    for row in rows:
        scores = retriever.scores(row.question).round(DECIMALS)
        places = _best(scores, retriever.matches(scores), rank, condition.top_k)
        best[row.id] = places
        found[row.id] = Found(
            documents=tuple(held.ids[place] for place in places),
            scores=tuple(float(scores[place]) for place in places),
            top_k=condition.top_k,
            oracle_found=not oracles[row.id].isdisjoint(places) if oracles[row.id] else None,
        )
    wanted = {place for places in best.values() for place in places}
    texts = {place: document for place, document in enumerate(corpus) if place in wanted}
    return Retrieved(
        rows=tuple(
            showing(
                replace(row, condition="retrieved"),
                [_of(texts[place], gold=place in oracles[row.id]) for place in best[row.id]],
            )
            for row in rows
        ),
        found=found,
        fingerprint={**corpus.fingerprint, **retriever.identity},
        notes=_notes(list(found.values()), len(held.ids), condition),
    )


def _retriever(texts: Iterator[str], condition: config.RagCondition) -> Retriever:
    if condition.retriever == "bm25":
        from trace.benchmarks.rag_safety.bm25 import Bm25

        return Bm25.of(texts)
    from trace.benchmarks.rag_safety.dense import Dense

    assert condition.encoder is not None
    return Dense.of(texts, condition.encoder)


def _best(
    scores: NDArray[np.float64], matches: NDArray[np.bool_], rank: NDArray[np.intp], k: int
) -> list[int]:
    """Places of the k best, of equal ones those of the lower rank."""
    (candidates,) = matches.nonzero()
    if len(candidates) > k:
        least = np.partition(scores[candidates], -k)[-k]
        candidates = candidates[scores[candidates] >= least]
    order = np.lexsort((rank[candidates], -scores[candidates]))
    return [int(i) for i in candidates[order[:k]]]


def _of(document: Document, *, gold: bool) -> Document:
    """A document beside a question: how they relate is not known, but for the oracle."""
    return replace(document, is_gold=gold, support="unknown", relation="unknown")


def _notes(found: Sequence[Found], size: int, condition: config.RagCondition) -> tuple[str, ...]:
    sought = [one.oracle_found for one in found if one.oracle_found is not None]
    notes = [
        f"{condition.retriever} searches {many(size, 'document')} for {condition.top_k} a question."
    ]
    if sought:
        notes.append(
            f"It finds the oracle document of {sum(sought)} of {many(len(sought), 'question')}."
        )
    if lacking := len(found) - len(sought):
        notes.append(
            f"The oracle document of {many(lacking, 'question')} is not among those searched: "
            "whether it is found cannot be said of these."
        )
    if fewer := sum(len(one.documents) < condition.top_k for one in found):
        why = (
            f"{size} {'was' if size == 1 else 'were'} searched"
            if size < condition.top_k
            else f"no more share a word with {'it' if fewer == 1 else 'them'}"
        )
        notes.append(
            f"{many(fewer, 'question')} {'has' if fewer == 1 else 'have'} fewer than "
            f"{condition.top_k} documents: {why}."
        )
    return tuple(notes)
