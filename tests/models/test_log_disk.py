"""A log on a disk that is full, slow or closed, and a write that is interrupted."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.models.log_help import completion, logged, segments
from trace.errors import DataError
from trace.models.log import CompletionLog
from trace.records import Completion, digest


class FullDisk:
    """os.write on a disk with room for `room` bytes more, which takes small bites."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.write = os.write

    def __call__(self, fd: int, data: Any) -> int:
        if self.room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = self.write(fd, bytes(data)[: min(self.room, 50)])
        self.room -= done
        return done


@pytest.fixture
def first_batch(tmp_path: Path) -> Iterator[tuple[CompletionLog, Completion]]:
    with CompletionLog(tmp_path) as log:
        log.append([completion(1)])
        yield log, completion(1)


@pytest.mark.parametrize("room", [0, 1, 77, 300, 500])
def test_full_disk_loses_nothing(
    tmp_path: Path, first_batch: tuple[CompletionLog, Completion], room: int, monkeypatch: Any
) -> None:
    log, kept = first_batch
    before = segments(tmp_path)[0].read_bytes()
    batch = [completion(2), completion(3)]
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", FullDisk(room))
        with pytest.raises(DataError, match=r"No space left on device.*same command"):
            log.append(batch)
    assert segments(tmp_path)[0].read_bytes() == before
    log.append(batch)  # room was made
    everything = {c.key: c for c in (kept, *batch)}
    assert CompletionLog(tmp_path).read(everything) == everything


def test_full_disk_that_cannot_even_be_tidied(
    tmp_path: Path, first_batch: tuple[CompletionLog, Completion], monkeypatch: Any, caplog: Any
) -> None:
    def refuse(*args: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    log, kept = first_batch
    batch = [completion(2), completion(3)]
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", FullDisk(100))
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(DataError, match="No space left"):
            log.append(batch)
    assert "Input/output error" in caplog.text
    log.append(batch)
    everything = {c.key: c for c in (kept, *batch)}
    assert CompletionLog(tmp_path).read(everything) == everything


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: Any) -> None:
    batch = [completion(n) for n in range(5)]
    monkeypatch.setattr(os, "write", FullDisk(10**9))
    logged(tmp_path, *batch)
    assert CompletionLog(tmp_path).read([c.key for c in batch]) == {c.key: c for c in batch}


def test_one_batch_is_one_write(tmp_path: Path, monkeypatch: Any) -> None:
    sizes: list[int] = []
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: (sizes.append(len(data)), write(fd, data))[1])
    segment = logged(tmp_path, *(completion(n) for n in range(5)))
    assert sizes == [segment.stat().st_size]


def test_interrupt_while_writing_is_taken_back(tmp_path: Path, monkeypatch: Any) -> None:
    write = os.write

    def interrupted(fd: int, data: Any) -> int:
        write(fd, bytes(data)[:60])
        raise KeyboardInterrupt

    with CompletionLog(tmp_path) as log:
        log.append([completion(1)])
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                log.append([completion(2)])
        log.append([completion(2)])
    assert set(CompletionLog(tmp_path).read([digest(1), digest(2)])) == {digest(1), digest(2)}


def test_disk_that_refuses_at_the_end(tmp_path: Path, monkeypatch: Any) -> None:
    def refuse(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    log = CompletionLog(tmp_path)
    log.append([completion(1)])
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(DataError, match="No space left"):
        log.close()


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be written"):
        CompletionLog(tmp_path / "file" / "log").append([completion(1)])
