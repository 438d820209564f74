"""The JSON objects of a reply, with what they contradict each other in marked as such."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import NoReturn

from trace.records import Json

CONFLICT = object()
"""Stands for the value of a key that was given several."""
_KEY = re.compile(r'\s*("[^"\\]*+(?:\\.[^"\\]*+)*+")\s*:\s*', re.DOTALL)
_NEXT = re.compile(r"\s*([,}])")


def read_objects(reply: str) -> tuple[dict[str, Json], str | None]:
    """The fields of all outermost objects of a reply, whatever stands around them.

    Nothing is mended. Reading stops at the first object that is not whole: what looks like an
    object inside a damaged one may be a quotation of judged text.

    Returns:
        The fields that are complete, and the text from the damage on; None if there is none.
    """
    pairs: list[tuple[str, Json]] = []
    at = 0
    while (brace := reply.find("{", at)) >= 0:
        at = brace + 1
        if _KEY.match(reply, at) is None:  # a brace of the prose
            continue
        found, at, whole = _fields(reply, at)
        pairs += found
        if not whole:
            return _merged(pairs), reply[at:]
    return _merged(pairs), None


def _fields(text: str, at: int) -> tuple[list[tuple[str, Json]], int, bool]:
    """The complete fields of an object, where reading ended, and whether the object did there."""
    found: list[tuple[str, Json]] = []
    while key := _KEY.match(text, at):
        try:
            name = json.loads(key[1], strict=False)
            value, end = _DECODER.raw_decode(text, key.end())
        except (ValueError, RecursionError):
            break
        follows = _NEXT.match(text, end)
        if follows is None and text[end:].strip():
            break
        found.append((name, value))
        if follows is None:
            return found, len(text), False
        at = follows.end()
        if follows[1] == "}":
            return found, at, True
    return found, at, False


def _merged(pairs: Iterable[tuple[str, Json]]) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for key, value in pairs:
        made[key] = value if key not in made or made[key] == value else CONFLICT
    return made


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_merged, parse_constant=_refuse, strict=False)
