from __future__ import annotations

import errno
import json
import multiprocessing
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace.errors import DataError
from trace.models.log import CompletionLog, log_folder
from trace.records import Completion, LabelScore, digest

AWKWARD = "line\u2028para\u2029next\x85\x1c\r\n\t\0 é 你好 🙂 \ud800 \\ \" {'a'}"
"""Every character at which str.splitlines would split, a multi-byte one, half a pair."""


def completion(n: int, text: str = "") -> Completion:
    return Completion(key=digest(n), text=text or f"reply {n} é", reasoning=None)


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


def logged(folder: Path, *completions: Completion) -> Path:
    """One segment with these completions; its path."""
    before = set(segments(folder))
    with CompletionLog(folder) as log:
        log.append(completions)
    (segment,) = set(segments(folder)) - before
    return segment


texts = st.text(st.characters(), max_size=20)
completions = st.builds(
    Completion,
    key=st.integers().map(digest),
    text=texts,
    reasoning=st.none() | texts,
    reasoning_closed=st.booleans(),
    finish=st.sampled_from(["stop", "length", "too_long", "content_filter"]),
    prompt_tokens=st.integers(0, 10**9),
    completion_tokens=st.integers(0, 10**9),
    scores=st.none()
    | st.dictionaries(
        texts,
        st.builds(
            LabelScore,
            logprob=st.floats(allow_nan=False, allow_infinity=False),
            tokens=st.integers(0, 99),
        ),
    ),
    engine=texts,
    seconds=st.floats(0, 1e6),
)


@given(st.lists(completions, max_size=5, unique_by=lambda c: c.key))
@settings(max_examples=100, deadline=None)
def test_what_is_appended_is_read(tmp_path_factory: Any, batch: list[Completion]) -> None:
    folder = tmp_path_factory.mktemp("log")
    with CompletionLog(folder) as log:
        log.append(batch)
        log.append(batch)
        assert log.read([c.key for c in batch]) == {c.key: c for c in batch}
    assert CompletionLog(folder).read([c.key for c in batch]) == {c.key: c for c in batch}


def test_lines_are_json_with_a_schema(tmp_path: Path) -> None:
    one, two = completion(1, AWKWARD), completion(2)
    segment = logged(tmp_path, one, two)
    lines = segment.read_bytes().split(b"\n")
    assert lines.pop() == b""
    values = [json.loads(line.decode()) for line in lines]
    assert [value["schema"] for value in values] == [1, 1]
    assert [value["key"] for value in values] == [one.key, two.key]
    assert [value["text"] for value in values] == [one.text, two.text]


def test_only_the_wanted_are_returned(tmp_path: Path) -> None:
    logged(tmp_path, *(completion(n) for n in range(10)))
    assert set(CompletionLog(tmp_path).read([digest(3), digest(99)])) == {digest(3)}
    assert CompletionLog(tmp_path).read([]) == {}
    assert CompletionLog(tmp_path / "none").read([digest(3)]) == {}


def test_first_occurrence_wins(tmp_path: Path) -> None:
    log = CompletionLog(tmp_path)
    log.append([completion(1, "first"), completion(1, "second")])
    log.close()
    log.append([completion(1, "third")])
    log.close()
    assert len(segments(tmp_path)) == 2
    assert CompletionLog(tmp_path).read([digest(1)])[digest(1)].text == "first"


def test_reading_or_appending_nothing_makes_no_file(tmp_path: Path) -> None:
    with CompletionLog(tmp_path / "log") as log:
        log.read([digest(1)])
        log.append([])
    assert not (tmp_path / "log").exists()


def test_two_logs_of_one_process_have_their_own_segments(tmp_path: Path) -> None:
    with CompletionLog(tmp_path) as one, CompletionLog(tmp_path) as two:
        one.append([completion(1)])
        two.append([completion(2)])
        one.append([completion(3)])
    assert [len(path.read_bytes().splitlines()) for path in segments(tmp_path)] == [2, 1]


def test_torn_at_every_byte_of_the_last_line(tmp_path: Path, caplog: Any) -> None:
    kept, torn, later = completion(1), completion(2, "你好 🙂 é\u2028"), completion(3)
    segment = logged(tmp_path, kept, torn)
    whole = segment.read_bytes()
    start = whole.index(b"\n") + 1
    keys = [kept.key, torn.key, later.key]
    for end in range(start, len(whole)):
        caplog.clear()
        segment.write_bytes(whole[:end])
        assert CompletionLog(tmp_path).read(keys) == {kept.key: kept}
        warned = [record.getMessage() for record in caplog.records]
        assert len(warned) == (end > start)
        assert all(f"{segment}, line 2" in message for message in warned)
    # The next process writes to a segment of its own: nothing is glued to the torn line.
    logged(tmp_path, torn, later)
    assert CompletionLog(tmp_path).read(keys) == {c.key: c for c in (kept, torn, later)}


