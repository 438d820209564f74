"""How a guard's answer ended, before any family reads it."""

from __future__ import annotations

from trace.judging.parse import BY_FINISH
from trace.records import Completion, Verdict


def ended_badly(answer: Completion) -> Verdict | None:
    """The verdict of an answer whose end decides it, whatever it says; None if it can be read."""
    if answer.finish in BY_FINISH:
        return Verdict(status=BY_FINISH[answer.finish])
    return None if answer.reasoning_closed else Verdict(status="truncated")


def unread(answer: Completion) -> Verdict:
    """The verdict of an answer without one: it was cut off before it, or says something else."""
    return Verdict(status="truncated" if answer.finish == "length" else "unparsable")
