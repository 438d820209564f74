"""Completions of a log and its segments, for tests."""

from __future__ import annotations

from pathlib import Path

from trace.models.log import CompletionLog
from trace.records import Completion, digest

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
