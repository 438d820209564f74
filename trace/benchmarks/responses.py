"""Answers of a respondent, before anyone judges them."""

from __future__ import annotations

from trace.records import Completion, Verdict


def unjudged(response: Completion) -> Verdict | None:
    """Why there is nothing to judge; None if there is.

    An answer cut off by the token limit is judged as it stands; reasoning is no answer.
    """
    if response.finish == "content_filter":
        return Verdict(status="refused", rationale="stopped by the provider's filter")
    if response.finish in ("too_long", "error"):
        return Verdict(status="too_long" if response.finish == "too_long" else "error")
    if response.text.strip():
        return None
    cut = response.finish == "length" or not response.reasoning_closed
    return Verdict(status="truncated" if cut else "unparsable", rationale="there is no answer")
