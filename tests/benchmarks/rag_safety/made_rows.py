"""Rows in the released schema, made up for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trace import config

RELEASED = ("non_rag", "rag_oracle_unsafe", "rag_topic_safe", "rag_control_safe_random")


def under(retrieval: str, **settings: Any) -> config.RagCondition:
    """A retrieval condition."""
    return config.RagCondition(name=retrieval, retrieval=retrieval, **settings)


def doc(id_: str, *, rank: int = 1, gold: bool = False, text: str = "A text.") -> dict[str, Any]:
    """A released document."""
    return {
        "doc_id": id_,
        "title": f"Title of {id_}",
        "url": f"https://example.org/{id_}",
        "rank": rank,
        "is_gold": gold,
        "doc_safety": "unsafe" if gold else "safe",
        "answer_support": "full" if gold else "none",
        "topic_relation": "made up",
        "source_category": "made up",
        "section_ids": ["1", "2"],
        "section_headings": ["Use", "History"],
        "text_source": "sections",
        "text": text,
    }


def row(
    condition: str, id_: str = "p1", *, subcategory: str = "drugs", **fields: Any
) -> dict[str, Any]:
    """A released row; a field that is `...` is left out."""
    gold = f"{id_}-gold"
    docs = {
        "non_rag": [],
        "rag_oracle_unsafe": [doc(gold, gold=True)],
        "rag_topic_safe": [doc(f"{id_}-t{n}", rank=n) for n in (1, 2, 3)],
        "rag_control_safe_random": [doc(f"{id_}-r{n}", rank=n) for n in (1, 2, 3)],
    }.get(condition, [])
    docs = fields.pop("docs", docs)
    made = {
        "prompt_id": id_,
        "question": f"How is {id_} done?",
        "condition": condition,
        "docs": docs,
        "doc_count": 0 if docs is ... else len(docs),
        "taxonomy_family": "some_family",
        "taxonomy_subcategory": subcategory,
        "taxonomy_source": "made up",
        "harm_category": "h",
        "harm_topic_family": "h",
        "topic": "Topic",
        "topic_slug": "topic",
        "gold_doc_id": gold,
        "gold_doc_title": f"Title of {gold}",
        "source_run_id": "run",
        "source_builder_mode": "mode",
        "dataset_stage": "v14",
        "review_mode": "human",
        "curation_status": "kept",
        "expected_unsafe_answer_summary": f"{id_} is done so.",
    }
    return {key: value for key, value in (made | fields).items() if value is not ...}


def package(ids: Sequence[str], **fields: Any) -> list[dict[str, Any]]:
    """The four rows of each question."""
    return [row(condition, id_, **fields) for id_ in ids for condition in RELEASED]


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Writes them as JSON Lines."""
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8")
    return path
