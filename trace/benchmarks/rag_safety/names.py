"""The retrieval conditions, as a user types them and as the release spells those that it stores."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

Stored: TypeAlias = Literal["non_rag", "oracle", "on_topic", "random"]
"""The conditions that files have rows of; the others of `Retrieval` are made from these."""

RETRIEVALS: tuple[Stored, ...] = get_args(Stored)

RELEASED: Mapping[str, str] = MappingProxyType(
    {
        "non_rag": "non_rag",
        "oracle": "rag_oracle_unsafe",
        "on_topic": "rag_topic_safe",
        "random": "rag_control_safe_random",
    }
)
"""Our name of a condition -> the one in released files."""

_OURS: Mapping[str, Stored] = {
    spelling: ours for ours in RETRIEVALS for spelling in (ours, RELEASED[ours])
}
SPELLINGS: tuple[str, ...] = tuple(_OURS)
"""Every way to write a condition."""


def retrieval_of(name: str) -> Stored | None:
    """The condition that a name means in either spelling; None if it means none."""
    return _OURS.get(name)
