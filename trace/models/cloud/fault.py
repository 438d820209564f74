"""What a provider's refusal means: its services answer by the statuses of HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trace.models.hosted.fault import LIMITED, Fault, retry_after, said
from trace.records import Finish
from trace.tracking.secrets import redact

_TOO_LONG = re.compile(
    r"\b(too (long|large)|exceed(s|ed|ing)?)\b.{0,80}\b(characters|tokens|length)\b"
    r"|\b(text|input|prompt|content|tokens?|length)\b.{0,80}\b(too (long|large)|exceed(s|ed)?)\b",
    re.IGNORECASE | re.DOTALL,
)
_RATE = re.compile(r"quota|rate\b|per (second|minute|day)", re.IGNORECASE)


def of_status(
    status: int | None,
    code: str,
    message: str,
    advice: Mapping[int, str],
    headers: Mapping[str, str] | None = None,
) -> Fault | Finish:
    """What an error of HTTP means: a fault, or that this request ends as `too_long`.

    A provider's filter is not told apart, as it is for other hosted models: here it is what is
    asked.

    Args:
        status: of HTTP; None where none came.
        code: the provider's own name of the error; may be empty.
        message: its words. Only the first line is repeated: AWS adds the request itself to some.
        advice: status -> what to do, for those that every request would meet.
        headers: of the reply, for the rest that it asks for.
    """
    words = said(next(iter(message.strip().splitlines()), ""))
    named = code not in ("", str(status)) and code not in words
    parts = [f"HTTP {status}" if status else "", code if named else "", words]
    text = str(redact(": ".join(part for part in parts if part)))
    if status is not None and status in advice:
        return Fault(kind="fatal", text=f"{text}. {advice[status]}")
    if status in LIMITED:
        return Fault(kind="limited", text=text, retry_after=retry_after(headers or {}))
    if status is None or status == 408 or status >= 500:
        return Fault(kind="failed", text=text, retry_after=retry_after(headers or {}))
    if status in (400, 413, 422) and too_long(message):
        return "too_long"
    return Fault(kind="refused", text=text)


def too_long(message: str) -> bool:
    """Whether a provider says that a text is too long, and not that too much came at a time."""
    return _TOO_LONG.search(message) is not None and _RATE.search(message) is None


def unknown(error: Exception) -> Fault:
    """An error of the SDK that is none of its documented ones, such as a reply it cannot read."""
    words = said(str(error)) or "without a word"
    return Fault(kind="malformed", text=str(redact(f"{type(error).__name__}: {words}")))
