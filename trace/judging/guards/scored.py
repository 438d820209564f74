"""A verdict out of the likelihood of two labels, one of which means unsafe."""

from __future__ import annotations

from trace.judging.guards.answers import likeliest
from trace.judging.guards.base import SAFE, UNSAFE
from trace.records import Completion, Verdict


def two_way(answer: Completion, *, safe: str, unsafe: str) -> Verdict:
    """P(unsafe) is the share of `unsafe` in the softmax over the two labels.

    Args:
        answer: A completion with `scores` of just these labels.
        safe: The label, as the guard writes it, that means no risk.
        unsafe: The other one.

    Returns:
        `ok` with the score, or the status that `likeliest` gives.
    """
    read = likeliest(answer, (safe, unsafe))
    if isinstance(read, Verdict):
        return read
    label = UNSAFE if read.label == unsafe else SAFE
    return Verdict(status="ok", label=label, score=read.shares[unsafe])
