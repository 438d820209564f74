"""The completion log: one mechanism for cache, resume and audit.

Every process appends to a segment of its own, so any number of processes and hosts share a folder
without a lock. A segment that was cut off is read up to its last whole line and never written to
again.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import re
import socket
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, get_args

from trace.errors import DataError
from trace.records import Completion, Finish, Json
from trace.tracking.files import safe_name

SCHEMA = 1
"""Version of a line. Raised when a reader of the old one would misread the new one."""

_HEAD = b'{"schema": %d, ' % SCHEMA
_WHOLE = re.compile(re.escape(_HEAD) + rb'"key": "([0-9a-f]{64})", [^\0]+\}\n')
_COUNTER = itertools.count()
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)

logger = logging.getLogger(__name__)


def log_folder(output_dir: str | Path, model: str) -> Path:
    """Where the completions of a model lie."""
    return Path(output_dir) / "completions" / safe_name(model)


class CompletionLog:
    """The completions in one folder. Use as a context manager: closing makes them durable."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._segment: Path | None = None
        self._fd = -1
        self._length = 0

    def read(self, keys: Collection[str]) -> dict[str, Completion]:
        """The logged completions of `keys`. Of several with one key the first segment's counts.

        Lines of other keys are only checked for being whole, which is many times faster than
        decoding them.

        Raises:
            DataError: a line that is not the last is broken, or was written by a newer version;
                a segment cannot be read.
        """
        names = set(keys)
        wanted = {key.encode() for key in names}
        found: dict[str, Completion] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            for number, line in _whole_lines(path):
                whole = _WHOLE.fullmatch(line)
                # A line glued to a torn one begins twice; inside a JSON string no line can begin.
                if whole and whole[1] not in wanted and line.rfind(_HEAD) == 0:
                    continue
                completion = _decode(line, path, number)
                if completion and completion.key in names:
                    found.setdefault(completion.key, completion)
        return found

    def append(self, completions: Sequence[Completion]) -> None:
        """Adds completions by one write: after a crash all lines but the last are whole.

        Raises:
            ValueError: a completion is an error. Errors are not logged, so they are tried again.
            DataError: the disk is full or the folder cannot be written; nothing was added.
        """
        if errors := [c for c in completions if c.finish == "error"]:
            raise ValueError(f"an error is not a completion to be logged: {errors[0].error}")
        if not completions:
            return
        data = b"".join(map(_encode, completions))
        try:
            self._open()
            _write(self._fd, data)
            self._length += len(data)
        except BaseException as error:
            self._undo()
            if isinstance(error, OSError):
                raise self._not_written(error) from error
            raise

    @property
    def appended(self) -> bool:
        """Whether anything was added since it was opened."""
        return self._segment is not None

    def close(self) -> None:
        """Makes the segment durable and leaves it. Appending again begins another.

        Raises:
            DataError: the disk refuses what it had accepted; some network file systems do.
        """
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            try:
                os.fsync(fd)
            except OSError as error:
                raise self._not_written(error) from error
            finally:
                os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> None:
        if self._fd >= 0:
            return
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        host = safe_name(socket.gethostname(), length=64)
        self._segment = self.folder / f"{now}-{host}-{os.getpid()}-{next(_COUNTER)}.jsonl"
        self._length = 0
        self.folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._fd = os.open(self._segment, flags, 0o666)

    def _not_written(self, error: OSError) -> DataError:
        return DataError(
            f"{self._segment}: cannot be written ({error.strerror}). What was logged before is "
            "kept: make room, run the same command again, and it goes on from there."
        )

    def _undo(self) -> None:
        """Takes an unfinished write back and leaves the segment.

        Where even that fails, the torn line is the last of a segment that nobody writes to.
        """
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        try:
            os.ftruncate(fd, self._length)
        except OSError as error:
            logger.warning("%s: its unfinished end stays (%s)", self._segment, error.strerror)
        finally:
            os.close(fd)


def _encode(completion: Completion) -> bytes:
    text = _JSON.encode({"schema": SCHEMA, **completion.to_json()})
    # Half a surrogate pair has no UTF-8; backslashreplace writes it as the JSON escape it was.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _write(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


def _whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The numbered lines; bytes are split at newlines only, text would be at U+2028 too."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    logger.warning("%s, line %d: unfinished, left out", path, number)
                    return  # its writer may go on meanwhile: the rest is no line
                yield number, line
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}). Mend or remove it: what it stood for is "
            "asked again."
        ) from error


def _check_types(completion: Completion) -> None:
    texts = (completion.key, completion.text, completion.reasoning or "", completion.top or "")
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("key, text, reasoning and top are text")
    if completion.finish not in get_args(Finish):
        raise ValueError(f"finish is {completion.finish!r}")
    for score in (completion.scores or {}).values():
        if not isinstance(score.logprob, int | float):
            raise TypeError("a log-probability is a number")


def _decode(line: bytes, path: Path, number: int) -> Completion | None:
    """The completion of a whole line; None for an event."""
    try:
        value: Json = json.loads(line.decode("utf-8"))
        if "event" in value:
            return None
        schema = value.pop("schema")
        if schema == SCHEMA:
            completion = Completion.from_json(value)
            _check_types(completion)
            return completion
        newer = isinstance(schema, int) and schema > SCHEMA
        problem = f"schema {schema!r}, this version reads {SCHEMA}"
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        newer, problem = False, str(error)
    advice = (
        "A newer version wrote it: update, or give another output_dir."
        if newer
        else "Remove the line: what it stood for is asked again."
    )
    raise DataError(f"{path}, line {number}: not a completion ({problem}). {advice}")
