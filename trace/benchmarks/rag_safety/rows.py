"""The rows of one condition, and the documents of a set, from wherever the questions are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trace.benchmarks.rag_safety import bundled, released
from trace.benchmarks.rag_safety.corpus import Corpus, read_corpus
from trace.benchmarks.rag_safety.human import TERMS
from trace.benchmarks.rag_safety.mirage import TERMS as MIRAGE_TERMS
from trace.benchmarks.rag_safety.mirage import rows as of_mirage
from trace.benchmarks.rag_safety.names import Stored
from trace.benchmarks.rag_safety.released import RowSet
from trace.benchmarks.rag_safety.row import Document, Row
from trace.benchmarks.rag_safety.taxonomy import SUBCATEGORIES, TAXONOMY
from trace.benchmarks.strata import limited
from trace.config.retrieval import Order, Retrieval
from trace.errors import DataError
from trace.records import digest
from trace.report.grid import many, one_line

BALANCED = 20
"""Questions a subcategory in the paper's Balanced set, at most."""


def rows_of(
    path: str | None, retrieval: Retrieval, *, benign: bool = False, mirage: str | None = None
) -> RowSet:
    """Every question with the documents of one condition.

    Under `oracle_random` they are the oracle and then those of the random row. Under `retrieved`
    they are still to be found: the row has the one that should be.

    Args:
        path: an expanded file in the released format, or its folder; None for the bundled set.
        retrieval: the condition.
        benign: whether harmless questions are asked instead: the bundled ones, which have rows
            under oracle alone, or those of `mirage`.
        mirage: MIRAGE's folder.

    Raises:
        DataError: the file is not as released or lacks rows that the condition needs, or the
            harmless questions were asked for under another condition or from a file.
    """
    if benign and mirage is not None:
        return of_mirage(Path(mirage).expanduser(), retrieval)
    if benign:
        _check_benign(path, retrieval)
        return bundled.benign_rows()
    if retrieval == "oracle_random":
        return _oracle_random(*_stored(path, "oracle", "random"))
    return _stored(path, "oracle" if retrieval == "retrieved" else retrieval)[0]


def licence_of(path: str | None, corpus: str | None, mirage: str | None) -> str:
    """The terms of all that is read."""
    if mirage is not None:
        return MIRAGE_TERMS
    rows = f"{bundled.LICENCE} ({bundled.ORIGIN})" if path is None else TERMS
    return rows if corpus is None else f"{rows}; the documents of benchmark.corpus: their own"


def corpus_of(path: str | None, searched: str | None) -> Corpus:
    """What a retriever searches: a file of documents, or without one all of the set itself."""
    if searched is not None:
        return read_corpus(Path(searched).expanduser())
    if path is None:
        return Corpus(source=bundled.documents)
    file = Path(path).expanduser()
    return Corpus(source=lambda: released.documents(file))


def chosen(rows: Sequence[Row], *, balanced: bool, limit: int | None, seed: int) -> tuple[Row, ...]:
    """The questions that are asked: by their ids and the seed, the same under every condition."""
    if balanced:
        rows = limited(rows, BALANCED, seed, lambda row: row.subcategory)
    return limited(rows, limit, seed, lambda row: row.subcategory)


def said_of(rows: Sequence[Row], label: str) -> list[str]:
    """How many questions of which kinds are asked under a condition, for the user."""
    counts = Counter(row.subcategory for row in rows)
    kinds = f"{len(counts)} {'subcategory' if len(counts) == 1 else 'subcategories'}"
    notes = [f"rag_safety, {label}: {many(len(rows), 'question')} of {kinds}."]
    unlisted = sorted(counts.keys() - {*SUBCATEGORIES, TAXONOMY.benign.name})
    if unlisted:
        named = ", ".join(one_line(name) for name in unlisted)
        notes.append(f"Subcategories that the taxonomy lacks: {named}.")
    return notes


def showing(row: Row, documents: Sequence[Document]) -> Row:
    """The row with these documents, ranked from 1 as they stand."""
    ranked = (replace(document, rank=rank) for rank, document in enumerate(documents, start=1))
    return replace(row, documents=tuple(ranked))


def lacking(row: Row, ids: frozenset[str]) -> Row:
    """The row without the documents of these ids."""
    return showing(row, [document for document in row.documents if document.id not in ids])


def ordered(row: Row, order: Order, seed: int) -> Row:
    """The row with its documents in an order.

    Shuffled ones are ordered by a hash of the seed, the question's id and theirs: in the same way
    whatever else is asked.
    """
    match order:
        case "given":
            documents = list(row.documents)
        case "reversed":
            documents = list(reversed(row.documents))
        case "shuffled":
            documents = sorted(row.documents, key=lambda d: digest([seed, row.id, d.id]))
    return showing(row, documents)


def _stored(path: str | None, *conditions: Stored) -> list[RowSet]:
    """The rows of each of some conditions; a file is read once."""
    if path is None:
        return [bundled.rows(condition) for condition in conditions]
    read = released.read(Path(path).expanduser(), *conditions)
    return [replace(read, rows=tuple(r for r in read.rows if r.condition == c)) for c in conditions]


def _oracle_random(oracle: RowSet, random: RowSet) -> RowSet:
    drawn = {row.id: row.documents for row in random.rows}
    return replace(
        oracle,
        rows=tuple(
            replace(showing(row, [*row.documents, *drawn[row.id]]), condition="oracle_random")
            for row in oracle.rows
        ),
    )


def _check_benign(path: str | None, retrieval: Retrieval) -> None:
    if path is not None:
        raise DataError(
            "benchmark.benign: stands beside benchmark.path, and the harmless questions are those "
            "of the bundled set. Leave one out."
        )
    if retrieval != "oracle":
        raise DataError(
            f"benchmark.benign: harmless questions have one document each, and none under "
            f"{retrieval}. Use condition=oracle."
        )
