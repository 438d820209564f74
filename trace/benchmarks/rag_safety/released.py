"""Expanded files as released: one row a question and condition, read a line at a time."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trace.benchmarks import lines
from trace.benchmarks.rag_safety.names import RETRIEVALS, Stored
from trace.benchmarks.rag_safety.row import Document, Row
from trace.benchmarks.released_files import data_files
from trace.config.retrieval import Retrieval
from trace.errors import DataError
from trace.records import digest
from trace.report.grid import many

EXPANDED = "eval_examples.expanded.jsonl"
ALLOWED = "allowed_example_ids.csv"
"""Ids of the questions that count, where it stands beside the rows."""
_ID_COLUMNS = ("example_id", "prompt_id")
_NAMED = 5
"""How many ids a note names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSet:
    """Rows in the order of their file.

    `fingerprint` maps file names to the sha256 of what was read. `notes` say what was left out.
    """

    rows: tuple[Row, ...]
    fingerprint: Mapping[str, str]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Question:
    """What is remembered of a question while the rows pass."""

    text: str
    places: dict[Retrieval, str]


def read(path: Path, *conditions: Stored) -> RowSet:
    """The rows of some conditions that every paired comparison can use.

    All rows are checked, and those of the conditions kept. A question that lacks a row of any
    condition in the files is left out under each of them, so that all ask the same questions.

    Args:
        path: an expanded file, or a folder with one. `allowed_example_ids.csv` beside it narrows.
        conditions: which rows are kept.

    Raises:
        DataError: a file is missing, not fetched, or not as released; a question stands twice under
            a condition or in two wordings; it has no row under one of the conditions; or nothing is
            left. With the line.
    """
    files = _files(path)
    fingerprint: dict[str, str] = {}
    allowed = _allowed(files[0].parent / ALLOWED, fingerprint)
    questions: dict[str, _Question] = {}
    rows = [
        row
        for file in files
        for at, row in _rows(file, fingerprint)
        if _remembered(questions, row, at).condition in conditions
    ]
    notes = []
    if allowed is not None:
        notes.append(_narrowed(questions, allowed, path))
        questions = {id_: question for id_, question in questions.items() if id_ in allowed}
    present = [c for c in RETRIEVALS if any(c in q.places for q in questions.values())]
    for condition in conditions:
        if condition not in present:
            raise DataError(
                f"{path}: has no row under {condition}. It has {', '.join(present)}: use one of "
                "these, or give a file with all four."
            )
    if absent := [c for c in RETRIEVALS if c not in present]:
        notes.append(f"No rows under {', '.join(absent)}: no question can be paired with these.")
    whole = {id_ for id_, q in questions.items() if len(q.places) == len(present)}
    if not whole:
        raise DataError(
            f"{path}: no question has a row under each of {', '.join(present)}, so none can be "
            "paired. Is a part of the file missing?"
        )
    if len(whole) < len(questions):
        notes.append(_left_out(questions, present))
    return RowSet(
        rows=tuple(row for row in rows if row.id in whole),
        fingerprint=fingerprint,
        notes=tuple(notes),
    )


def documents(path: Path) -> Iterator[Document]:
    """Every document of every row, as often as it stands there, read a line at a time.

    Args:
        path: as for `read`.

    Raises:
        DataError: a file is missing, not fetched, or not as released.
    """
    for file in _files(path):
        for _, row in _rows(file, {}):
            yield from row.documents


def _rows(path: Path, fingerprint: dict[str, str]) -> Iterator[tuple[str, Row]]:
    """The rows of a file, each with its place. Its sha256 is added to the fingerprint."""
    try:
        with path.open("rb") as stream:
            fingerprint[path.name] = hashlib.file_digest(stream, "sha256").hexdigest()
            stream.seek(0)
            for at, line in lines.objects(stream, str(path)):
                yield at, Row.from_json(line, at)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error


def _files(path: Path) -> list[Path]:
    """The file itself; of a folder the expanded one, else its JSON Lines files."""
    if (path / EXPANDED).is_file():
        return [path / EXPANDED]
    files = data_files(path)
    if path.is_file():
        return files
    if not (files := [file for file in files if file.suffix == ".jsonl"]):
        raise DataError(
            f"benchmark.path: {path} holds no *.jsonl file. Name the folder with {EXPANDED}."
        )
    return files


def _allowed(path: Path, fingerprint: dict[str, str]) -> frozenset[str] | None:
    """The ids of the list; None without one. Its sha256 is added to the fingerprint."""
    if not path.is_file():
        return None
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as UTF-8 ({error}).") from error
    if data.startswith(lines.LFS):
        raise lines.lfs_pointer(str(path))
    head, *body = [row for row in csv.reader(io.StringIO(text, newline="")) if row] or [[]]
    column = next((head.index(name) for name in _ID_COLUMNS if name in head), None)
    if column is None and len(head) == 1:  # a bare list of ids
        column, body = 0, [head, *body]
    if column is None or any(len(row) <= column for row in body):
        raise DataError(
            f"{path}: should have a column example_id with a value on each line. Mend it, or "
            "remove it to read all questions."
        )
    fingerprint[path.name] = hashlib.sha256(data).hexdigest()
    return frozenset(row[column].strip() for row in body)


def _remembered(questions: dict[str, _Question], row: Row, at: str) -> Row:
    """The row, once it is known to be the only one of its question and condition."""
    text = digest(row.question)
    known = questions.setdefault(row.id, _Question(text=text, places={}))
    if first := known.places.get(row.condition):
        raise DataError(
            f"{at}: {row.id} under {row.condition} stands at {first} already. Remove one, or name "
            "a single file."
        )
    if known.text != text:
        raise DataError(
            f"{at}: question: is another than that of {row.id} at "
            f"{next(iter(known.places.values()))}. All conditions ask the same: mend one."
        )
    known.places[row.condition] = at
    return row


def _narrowed(questions: Mapping[str, _Question], allowed: frozenset[str], path: Path) -> str:
    found = allowed & questions.keys()
    if not found:
        raise DataError(
            f"{path}: none of its {len(questions)} questions is in {ALLOWED} beside it, which "
            "belongs to another set. Move it away, or get the set again."
        )
    note = f"{ALLOWED} narrows {len(questions)} questions to {len(found)}."
    if absent := sorted(allowed - found):
        note += f" {len(absent)} of its ids are not in the file: {_names(absent)}."
    return note


def _left_out(questions: Mapping[str, _Question], present: Sequence[Retrieval]) -> str:
    """How many questions lack a row, under which condition, and which they are."""
    without = {
        condition: [id_ for id_, question in questions.items() if condition not in question.places]
        for condition in present
    }
    lacks = "; ".join(f"{len(ids)} {c} ({_names(ids)})" for c, ids in without.items() if ids)
    number = sum(len(question.places) < len(present) for question in questions.values())
    return (
        f"{number} of {many(len(questions), 'question')} left out under every condition, because a "
        f"paired comparison needs a row under each. Lacking: {lacks}."
    )


def _names(ids: Sequence[str]) -> str:
    more = len(ids) - _NAMED
    return ", ".join(ids[:_NAMED]) + (f" and {more} more" if more > 0 else "")
