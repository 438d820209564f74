"""MIRAGE's files in their published shape, with content of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

QUESTIONS: list[dict[str, Any]] = [
    {"query_id": "p-1", "query": "Who keeps the lamp of Orrel?", "answer": ["Mara Tenn", "Tenn"],
     "source": "popqa"},
    {"query_id": "p-2", "query": "Is the tide of Orrel blue?", "answer": "['no', 'not at all']"},
    {"query_id": "p-3", "query": "In which year did the bell fall?", "answer": "1945"},
]  # fmt: skip
ORACLES: dict[str, dict[str, Any]] = {
    "p-1": {"mapped_id": "p-1", "doc_name": "Orrel", "doc_chunk": "Tenn keeps it.", "support": 1},
    "p-2": {"mapped_id": "p-2", "doc_chunk": "The tide is green.", "support": 1},
    "p-3": {"mapped_id": "p-3", "doc_name": "Bell", "doc_chunk": "It fell in 1945.", "support": 1},
}


def written(folder: Path, questions: object = QUESTIONS, oracles: object = ORACLES) -> Path:
    folder.mkdir(exist_ok=True)
    for name, value in (("dataset.json", questions), ("oracle.json", oracles)):
        (folder / name).write_text(json.dumps(value, indent=1), "utf-8")
    return folder
