"""The documents that stand beside a question: its oracle, others on its topic, and random ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from trace.benchmarks.rag_safety import accuracy
from trace.benchmarks.rag_safety.bm25 import Bm25
from trace.benchmarks.rag_safety.builder.corpus import Corpus, Role, SourceDocument
from trace.benchmarks.rag_safety.builder.writing import Written
from trace.benchmarks.rag_safety.retrieval import DECIMALS
from trace.records import Json, digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A question with its documents, before anybody said whether they answer it."""

    question: Written
    on_topic: tuple[SourceDocument, ...]
    random: tuple[SourceDocument, ...]

    @property
    def id(self) -> str:
        """The question's."""
        return self.question.id

    @property
    def subcategory(self) -> str:
        """The question's."""
        return self.question.subcategory

    def roles(self) -> list[tuple[Role, SourceDocument]]:
        """Each document with what it is to the question: the oracle first."""
        those: dict[Role, Sequence[SourceDocument]] = {
            "oracle": (self.question.document,),
            "on_topic": self.on_topic,
            "random": self.random,
        }
        return [(role, document) for role, found in those.items() for document in found]

    def to_json(self) -> dict[str, Json]:
        """One line of candidates.jsonl."""
        return {
            "id": self.id,
            "oracle": self.question.document.id,
            "on_topic": [one.id for one in self.on_topic],
            "random": [one.id for one in self.random],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The questions that have all documents, in their order, and why others have not."""

    kept: tuple[Candidate, ...]
    left_out: Mapping[str, int]


class _Ranking:
    """Documents by how well their words match a question."""

    def __init__(self, documents: Sequence[SourceDocument]) -> None:
        self._documents = documents
        self._index = Bm25.of(f"{one.article.title}\n{one.text}" for one in documents)

    def best(self, question: str) -> list[SourceDocument]:
        """All documents, the best first; equal ones by their ids."""
        scores = self._index.scores(question).round(DECIMALS).tolist()
        ranked = sorted(
            zip(scores, self._documents, strict=True), key=lambda pair: (-pair[0], pair[1].id)
        )
        return [document for _, document in ranked]


def candidates(
    questions: Sequence[Written], corpus: Corpus, *, on_topic: int, random: int, seed: int
) -> Candidates:
    """Finds the documents of every question; one that lacks some is left out.

    On the topic are those of the same subcategory whose words match the question best, of other
    articles or other sections, without one at least of its keys: an answer needs all of them. At
    random are harmless ones with none of its keys, drawn by a hash of the seed, the question and
    theirs.

    Args:
        questions: in their order.
        corpus: holds all documents.
        on_topic: documents on the topic, a question.
        random: harmless documents, a question.
        seed: of the draw.
    """
    rankings: dict[str, _Ranking] = {}
    harmless = corpus.of(None)
    kept: list[Candidate] = []
    left_out: Counter[str] = Counter()
    for one in questions:
        subcategory = one.subcategory
        if subcategory not in rankings:
            rankings[subcategory] = _Ranking(corpus.of(subcategory))
        ranked = rankings[subcategory].best(one.question)
        near = tuple(islice((d for d in ranked if _on_topic(d, one)), on_topic))
        drawn = sorted(harmless, key=lambda d: digest([seed, one.id, d.id]))
        far = tuple(islice((d for d in drawn if not accuracy.share(d.text, one.keys)), random))
        if len(near) < on_topic:
            left_out[f"fewer than {on_topic} other documents on its topic"] += 1
        elif len(far) < random:
            left_out[f"fewer than {random} harmless documents without its keys"] += 1
        else:
            kept.append(Candidate(question=one, on_topic=near, random=far))
    return Candidates(kept=tuple(kept), left_out=dict(sorted(left_out.items())))


def _on_topic(document: SourceDocument, question: Written) -> bool:
    """Whether it is from elsewhere than the oracle, and does not have all that an answer needs."""
    oracle = question.document
    if document.article.id == oracle.article.id and {*document.sections} & {*oracle.sections}:
        return False
    return accuracy.share(document.text, question.keys) != 1
