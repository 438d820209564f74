"""JSON Lines from a stream, one object at a time, so that a source of any size can be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, NoReturn

from trace.errors import DataError
from trace.records import Json

LFS = b"version https://git-lfs"
"""How a Git LFS pointer begins, which stands where the data was not fetched."""

MAX_LINE = 2**24
"""Bytes of one line. What is longer is no record, and a packed file could hold it in a few kB."""


def lfs_pointer(place: str) -> DataError:
    """The error of a file that was not fetched."""
    return DataError(
        f"{place}: this is a Git LFS pointer, not the data. Type `git lfs pull` in its repository, "
        "then run again."
    )


def encodable(text: str) -> bool:
    """Whether a text can be written in UTF-8: half a surrogate pair cannot, and is no character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def objects(stream: IO[bytes], place: str) -> Iterator[tuple[str, dict[str, Json]]]:
    """The objects of a JSON Lines stream, each with its place for messages.

    Lines end at a line feed only: U+2028 and U+0085 may stand inside a string.

    Args:
        stream: bytes in UTF-8, with or without a byte order mark.
        place: what it is, for the message.

    Yields:
        `place`, colon and line number; and the object. Empty lines are passed over.

    Raises:
        DataError: a line is too long, not UTF-8 or no JSON object, or nothing is in the stream.
    """
    number = found = 0
    while raw := stream.readline(MAX_LINE + 1):
        number += 1
        at = f"{place}:{number}"
        if number == 1:
            if raw.startswith(LFS):
                raise lfs_pointer(place)
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if len(raw) > MAX_LINE:
            raise DataError(
                f"{at}: the line is longer than {MAX_LINE // 2**20} MiB, so this is no "
                "record. One JSON object stands on each line: is the file the one that is meant?"
            )
        if raw.strip():
            found += 1
            yield at, _object(raw, at)
    if not found:
        raise DataError(f"{place}: is empty. Get the file again.")


def _object(raw: bytes, at: str) -> dict[str, Json]:
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
        if b"\\u" in raw:  # half a surrogate pair cannot be written again
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{at}: not UTF-8 at byte {error.start} of the line. Convert the file to UTF-8."
        ) from error
    except UnicodeEncodeError as error:
        raise DataError(
            f"{at}: has half a surrogate pair, which is no character. Remove it, or the line."
        ) from error
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        raise DataError(f"{at}: not JSON ({why}). One JSON object stands on each line.") from error
    if not isinstance(value, dict):
        raise DataError(f"{at}: should be one JSON object, not {type(value).__name__}.")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")
