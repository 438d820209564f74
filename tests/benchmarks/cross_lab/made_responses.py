"""Responses, and replies of a proposer, that tests are made of."""

from __future__ import annotations

import json
from collections.abc import Sequence

from trace.benchmarks.cross_lab.collect import Response
from trace.records import Json


def response(number: int, respondent: str = "a", **changed: Json) -> Response:
    """The response to an item by its number."""
    made: dict[str, Json] = {
        "item": f"vc-{number}",
        "category": "values_conflict",
        "condition": "base",
        "respondent": respondent,
        "epoch": 0,
        "text": f"I say number {number} in quite a few words, as {number} others would.",
        "masked": (),
        "key": f"{respondent}{number}",
    }
    return Response(**(made | changed))


def proposed(name: str, *numbers: int, **changed: Json) -> dict[str, Json]:
    """A label of a reply."""
    texts = {"definition": f"It {name}s.", "boundary": "Else not.", "example": f"It {name}s so."}
    return {"name": name, **texts, "numbers": list(numbers)} | changed


def reply(*labels: Json) -> str:
    return json.dumps({"labels": list(labels)})


GOOD: Sequence[Json] = (proposed("does", 1, 2), proposed("declines", 3), proposed("asks_back", 4))
