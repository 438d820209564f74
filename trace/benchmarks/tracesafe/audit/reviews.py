"""What reviewers wrote: a CSV of id, verdict, reviewer and reason, checked row by row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from trace.benchmarks.tracesafe.released import MutationRecord
from trace.config import nearest
from trace.errors import DataError
from trace.records import Json
from trace.tracking.files import write_text

FILE = "spotcheck.csv"
COLUMNS = ("id", "verdict", "reviewer", "reason")
VERDICTS = ("agree", "disagree", "unsure")
_SHOWN = 5  # problems named in one message

Row: TypeAlias = Mapping[str | None, str | None]
"""Cells by column; surplus ones under None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One reviewer on one record: does its label stand?"""

    id: str
    verdict: str
    reviewer: str
    reason: str

    def to_json(self) -> dict[str, Json]:
        """The review as a JSON object."""
        return asdict(self)


def write_empty(path: Path, records: Iterable[MutationRecord]) -> None:
    """Writes the file with the ids of the records, to be filled in.

    Raises:
        DataError: it cannot be written.
    """
    buffer = io.StringIO()
    rows = csv.writer(buffer, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows((record.id, "", "", "") for record in records)
    try:
        write_text(path, buffer.getvalue())
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}). Copy the set to a folder that can be."
        ) from error


def read(path: Path, records: Iterable[MutationRecord]) -> tuple[Review, ...]:
    """The reviews of a file; rows without a verdict are still to be done and left out.

    Names that differ only in case are one reviewer's, spelled as in its first row.

    Raises:
        DataError: the file cannot be read, lacks a column or has it twice, or rows are wrong; with
            their numbers.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}. Save it as CSV UTF-8.") from None
    rows = _rows(text, path)
    if problems := list(_problems(rows, [record.id for record in records])):
        more = f" And {len(problems) - _SHOWN} more." if len(problems) > _SHOWN else ""
        raise DataError(f"{path}: {' '.join(problems[:_SHOWN])}{more}")
    spelled: dict[str, str] = {}
    return tuple(
        Review(
            id=_cell(row, "id"),
            verdict=_cell(row, "verdict").lower(),
            reviewer=spelled.setdefault(_cell(row, "reviewer").casefold(), _cell(row, "reviewer")),
            reason=_cell(row, "reason"),
        )
        for _, row in rows
        if _cell(row, "verdict")
    )


def _rows(text: str, path: Path) -> list[tuple[int, Row]]:
    """The rows with the line each ends in; those of empty cells, as spreadsheets add, left out."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = reader.fieldnames or ()
        if missing := [column for column in COLUMNS if column not in columns]:
            raise DataError(
                f"{path}: the columns {', '.join(missing)} are missing; it has "
                f"{', '.join(columns)}. The first row should be {','.join(COLUMNS)}."
            )
        if twice := [column for column in COLUMNS if columns.count(column) > 1]:
            raise DataError(
                f"{path}: the columns {', '.join(twice)} stand twice. Keep one of each."
            )
        return [(reader.line_num, row) for row in reader if any(row.values())]
    except csv.Error as error:
        raise DataError(
            f"{path}: row {reader.line_num + 1}: not CSV ({error}). Is a quote left open there? "
            "Quotes within a quoted cell are doubled."
        ) from None


def _problems(rows: Sequence[tuple[int, Row]], ids: Sequence[str]) -> Iterator[str]:
    known, seen = set(ids), dict[tuple[str, str], int]()
    for line, row in rows:
        if None in row:
            yield f'row {line}: has more cells than the first row. Quote commas: "a, b".'
            continue
        id_, verdict, reviewer, reason = (_cell(row, column) for column in COLUMNS)
        if id_ not in known:
            yield f"row {line}: id: no record of the set is {id_!r}{nearest(id_, list(ids))}"
        if not verdict:
            if reason:
                yield f"row {line}: verdict: is empty beside a reason."
            continue
        if verdict.lower() not in VERDICTS:
            yield f"row {line}: verdict: {verdict!r} is none of {', '.join(VERDICTS)}."
        if not reviewer:
            yield f"row {line}: reviewer: is empty beside a verdict."
        elif (first := seen.setdefault((id_, reviewer.casefold()), line)) != line:
            yield f"row {line}: {reviewer} has judged {id_} in row {first} already."


def _cell(row: Row, column: str) -> str:
    return (row[column] or "").strip()
