from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

import pytest

from trace.tracking.progress import progress


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("trace.tracking.progress.monotonic", clock)
    return clock


def test_plain_lines_are_few_and_tell_all(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress(300, "judge [x]") as meter:
        for step in range(300):
            clock.now += 0.1
            meter.advance(unscored=step % 100 == 0)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "judge [x]: 100/300, 10.0/s, ETA 0:00:20, 1 unscored"
    assert lines[-1] == "judge [x]: 300/300, 10.0/s, 3 unscored"
    assert len(lines) == 3


def test_a_quick_run_says_one_line(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress(5, "read") as meter:
        meter.advance(5, unscored=2)
    assert capsys.readouterr().err == "read: 5/5, 2 unscored\n"


def test_work_that_breaks_off_says_how_far_it_was(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with suppress(RuntimeError), progress(5, "judge") as meter:
        meter.advance(2)
        raise RuntimeError
    assert capsys.readouterr().err == "judge: 2/5, 0 unscored\n"


def test_nothing_to_do_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(0, "judge") as meter:
        meter.advance(0)
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_bar_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.openpty()
    shown = bytearray()

    def read() -> None:
        with suppress(OSError):  # Linux ends a pseudo-terminal that nobody writes to by an error
            while part := os.read(reader, 4096):
                shown.extend(part)

    thread = threading.Thread(target=read)
    thread.start()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with os.fdopen(writer, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with progress(4, "judge [bold]x[/bold]") as meter:
            meter.advance(3, unscored=2)
            meter.advance(1)
    monkeypatch.undo()
    thread.join()
    os.close(reader)
    text = shown.decode()
    assert "judge [bold]x[/bold]" in text  # text, not markup
    assert "4/4" in text
    assert "2 unscored" in text
    assert capfd.readouterr().out == ""
