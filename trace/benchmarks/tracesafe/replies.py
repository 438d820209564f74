"""What a model that takes part in a build replied: one JSON object, or the reason why not."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from trace.judging.parse import BY_FINISH
from trace.reasoning import split_reasoning
from trace.records import Completion, Json, Status

_FENCED = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)


def read_object(completion: Completion, keys: Collection[str]) -> dict[str, Json] | Status:
    """The one object that the whole reply is, in a fence or not; else what became of the reply.

    Nothing is mended or guessed: an object with a key twice, or with one that is not among `keys`,
    is unparsable, and so is one with words around it.
    """
    if completion.finish in BY_FINISH:
        return BY_FINISH[completion.finish]
    split = split_reasoning(completion.text, "think")
    if not (completion.reasoning_closed and split.closed):
        return "truncated"
    answer = split.answer.strip()
    fenced = _FENCED.fullmatch(answer)
    try:
        value = json.loads(fenced[1] if fenced else answer, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and value.keys() <= set(keys):
        return value
    return "truncated" if completion.finish == "length" else "unparsable"


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found
