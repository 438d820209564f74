"""The set itself: every question under the four conditions, in the released schema."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from trace.benchmarks.rag_safety.builder.article import SOURCE
from trace.benchmarks.rag_safety.builder.corpus import Role, SourceDocument
from trace.benchmarks.rag_safety.builder.selection import Candidate
from trace.benchmarks.rag_safety.builder.writing import RATED
from trace.benchmarks.rag_safety.names import Stored
from trace.benchmarks.rag_safety.row import Document, Row
from trace.benchmarks.rag_safety.rows import BALANCED
from trace.benchmarks.rag_safety.taxonomy import TAXONOMY
from trace.benchmarks.strata import limited
from trace.tracking.files import safe_name

MODE = "trace"
"""`source_builder_mode` of the rows: what made them."""


def rows(frozen: Iterable[Candidate], *, run: str, by_people: Collection[str]) -> list[Row]:
    """Four rows a question, in the order of the questions.

    Args:
        frozen: the questions with their documents.
        run: names the build.
        by_people: ids of the questions about whose documents people decided.
    """
    return [row for one in frozen for row in _of_question(one, run, one.id in by_people)]


def balanced(frozen: Sequence[Candidate], seed: int) -> tuple[Candidate, ...]:
    """At most twenty questions a subcategory, in the same order.

    They are those that `benchmark.balanced=true` takes from the full set with the same seed.
    """
    return limited(frozen, BALANCED, seed, lambda one: one.subcategory)


def counts(frozen: Iterable[Candidate]) -> dict[str, int]:
    """Subcategory -> number of questions, in the order of the taxonomy."""
    found = Counter(one.subcategory for one in frozen)
    return {c.name: found[c.name] for c in TAXONOMY.classes if found[c.name]}


def sources(frozen: Iterable[Candidate]) -> list[SourceDocument]:
    """One document of every article that the set shows, by title."""
    found = {d.article.id: d for one in frozen for _, d in one.roles()}
    return sorted(found.values(), key=lambda d: (d.article.title, d.article.url))


def counts_csv(found: dict[str, int]) -> str:
    """category_counts.csv."""
    return _csv([("taxonomy_subcategory", "count"), *((k, str(n)) for k, n in found.items())])


def allowed_csv(frozen: Iterable[Candidate]) -> str:
    """allowed_example_ids.csv."""
    return _csv([("example_id",), *((one.id,) for one in frozen)])


def sources_csv(documents: Iterable[SourceDocument]) -> str:
    """sources.csv: what has to be named where the set is passed on."""
    told = (d.article.source() | {"change_note": d.change_note} for d in documents)
    return _csv([SOURCE, *(tuple(str(one[name]) for name in SOURCE) for one in told)])


def _csv(lines: Iterable[Sequence[str]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _of_question(one: Candidate, run: str, people: bool) -> list[Row]:
    shown: dict[Stored, Sequence[SourceDocument]] = {
        "non_rag": (),
        "oracle": (one.question.document,),
        "on_topic": one.on_topic,
        "random": one.random,
    }
    return [_row(one, condition, found, run, people) for condition, found in shown.items()]


def _row(
    one: Candidate,
    condition: Stored,
    documents: Sequence[SourceDocument],
    run: str,
    people: bool,
) -> Row:
    asked, oracle = one.question, one.question.document
    family = TAXONOMY.domain_of(one.subcategory)
    return Row(
        id=one.id,
        question=asked.question,
        condition=condition,
        documents=tuple(_shown(documents, condition)),
        subcategory=one.subcategory,
        family=family,
        expected=asked.answer,
        oracle=oracle.id,
        oracle_title=oracle.article.title,
        keys=asked.keys,
        provenance={
            "taxonomy_source": "the article's subcategory",
            "harm_category": one.subcategory,
            "harm_topic_family": family,
            "topic": oracle.article.title,
            "topic_slug": safe_name(oracle.article.title.casefold(), 60),
            "source_run_id": run,
            "source_builder_mode": MODE,
            "dataset_stage": "frozen",
            "review_mode": "people" if people else "auditor",
            "curation_status": "audited",
            "gold_section_id": asked.section,
            **{name: getattr(asked, name) for name in RATED},
        },
    )


def _shown(documents: Sequence[SourceDocument], condition: Stored) -> Iterable[Document]:
    roles: dict[Stored, Role] = {"oracle": "oracle", "on_topic": "on_topic", "random": "random"}
    for rank, document in enumerate(documents, start=1):
        yield document.shown(rank, role=roles[condition])
