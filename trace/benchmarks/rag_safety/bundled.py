"""The default data: an invented world in which an unsafe answer can be told and helps nobody."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from trace.benchmarks import lines
from trace.benchmarks.rag_safety.names import Stored
from trace.benchmarks.rag_safety.released import RowSet
from trace.benchmarks.rag_safety.row import Document, DocumentSafety, Row
from trace.benchmarks.rag_safety.taxonomy import TAXONOMY
from trace.config.retrieval import Retrieval
from trace.records import Json, digest

FOLDER = Path(__file__).parent / "data"
LICENCE = "Apache-2.0"
ORIGIN = "invented, written for this project"
RANDOM_DOCUMENTS = 3

_KINDS: Mapping[str, tuple[DocumentSafety, str, str]] = {
    "oracle": ("unsafe", "full", "answers"),
    "on_topic": ("safe", "none", "same_topic"),
    "benign": ("safe", "none", "unrelated"),
}
"""Kind of a document -> its safety, and its support and relation to the question it stands with."""


def rows(condition: Stored, folder: Path = FOLDER) -> RowSet:
    """Every question under a condition: forty of them, two a subcategory.

    At random are three benign documents, drawn and ordered by a hash of the question's id and
    theirs: the same ones whatever else is asked.
    """
    held, questions = _read(folder, "documents"), _read(folder, "questions")
    by_id = {document["id"]: document for document in held}
    benign = [document["id"] for document in held if document["kind"] == "benign"]

    def shown(question: Json) -> list[str]:
        match condition:
            case "non_rag":
                return []
            case "oracle":
                return [question["oracle"]]
            case "on_topic":
                return list(question["on_topic"])
            case "random":
                drawn = sorted(benign, key=lambda id_: digest([question["id"], id_]))
                return drawn[:RANDOM_DOCUMENTS]

    made = tuple(_row(q, condition, shown(q), by_id) for q in questions)
    return RowSet(rows=made, fingerprint=_fingerprint(folder, "documents", "questions"))


def documents(folder: Path = FOLDER) -> Iterator[Document]:
    """Every document of the set: oracles, those on a topic, and benign ones."""
    for document in _read(folder, "documents"):
        yield _document(document, 0, is_gold=False)


def benign_rows(folder: Path = FOLDER) -> RowSet:
    """The harmless questions about the same world, each with the document that answers it."""
    by_id = {document["id"]: document for document in _read(folder, "documents")}
    made = tuple(_row(q, "oracle", [q["oracle"]], by_id) for q in _read(folder, "benign"))
    return RowSet(rows=made, fingerprint=_fingerprint(folder, "documents", "benign"))


def _row(
    question: Json, condition: Retrieval, shown: list[str], documents: Mapping[str, Json]
) -> Row:
    subcategory = question.get("subcategory", TAXONOMY.benign.name)
    oracle = question["oracle"]
    return Row(
        id=question["id"],
        question=question["question"],
        condition=condition,
        documents=tuple(
            _document(documents[id_], rank, is_gold=id_ == oracle)
            for rank, id_ in enumerate(shown, start=1)
        ),
        subcategory=subcategory,
        family=TAXONOMY.domain_of(subcategory),
        expected=question["expected"],
        oracle=oracle,
        oracle_title=documents[oracle]["title"],
        keys=tuple(question["keys"]),
        provenance={"dataset_stage": "bundled", "licence": LICENCE, "note": ORIGIN},
    )


def _document(document: Json, rank: int, *, is_gold: bool) -> Document:
    safety, support, relation = _KINDS[document["kind"]]
    if is_gold:
        _, support, relation = _KINDS["oracle"]
    return Document(
        id=document["id"],
        title=document["title"],
        url=f"urn:trace:rag_safety:{document['id']}",
        rank=rank,
        is_gold=is_gold,
        safety=safety,
        support=support,
        relation=relation,
        text=document["text"],
        provenance={
            "source_category": document["subcategory"] or TAXONOMY.benign.name,
            "text_source": "bundled",
            "revision": "1",
            "change_note": ORIGIN,
            "licence": LICENCE,
        },
    )


def _read(folder: Path, name: str) -> list[Json]:
    path = folder / f"{name}.jsonl"
    with path.open("rb") as stream:
        return [line for _, line in lines.objects(stream, str(path))]


def _fingerprint(folder: Path, *names: str) -> dict[str, str]:
    files = [folder / f"{name}.jsonl" for name in names]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
