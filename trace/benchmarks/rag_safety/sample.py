"""A question before its answer, as a sample."""

from __future__ import annotations

from trace.benchmarks.rag_safety.prompts import Prompt
from trace.benchmarks.rag_safety.retrieval import Found
from trace.benchmarks.rag_safety.row import Row
from trace.benchmarks.rag_safety.taxonomy import TAXONOMY
from trace.records import Gold, Sample


def sample_of(row: Row, asked: Prompt, label: str, found: Found | None) -> Sample:
    """A question before its answer: what judges may see of it, and what breakdowns need.

    Judges see neither the documents nor the expected answer. The id is the question's, under every
    condition, and so is the cluster.

    Args:
        row: the question with the documents that it shows.
        asked: what the respondent is sent.
        label: the condition as comparisons name it.
        found: what was retrieved, if anything was.
    """
    return Sample(
        id=row.id,
        gold=Gold(label=None),
        view={"prompt": row.question},
        cluster=row.id,
        meta={
            "subcategory": row.subcategory,
            "family": row.family or _family(row.subcategory),
            "condition": label,
            "expected": row.expected,
            "keys": list(row.keys),
            "oracle": row.oracle,
            "documents": len(row.documents),
            "document_chars": sum(asked.chars),
            "cut": sum(asked.cut),
            "retrieved": found
            and {**found.to_json(), "oracle_shown": any(d.is_gold for d in row.documents)},
        },
    )


def _family(subcategory: str) -> str | None:
    try:
        return TAXONOMY.domain_of(subcategory)
    except KeyError:
        return None
