"""What a guard said of a document, a request or an answer before it could go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trace.benchmarks.rag_safety.opinion import Opinion
from trace.benchmarks.rag_safety.prompts import MAX_CHARS, shortened
from trace.benchmarks.rag_safety.row import Document, Row
from trace.config.retrieval import Filter
from trace.records import Gold, Json, Sample

Blocked: TypeAlias = Literal["input", "output"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Screening:
    """One question to the guard of `condition.filter`.

    `about` is the id of what it concerns: of the document where a corpus is screened, else of the
    question. `document` is None where no document was judged. What has no verdict is not `flagged`:
    it goes on, as if there were no guard.
    """

    place: Filter
    about: str
    opinion: Opinion
    flagged: bool
    document: str | None = None

    def to_json(self) -> dict[str, Json]:
        """What stands in records.jsonl."""
        return {"document": self.document, "flagged": self.flagged, **self.opinion.to_json()}


def blocked_by(screened: Iterable[Screening]) -> Blocked | None:
    """What was stopped, of all that was screened for an answer; None if the answer got through."""
    for one in screened:
        if one.flagged and (one.place == "input" or one.place == "output"):
            return one.place
    return None


def dropped_by(screened: Iterable[Screening]) -> tuple[str, ...]:
    """The documents that are lost, in order.

    Two texts may have one id (other sections of an article): if one is flagged, both are lost.
    """
    flagged = (one.document for one in screened if one.flagged)
    return tuple(dict.fromkeys(id_ for id_ in flagged if id_ is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a guard is asked about: `about` and `document` as in `Screening`, and what it sees."""

    about: str
    sample: Sample
    document: str | None = None


def of_corpus(documents: Iterable[Document]) -> list[Subject]:
    """Each document alone, where a request stands: nobody has asked anything yet."""
    return [
        Subject(about=d.id, document=d.id, sample=_sample(d.id, {"prompt": _as_shown(d)}))
        for d in documents
    ]


def of_requests(samples: Iterable[Sample]) -> list[Subject]:
    """Each request."""
    return [Subject(about=s.id, sample=s) for s in samples]


def of_documents(samples: Iterable[Sample], rows: Mapping[str, Row]) -> list[Subject]:
    """Each document that a question comes with, as if it were the answer to the question."""
    return [
        Subject(
            about=sample.id,
            document=document.id,
            sample=_sample(sample.id, {**sample.view, "response": _as_shown(document)}),
        )
        for sample in samples
        for document in rows[sample.id].documents
    ]


def _sample(id_: str, view: Mapping[str, Json]) -> Sample:
    return Sample(id=id_, gold=Gold(label=None), view=view, cluster=id_)


def _as_shown(document: Document) -> str:
    """As long as a respondent with room for it is shown it."""
    return shortened(document.text, MAX_CHARS)
