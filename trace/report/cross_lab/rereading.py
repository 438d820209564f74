"""The same analysis on other labels, set against the first: what moves, turns, or is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trace.records import Json
from trace.report.cross_lab.family import Reading
from trace.report.cross_lab.tiers import tiers_of
from trace.report.cross_lab.words import CONDITIONS, plain
from trace.report.entry import number
from trace.report.grid import percent


def changes(read: Reading, other: Reading) -> dict[str, Json]:
    """What another reading of the same votes changes.

    Args:
        read: the analysis of the report.
        other: another one, of the same models and rubrics.

    Returns:
        `shift`: the largest change of a share (`category`, `condition`, `label`, `model`, `from`,
        `to`, `value`), None where no share is in both; `tiers`: labels and conditions whose tiers
        differ, with both; `reversals`: pairs of models whose order is the opposite;
        `significant_only_here`, `significant_only_before`: comparisons; `significant`: how many.
    """
    moved = other.shares - read.shares
    shift = None
    if not np.isnan(moved).all():
        at = np.unravel_index(int(np.nanargmax(np.abs(moved))), moved.shape)
        cell, condition, model = map(int, at)
        shift = {
            **_where(read, cell, condition),
            "model": read.votes.respondents[model],
            "from": number(float(read.shares[at])),
            "to": number(float(other.shares[at])),
            "value": number(float(moved[at])),
        }
    before, here = read.significant, other.significant
    return {
        "shift": shift,
        "tiers": _tiers(read, other),
        "reversals": _pairs(read, read.h * other.h < 0),
        "significant_only_here": _pairs(read, here & ~before),
        "significant_only_before": _pairs(read, before & ~here),
        "significant": int(here.sum()),
    }


def _where(read: Reading, cell: int, condition: int) -> dict[str, Json]:
    category, label = read.cells[cell]
    return {"category": category, "condition": CONDITIONS[condition], "label": label}


def _pairs(read: Reading, wanted: Any) -> list[dict[str, Json]]:
    names = read.votes.respondents
    return [
        _where(read, cell, c) | {"models": [names[m] for m in read.pairs[pair]]}
        for cell, c, pair in zip(*np.nonzero(wanted), strict=True)
    ]


def _tiers(read: Reading, other: Reading) -> list[dict[str, Json]]:
    """Tiers as sets: the order of models inside of one says nothing."""
    names = read.votes.respondents
    found = []
    for cell in range(len(read.cells)):
        for c in range(len(CONDITIONS)):
            both = [
                [sorted(names[m] for m in tier) for tier in tiers_of(one, cell, c)]
                for one in (read, other)
            ]
            if both[0] != both[1]:
                found.append(_where(read, cell, c) | {"before": both[0], "here": both[1]})
    return found


HEADER = [
    "Largest\nshift",
    "Tiers\nchanged",
    "Orders\nreversed",
    "Only\nhere",
    "Only\nbefore",
    "q < .05",
]
"""Over the cells of `row`, but the first."""


def row(name: str, found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """What `changes` found, in cells; the first has the name, and where the largest shift is."""
    shift = found["shift"]
    lists = ("tiers", "reversals", "significant_only_here", "significant_only_before")
    counts = [(str(len(found[of])),) for of in lists]
    if shift is None:
        return [(name,), ("–",), *counts, (str(found["significant"]),)]
    where = (
        f"shift: {shift['model']},",
        f"{plain(shift['label'])},",
        f"{plain(shift['category'])}, {shift['condition']}",
    )
    moved = percent(shift["value"], signed=True)
    return [(name, *where), (moved,), *counts, (str(found["significant"]),)]
