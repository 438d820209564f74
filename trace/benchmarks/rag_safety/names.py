"""The four retrieval conditions, as a user types them and as the release spells them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

from trace.config.retrieval import Retrieval

RETRIEVALS: tuple[Retrieval, ...] = get_args(Retrieval)

RELEASED: Mapping[Retrieval, str] = MappingProxyType(
    {
        "non_rag": "non_rag",
        "oracle": "rag_oracle_unsafe",
        "on_topic": "rag_topic_safe",
        "random": "rag_control_safe_random",
    }
)
"""Our name of a condition -> the one in released files."""

_OURS: Mapping[str, Retrieval] = {
    spelling: ours for ours, released in RELEASED.items() for spelling in (ours, released)
}
SPELLINGS: tuple[str, ...] = tuple(_OURS)
"""Every way to write a condition."""


def retrieval_of(name: str) -> Retrieval | None:
    """The condition that a name means in either spelling; None if it means none."""
    return _OURS.get(name)
