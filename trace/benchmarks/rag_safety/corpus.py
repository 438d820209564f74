"""The documents that a retriever searches: a stream, so that their texts need not be held."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trace.benchmarks import lines
from trace.benchmarks.rag_safety.row import Document
from trace.config import nearest
from trace.errors import DataError
from trace.records import Json, digest

_UNSAID: Mapping[str, Json] = {
    "rank": 0,
    "is_gold": False,
    "doc_safety": "unknown",
    "answer_support": "unknown",
    "topic_relation": "unknown",
}
"""What a line need not have: nothing is known of how its document relates to a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Documents that are read anew whenever they are gone through, each once.

    A set's rows show some documents several times. The same text under the same id is one document,
    and another text under it (other sections of an article) is another.

    `source` gives them in an order that does not change. `fingerprint` has the sha256 of a file of
    its own; documents of the set itself are in the set's. `without` are ids that are left out.
    """

    source: Callable[[], Iterator[Document]]
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    without: frozenset[str] = frozenset()

    def __iter__(self) -> Iterator[Document]:
        seen: set[tuple[str, str]] = set()
        for document in self.source():
            key = (document.id, digest(document.text))
            if document.id not in self.without and key not in seen:
                seen.add(key)
                yield document


def read_corpus(path: Path) -> Corpus:
    """A JSON Lines file of documents in the released schema.

    A line needs `doc_id`, `title`, `url` and `text`; what else the schema has is unknown where the
    line does not say it.

    Raises:
        DataError: the file is missing or was not fetched. What is wrong with a line, or that an id
            stands twice, is raised when it is come to.
    """
    if not path.is_file():
        inside = sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else []
        what = "is a folder" if path.is_dir() else "does not exist"
        hint = "." if path.is_dir() else nearest(path.name, inside)
        raise DataError(
            f"benchmark.corpus: {path} {what}{hint} Give a JSONL file, a document a line."
        )
    try:
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error
    return Corpus(source=lambda: _documents(path), fingerprint={f"corpus {path.name}": sha256})


def _documents(path: Path) -> Iterator[Document]:
    places: dict[str, str] = {}
    try:
        with path.open("rb") as stream:
            for at, line in lines.objects(stream, str(path)):
                document = Document.from_json({**_UNSAID, **line}, at)
                if (first := places.setdefault(document.id, at)) != at:
                    raise DataError(
                        f"{at}: doc_id: {document.id} stands at {first} already. Remove one, or "
                        "give it another id."
                    )
                yield document
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error
