"""Layers of a model, each with what a probe of it tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Layer: TypeAlias = Mapping[str, Any]
"""One of `layers` in the breakdowns of task=probe."""


def best(layers: Sequence[Layer]) -> Layer | None:
    """The layer with the highest balanced accuracy, the first of equals; None without any."""
    known = [row for row in layers if row["balanced_accuracy"]["value"] is not None]
    return max(known, key=lambda row: row["balanced_accuracy"]["value"], default=None)


def relative_depth(layers: Sequence[Layer], among: Sequence[Layer]) -> list[float]:
    """Where the layers of one model stand among those of another: the last above the last."""
    own, other = (max(row["layer"] for row in rows) for rows in (layers, among))
    return [row["layer"] / own * other if own else float(other) for row in layers]