@pytest.mark.parametrize("wanted", [[digest(1)], [digest(2)], [digest(3)], []])
def test_glued_line_is_an_error_whichever_is_wanted(tmp_path: Path, wanted: list[str]) -> None:
    segment = logged(tmp_path, completion(1), completion(2), completion(3))
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(lines[0] + lines[1][:90] + lines[2] + lines[0])
    with pytest.raises(DataError, match=rf"{segment.name}, line 2:"):
        CompletionLog(tmp_path).read(wanted)


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"null", b"[]", b"3", b'"key"', b"\0" * 90, b"\xff\xfe", b'{"schema": 1}', b"}{",
     b'{"schema": null, "key": "1"}', b'{"key": "1"}', b'{"schema": 1, "key": "1", "new": 2}',
     b'{"schema": 0, "key": "1"}', b"[" * 100_000],
)  # fmt: skip
def test_broken_line_is_named(tmp_path: Path, line: bytes) -> None:
    segment = logged(tmp_path, completion(1), completion(2))
    first, second = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(first + line + b"\n" + second)
    with pytest.raises(DataError, match=rf"{segment.name}, line 2:.*Remove the line"):
        CompletionLog(tmp_path).read([digest(1)])


@pytest.mark.parametrize(
    "change",
    [{"text": 5}, {"text": None}, {"reasoning": ["x"]}, {"top": 1}, {"finish": "nonsense"},
     {"finish": None}, {"scores": {"a": {"logprob": "-1", "tokens": 1}}}],
)  # fmt: skip
def test_a_line_with_values_of_another_kind_is_named(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    segment = logged(tmp_path, completion(1), completion(2))
    first, second = segment.read_bytes().splitlines()
    segment.write_bytes(first + b"\n" + json.dumps(json.loads(second) | change).encode() + b"\n")
    with CompletionLog(tmp_path) as log:
        assert log.read([digest(1)])
        with pytest.raises(DataError, match="line 2: not a completion"):
            log.read([digest(2)])


def test_a_segment_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").mkdir()
    with CompletionLog(tmp_path) as log, pytest.raises(DataError, match=r"a\.jsonl: cannot be"):
        log.read([digest(1)])


def test_newer_schema_says_so(tmp_path: Path) -> None:
    segment = logged(tmp_path, completion(1))
    segment.write_bytes(segment.read_bytes().replace(b'{"schema": 1,', b'{"schema": 2,'))
    with pytest.raises(DataError, match="newer version"):
        CompletionLog(tmp_path).read([])


def test_events_are_skipped(tmp_path: Path) -> None:
    segment = logged(tmp_path, completion(1))
    segment.write_bytes(b'{"event": {"out_of_memory": 32}}\n' + segment.read_bytes())
    assert set(CompletionLog(tmp_path).read([digest(1)])) == {digest(1)}


def test_errors_and_nan_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    failed = Completion(key=digest(1), finish="error", error="429")
    undefined = Completion(
        key=digest(2), scores={"Safe": LabelScore(logprob=float("nan"), tokens=1)}
    )
    with CompletionLog(tmp_path) as log:
        for bad in (failed, undefined):
            with pytest.raises(ValueError, match=r"429|not JSON compliant"):
                log.append([completion(3), bad])
    assert segments(tmp_path) == []


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


@pytest.mark.parametrize(
    ("model", "name"),
    [("smollm2", "smollm2"), ("org/model v1.5", "org-model-v1.5"), ("../..", "-"), ("模型", "-")],
)
def test_folder_names_are_plain(model: str, name: str) -> None:
    assert log_folder("outputs", model) == Path("outputs/completions") / name


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


@given(texts, st.data())
@settings(max_examples=200, deadline=None)
def test_wherever_the_last_line_is_torn_those_before_it_are_kept(
    tmp_path_factory: Any, text: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    kept, torn = completion(1, "before"), completion(2, text or "x")
    path = logged(folder, kept, torn)
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    cut = data.draw(st.integers(last, len(whole) - 1))
    path.write_bytes(whole[:cut])
    keys = [kept.key, torn.key]
    assert CompletionLog(folder).read(keys) == {kept.key: kept}
    logged(folder, torn)  # the next process is not glued to it
    assert CompletionLog(folder).read(keys) == {kept.key: kept, torn.key: torn}
