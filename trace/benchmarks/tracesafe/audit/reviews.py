"""What reviewers wrote: a CSV of id, verdict, reviewer and reason, checked row by row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from trace.benchmarks.tracesafe.released import MutationRecord
from trace.config import nearest
from trace.errors import DataError
from trace.records import Json
from trace.tracking.files import write_text

FILE = "spotcheck.csv"
COLUMNS = ("id", "verdict", "reviewer", "reason")
VERDICTS = ("agree", "disagree", "unsure")
_SHOWN = 5  # problems named in one message


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

    Raises:
        DataError: the file cannot be read, lacks a column, or rows are wrong; with their numbers.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}. Save it as CSV UTF-8.") from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    columns = reader.fieldnames or ()
    if missing := [column for column in COLUMNS if column not in columns]:
        raise DataError(
            f"{path}: the columns {', '.join(missing)} are missing; it has {', '.join(columns)}. "
            f"The first row should be {','.join(COLUMNS)}."
        )
    rows = [(reader.line_num, row) for row in reader]
    if problems := list(_problems(rows, [record.id for record in records])):
        more = f" And {len(problems) - _SHOWN} more." if len(problems) > _SHOWN else ""
        raise DataError(f"{path}: {' '.join(problems[:_SHOWN])}{more}")
    return tuple(
        Review(
            id=_cell(row, "id"),
            verdict=_cell(row, "verdict").lower(),
            reviewer=_cell(row, "reviewer"),
            reason=_cell(row, "reason"),
        )
        for _, row in rows
        if _cell(row, "verdict")
    )


def _problems(
    rows: Sequence[tuple[int, Mapping[str, str | None]]], ids: Sequence[str]
) -> Iterator[str]:
    known, seen = set(ids), dict[tuple[str, str], int]()
    for line, row in rows:
        id_, verdict, reviewer = (_cell(row, column) for column in COLUMNS[:3])
        if id_ not in known:
            yield f"row {line}: id: no record of the set is {id_!r}{nearest(id_, list(ids))}"
        if not verdict:
            continue
        if verdict.lower() not in VERDICTS:
            yield f"row {line}: verdict: {verdict!r} is none of {', '.join(VERDICTS)}."
        if not reviewer:
            yield f"row {line}: reviewer: is empty beside a verdict."
        elif (first := seen.setdefault((id_, reviewer), line)) != line:
            yield f"row {line}: {reviewer} has judged {id_} in row {first} already."


def _cell(row: Mapping[str, str | None], column: str) -> str:
    return (row[column] or "").strip()
