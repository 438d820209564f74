"""A log that many write and read at the same time."""

from __future__ import annotations

import multiprocessing
import resource
from pathlib import Path
from typing import Any

import pytest

from tests.models.log_help import AWKWARD, completion, segments
from trace.models.log import CompletionLog
from trace.records import digest

WRITERS, BATCHES, ROWS = 10, 20, 5


def _write(folder: Path, writer: int, start: Any) -> None:
    start.wait()
    with CompletionLog(folder) as log:
        for batch in range(BATCHES):
            log.append(
                [
                    completion(writer * 10_000 + batch * 100 + row, AWKWARD * (row * 40))
                    for row in range(ROWS)
                ]
            )


def test_ten_writers_and_a_reader(tmp_path: Path) -> None:
    """Nothing is lost or torn, and what a reader sees meanwhile is whole and only grows."""
    fork = multiprocessing.get_context("fork")
    start = fork.Event()
    writers = [fork.Process(target=_write, args=(tmp_path, n, start)) for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    expected = {
        c.key: c
        for writer in range(WRITERS)
        for batch in range(BATCHES)
        for row in range(ROWS)
        for c in [completion(writer * 10_000 + batch * 100 + row, AWKWARD * (row * 40))]
    }
    start.set()
    seen = 0
    while any(writer.is_alive() for writer in writers):
        found = CompletionLog(tmp_path).read(expected)
        assert len(found) >= seen
        assert all(found[key] == expected[key] for key in found)
        seen = len(found)
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    assert CompletionLog(tmp_path).read(expected) == expected
    assert len(segments(tmp_path)) == WRITERS


def test_a_line_that_is_finished_while_it_is_read_does_not_break_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader sees half a line, warns, and its writer goes on before the reader looks again."""
    with CompletionLog(tmp_path) as log:
        log.append([completion(1), completion(2)])
    (segment,) = segments(tmp_path)
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-20])

    def writer_goes_on(*_: object) -> None:
        segment.write_bytes(whole)

    monkeypatch.setattr("trace.models.log.logger.warning", writer_goes_on)
    wanted = {completion(n).key for n in (1, 2)}
    assert set(CompletionLog(tmp_path).read(wanted)) == {completion(1).key}
    assert set(CompletionLog(tmp_path).read(wanted)) == wanted


MANY = 100_000
"""Lines a writer."""


def _write_many(folder: Path, writer: int) -> None:
    with CompletionLog(folder) as log:
        for first in range(writer * MANY, (writer + 1) * MANY, 1000):
            log.append([completion(n) for n in range(first, first + 1000)])


@pytest.mark.slow
def test_a_million_lines_of_ten_writers_while_others_read(tmp_path: Path) -> None:
    """Every thousandth is found wherever it lies, a reader takes little memory, none is lost."""
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_write_many, args=(tmp_path, n)) for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    some = {digest(n): n for n in range(0, WRITERS * MANY, 1000)}
    seen = 0
    while any(writer.is_alive() for writer in writers):
        found = CompletionLog(tmp_path).read(some)
        assert len(found) >= seen
        assert all(found[key] == completion(some[key]) for key in found)
        seen = len(found)
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = CompletionLog(tmp_path).read(some)
    assert found == {key: completion(n) for key, n in some.items()}
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # kB
    assert grown < 100_000
    lines = sum(path.read_bytes().count(b"\n") for path in segments(tmp_path))
    assert lines == WRITERS * MANY
