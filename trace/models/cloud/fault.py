"""What a provider's refusal means: its services answer by the statuses of HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trace.models.hosted.fault import LIMITED, Fault, retry_after, said
from trace.tracking.secrets import redact

TOO_LONG = "too_long"
"""The text of a fault that stands for a text longer than the service takes."""

_TOO_LONG = re.compile(
    r"\b(too (long|large)|exceed(s|ed|ing)?)\b.{0,80}\b(characters|tokens|length)\b"
    r"|\b(text|input|prompt|content|token|tokens|length)\b.{0,80}\b(too (long|large)|exceed(s|ed)?)\b",
    re.IGNORECASE | re.DOTALL,
)


def of_status(
    status: int | None,
    code: str,
    message: str,
    advice: Mapping[int, str],
    headers: Mapping[str, str] | None = None,
) -> Fault:
    """The fault that an error of HTTP is.

    A filter of a provider is not told apart, as for other hosted models: here it is what is asked.

    Args:
        status: of HTTP; None where there is none.
        code: the provider's own name of the error.
        message: its words. Only the first line is repeated: AWS adds the request itself to some.
        advice: status -> what to do, for those that every request would meet.
        headers: of the reply, for the rest that it asks for.
    """
    first, *_ = message.strip().splitlines() or [""]
    words = said(first.replace(code, "").strip(" :()")) if code else said(first)
    parts = [f"HTTP {status}" if status else "no status", code, words]
    text = str(redact(": ".join(part for part in parts if part)))
    if status in advice:
        return Fault(kind="fatal", text=f"{text}. {advice[status]}")
    if status in LIMITED:
        return Fault(kind="limited", text=text, retry_after=retry_after(headers or {}))
    if status is None or status == 408 or status >= 500:
        return Fault(kind="failed", text=text, retry_after=retry_after(headers or {}))
    return Fault(kind="refused", text=text)


def is_too_long(message: str) -> bool:
    """Whether a provider's words say that a text is longer than it takes."""
    return _TOO_LONG.search(message) is not None
