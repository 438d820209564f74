"""Progress on stderr: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

EVERY_SECONDS = 10.0
"""The least time between two plain lines."""


class Meter(Protocol):
    """Counts what is done."""

    def advance(self, n: int = 1, unscored: int = 0) -> None:
        """`n` more are done, `unscored` of them without a label."""


@contextmanager
def progress(total: int, description: str) -> Iterator[Meter]:
    """Shows how far the work on `total` items is; nothing at all when there are none.

    The clock is read for display only. A plain line comes at most every 10 seconds, and at the
    end, also when the work breaks off.
    """
    console = Console(stderr=True)
    if total == 0:
        yield _Silent()
    elif console.is_terminal:
        with _bar(console) as bar:
            yield _Bar(bar, total, description)
    else:
        lines = _Lines(total, description)
        try:
            yield lines
        finally:
            if lines.done:
                lines.say()


def per_second(rate: float) -> str:
    """A rate with as many digits as it takes to tell it from zero."""
    return f"{rate:.1f}/s" if rate >= 1 else f"{rate:.2f}/s"


class _Silent:
    def advance(self, n: int = 1, unscored: int = 0) -> None:
        pass


class _Bar:
    def __init__(self, bar: Progress, total: int, description: str) -> None:
        self._bar = bar
        self._unscored = 0
        self._task = bar.add_task(description, total=total, unscored=0)

    def advance(self, n: int = 1, unscored: int = 0) -> None:
        self._unscored += unscored
        self._bar.update(self._task, advance=n, unscored=self._unscored)


class _Lines:
    def __init__(self, total: int, description: str) -> None:
        self._total, self._description = total, description
        self.done = self._unscored = 0
        self._start = self._said = monotonic()

    def advance(self, n: int = 1, unscored: int = 0) -> None:
        self.done += n
        self._unscored += unscored
        if self.done < self._total and monotonic() - self._said >= EVERY_SECONDS:
            self.say()

    def say(self) -> None:
        self._said = monotonic()
        elapsed = self._said - self._start
        parts = [f"{self._description}: {self.done}/{self._total}"]
        if self.done and elapsed > 0:
            rate = self.done / elapsed
            parts.append(per_second(rate))
            if left := self._total - self.done:
                parts.append(f"ETA {timedelta(seconds=round(left / rate))}")
        parts.append(f"{self._unscored} unscored")
        print(", ".join(parts), file=sys.stderr, flush=True)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else per_second(speed))


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[unscored]} unscored"),
        console=console,
    )
