"""A key-value cache with room set aside, written in place.

transformers' dynamic cache concatenates at every step, which costs more than the attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin


class Slots(CacheLayerMixin):  # type: ignore[misc]
    """One layer: keys and values [rows, heads, capacity, dim], of which `length` are filled.

    Layers with a sliding window keep every position too; the mask hides what is out of reach.
    """

    is_sliding = False

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.length = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Sets the room aside, in the shape of the first states: [rows, heads, any, dim]."""
        self.keys, self.values = (
            states.new_zeros(*states.shape[:2], self.capacity, states.shape[3])
            for states in (key_states, value_states)
        )
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Writes the new states behind the filled ones; returns all that is filled."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[2]
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of the keys that the next queries see."""
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        """How many positions are filled."""
        return self.length

    def get_max_length(self) -> int:
        """How many positions there is room for."""
        return self.capacity


def empty(capacity: int) -> Cache:
    """A cache whose layers appear, with room for `capacity` positions, at the first forward."""
    return Cache(layer_class_to_replicate=partial(Slots, capacity))


def continued(prefix: Cache, rows: int, capacity: int) -> Cache:
    """A cache of `rows` rows that begins with the one row of `prefix`."""
    out = empty(capacity)
    for index, layer in enumerate(prefix.layers):
        keys, values = (
            states[:, :, : layer.length].expand(rows, -1, -1, -1)
            for states in (layer.keys, layer.values)
        )
        out.update(keys, values, index)
    return out


def joined(parts: Sequence[tuple[Cache, Sequence[int]]], capacity: int) -> Cache:
    """One left-padded cache from right-padded ones.

    Args:
        parts: each a cache and the true length of each of its rows.
        capacity: room for positions. The rows end together at the longest length.
    """
    width = max(length for _, lengths in parts for length in lengths)
    rows = sum(len(lengths) for _, lengths in parts)
    layers = []
    for index in range(len(parts[0][0].layers)):
        layer = Slots(capacity)
        first = parts[0][0].layers[index]
        layer.lazy_initialization(
            first.keys[:1].expand(rows, -1, -1, -1), first.values[:1].expand(rows, -1, -1, -1)
        )
        row = 0
        for cache, lengths in parts:
            source = cache.layers[index]
            for i, length in enumerate(lengths):
                layer.keys[row, :, width - length : width] = source.keys[i, :, :length]
                layer.values[row, :, width - length : width] = source.values[i, :, :length]
                row += 1
        layer.length = width
        layers.append(layer)
    return Cache(layers=layers)


def keep_rows(cache: Cache, rows: torch.Tensor) -> None:
    """Drops all rows but those numbered in `rows`."""
    for layer in cache.layers:
        layer.keys = layer.keys.index_select(0, rows)
        layer.values = layer.values.index_select(0, rows)
