"""Credentials stay out of everything that is written or sent."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from trace.records import Json

REDACTED = "[redacted]"
SHORTEST = 8
"""Shorter values of the environment are left alone: `1` or `true` would be found everywhere."""

_VARIABLE = re.compile(
    r"((^|_)KEY(_ID)?|API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|(^|_)PASS)$", re.IGNORECASE
)
# Narrower than for the environment: `eos_token` or a sha256 under `key` are no credentials.
_FIELD = re.compile(
    r"((api|access|secret|private|auth)[_-]?(key|token)|((^|[-.])|(hf|wandb|github|bearer)_)token"
    r"|secret|password|passwd|passphrase)$",
    re.IGNORECASE,
)
_USER_IN_URL = re.compile(r"(?<=://)[^/\s@]+(?=@)")
# The forms that the issuers document: OpenAI and Anthropic, Hugging Face, GitHub, AWS.
_TOKEN = re.compile(r"\b(sk-[\w-]{16,}|hf_\w{16,}|gh[a-z]_\w{16,}|github_pat_\w{16,}|AKIA\w{16})")


def redact(value: Json) -> Json:
    """`value` without the credentials of the environment.

    The values of variables named like credentials (…KEY, …TOKEN, …SECRET, …PASSWORD) are replaced
    wherever they occur in a string; so are strings in a field named like one (`api_key`), and the
    user of a URL.
    """
    return _walk(value, _values(os.environ))


def redact_command(arguments: Iterable[str]) -> list[str]:
    """A command line without credentials: as `redact`, and what looks like one in itself."""
    values = _values(os.environ)
    return [_argument(argument, values) for argument in arguments]


def _values(environment: Mapping[str, str]) -> re.Pattern[str] | None:
    found = {
        value.strip()
        for name, value in environment.items()
        if _VARIABLE.search(name) and len(value.strip()) >= SHORTEST
    }
    # Longest first: of two that begin alike the whole must go.
    longest_first = sorted(found, key=lambda value: (-len(value), value))
    return re.compile("|".join(map(re.escape, longest_first))) if found else None


def _walk(value: Json, values: re.Pattern[str] | None) -> Json:
    if isinstance(value, str):
        text = values.sub(REDACTED, value) if values else value
        return _USER_IN_URL.sub(REDACTED, text)
    if isinstance(value, Mapping):
        return {
            _walk(key, values): REDACTED
            if isinstance(item, str) and isinstance(key, str) and _FIELD.search(key)
            else _walk(item, values)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_walk(item, values) for item in value]
    return value


def _argument(argument: str, values: re.Pattern[str] | None) -> str:
    name, equals, _ = argument.partition("=")
    if equals and _FIELD.search(name):
        return f"{name}={REDACTED}"
    return _TOKEN.sub(REDACTED, str(_walk(argument, values)))
