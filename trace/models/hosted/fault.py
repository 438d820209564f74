"""What can come instead of an answer, and what is to be done about it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal
from urllib.parse import urlsplit

from trace.records import Finish, Json

LIMITED = (429, 503, 529)
"""Statuses by which a server asks for fewer requests; 529 is Anthropic's `overloaded`."""

OF_EVERYBODY = {
    401: "Set the variable of model.api_key_env to a key that is valid",
    402: "Top up the account",
    404: "Correct model.id or model.base_url",
}
"""Statuses that every request would meet, and what to do about them."""

_QUOTA = re.compile(r"insufficient_quota|billing_hard_limit|insufficient balance", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context[_ ]length|context[_ ](window|size)|prompt is too long|input is too long"
    r"|input token count .{0,40}exceeds|too many (input )?tokens|max_tokens is too large",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content[_ ]?(filter|policy|management)|data_inspection_failed|content exists risk"
    r"|invalid_prompt|flagged|moderation|responsible ?ai",
    re.IGNORECASE,
)
_LONGEST_QUOTE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One attempt that brought no answer.

    `kind` says what follows. `limited`: tried again, and everybody slows down. `silent`: no reply
    in time; likewise, since a server that many ask at once may be too slow for all of them.
    `failed`: a broken connection or a server error: tried again. `unreached`: no connection came
    about: tried again. `malformed`: a reply that holds no answer: tried again. `refused`: this
    request is not tried again. `fatal`: the run stops, since every other request would meet the
    same.

    `billed` is whether the provider may charge for the attempt all the same. `retry_after` is the
    rest it asks for, in seconds.
    """

    kind: Literal["limited", "silent", "failed", "unreached", "malformed", "refused", "fatal"]
    text: str
    billed: bool = False
    retry_after: float | None = None


def of_status(status: int, body: Json, headers: Mapping[str, str]) -> Fault | Finish:
    """What an HTTP error means: a fault, or that this request ends as `too_long` or filtered.

    Args:
        status: Its number, 300 or above.
        body: The decoded JSON, or the text where it is none.
        headers: By names in lower case, or in any case of a mapping that does not mind.
    """
    words = said(body)
    text = f"HTTP {status}: {words}" if words else f"HTTP {status}"
    whole = str(body)
    if status < 400:  # prompts and key are for the host that was named, and for no other
        other = address(headers.get("location") or "somewhere else")
        return Fault(
            kind="fatal", text=f"HTTP {status}: it sends us to {other}. {OF_EVERYBODY[404]}"
        )
    if status == 429 and _QUOTA.search(whole):
        return Fault(kind="fatal", text=f"{text}. {OF_EVERYBODY[402]}")
    if status in OF_EVERYBODY:
        return Fault(kind="fatal", text=f"{text}. {OF_EVERYBODY[status]}")
    if status in LIMITED:
        return Fault(kind="limited", text=text, retry_after=retry_after(headers))
    if status >= 500 or status == 408:
        return Fault(kind="failed", text=text, retry_after=retry_after(headers))
    if status in (400, 413, 422) and _TOO_LONG.search(whole):
        return "too_long"
    if status in (400, 403, 422, 451) and _FILTERED.search(whole):
        return "content_filter"
    return Fault(kind="refused", text=text)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The rest that a server asks for, in seconds; None where it asks for none.

    Read from `Retry-After` (seconds or an HTTP date, which is compared with the server's own clock
    if it tells it) and from `retry-after-ms`.
    """
    if (milliseconds := _seconds(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if (seconds := _seconds(value)) is not None:
        return seconds
    if (until := _date(value)) is None:
        return None
    return max(0.0, (until - (_date(headers.get("date")) or datetime.now(UTC))).total_seconds())


def said(body: Json) -> str:
    """The server's own words about an error, on one line and not longer than a message may be."""
    found = body
    while isinstance(found, list) and found:
        found = found[0]
    for name in ("error", "message", "detail"):
        if isinstance(found, Mapping) and found.get(name):
            found = found[name]
    words = " ".join(str(found or "").split())
    return words if len(words) <= _LONGEST_QUOTE else words[:_LONGEST_QUOTE] + "…"


def address(url: str) -> str:
    """The address without what may be a credential: a user, a query, a fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that cannot be read"
    host = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else ""
    return f"{host}{parts.path.rstrip('/')}"


def _seconds(value: str | None) -> float | None:
    try:
        seconds = float(value or "")
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _date(value: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(value or "")
    except (ValueError, OverflowError):  # a time zone may be any number
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
