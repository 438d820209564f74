"""The caches of shared beginnings, computed when first needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transformers.cache_utils import Cache

from trace.models.hf import forward
from trace.models.hf.prefix_tree import Stem, Tokens


class Prefixes:
    """Gives the cache of a stem; only those on the way from the root to the last one are kept.

    Rows come in the order of the tree, so each is computed once in an undisturbed run.
    """

    def __init__(self, model: Any, stems: Sequence[Stem], prompts: Sequence[Tokens]) -> None:
        self._model = model
        self._stems = stems
        self._prompts = prompts
        self._kept: dict[int, Cache] = {}

    def length(self, stem: int) -> int:
        """How many tokens it has, its parents' included."""
        return self._stems[stem].end

    def cache(self, stem: int) -> Cache | None:
        """Its cache, one row; None for an empty one."""
        way: list[int] = []
        at: int | None = stem
        while at is not None:
            way.append(at)
            at = self._stems[at].parent
        self._kept = {i: cache for i, cache in self._kept.items() if i in way}
        above: Cache | None = None
        for i in reversed(way):
            one = self._stems[i]
            if one.end > 0 and i not in self._kept:
                segment = self._prompts[one.sample][one.start : one.end]
                self._kept[i] = forward.prefill(self._model, [segment], prefix=above).cache
            above = self._kept.get(i)
        return above
