"""What a user reads for a part of a triple: the word that picks it, as in `condition=trace`."""

from __future__ import annotations

from collections.abc import Mapping

CONDITION_OF: Mapping[str, str] = {
    "prompt": "prompt",
    "reasoning": "trace",
    "response": "response",
}
"""Component, which is a field of every file, -> the condition that judges it."""


def shown(item: str) -> str:
    """The word for a component; anything else stays what it is."""
    return CONDITION_OF.get(item, item)
