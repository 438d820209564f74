"""Files that are whole or absent: written under a temporary name beside them, then renamed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TextIO

import jsonlines

from trace.errors import DataError
from trace.records import Json

TEMPORARY = ".tmp-"
"""How the name of an unfinished file begins."""

_LINE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def safe_name(text: str, length: int = 128) -> str:
    """`text` as a name for a file or for W&B: only `[A-Za-z0-9._-]`, not hidden, not empty.

    A text longer than `length` is cut and ends in a hash, so that long names stay apart.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-") or "-"
    if len(name) <= length:
        return name
    ending = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: length - 9]}-{ending}"


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path in the folder of `path`, renamed to it on success and removed on failure.

    The temporary name ends like the real one, for libraries that infer a format from it. The
    folder is made if needed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{TEMPORARY}{uuid.uuid4().hex[:8]}-{path.name}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _text(path: Path) -> Iterator[TextIO]:
    # A lone surrogate cannot be encoded; `backslashreplace` happens to write JSON's own escape.
    with (
        atomic_path(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file,
    ):
        yield file


def write_text(path: Path, text: str) -> None:
    r"""Writes text in UTF-8, lines ended by `\n`."""
    with _text(path) as file:
        file.write(text)


def write_json(path: Path, value: Json) -> None:
    """Writes one indented JSON document, keys in their order.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    with _text(path) as file:
        json.dump(value, file, indent=2, ensure_ascii=False, allow_nan=False)
        file.write("\n")


def write_jsonl(path: Path, rows: Iterable[Json]) -> None:
    """Writes one compact JSON value a line.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    with _text(path) as file, jsonlines.Writer(file, dumps=_LINE.encode) as writer:
        writer.write_all(rows)


def read_jsonl(path: Path) -> Iterator[Json]:
    r"""The values of a JSONL file in UTF-8. Lines end at `\n` only; empty ones are skipped.

    Raises:
        DataError: the file cannot be read, or a line is not JSON (the message names the line).
    """
    return (value for _, value in numbered_jsonl(path))


def numbered_jsonl(path: Path) -> Iterator[tuple[int, Json]]:
    """The values that `read_jsonl` gives, each with the number of its line, from 1.

    Raises:
        DataError: as `read_jsonl`.
    """
    number = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, jsonlines.Reader([line], loads=_loads).read(allow_none=True)
    except jsonlines.InvalidLineError as error:
        raise DataError(
            f"{path}, line {number}: {error.__cause__}. "
            "Every line must be one JSON value in UTF-8; correct or remove this one."
        ) from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Check the path.") from None


def _loads(line: str | bytes) -> Json:
    try:
        return json.loads(line, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("the value is nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON value")
