"""Items that leave out what a good answer needs, against those that do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trace.report.compare.section import Section, missing
from trace.report.cross_lab.family import only
from trace.report.cross_lab.rates import Rates, grid_of, rates, unscored
from trace.report.cross_lab.votes import Majority, Votes
from trace.report.cross_lab.words import UNDERSPECIFIED, plain

NAME, TITLE = "cross_lab_underspecified", "Underspecified items and others"


def by_specification(votes: Votes, said: Majority) -> dict[str, Rates]:
    """`rates` on the items with and without the column, of categories that have both.

    To ask back is another thing where the request lacks what the answer depends on.

    Returns:
        "underspecified" and "specified" -> category -> model -> condition -> label -> metric;
        empty if no category has both.
    """
    marked = {value: votes.where(UNDERSPECIFIED, value) for value in (True, False)}
    both = [
        name for name in votes.rubrics if all((votes.of(name) & of).any() for of in marked.values())
    ]
    found = {
        title: rates(votes, restricted(said, marked[value]))
        for title, value in ((UNDERSPECIFIED, True), ("specified", False))
    }
    return {title: {name: of[name] for name in both} for title, of in found.items() if both}


def restricted(said: Majority, wanted: NDArray[Any]) -> Majority:
    """The labels of some items, [items] wanted."""
    kept: NDArray[np.bool_] = wanted[:, None, None]
    return replace(
        said, labels=only(said.labels, wanted), tied=said.tied & kept, few=said.few & kept
    )


def section(votes: Votes, said: Majority, min_valid: int) -> Section:
    """Two tables a category that has both kinds of items."""
    found = by_specification(votes, said)
    if not found:
        reason = (
            f"no category has items with the column {UNDERSPECIFIED} true and others with false"
        )
        return missing(NAME, TITLE, reason)
    grids = []
    for title, of in found.items():
        wanted = votes.where(UNDERSPECIFIED, title == UNDERSPECIFIED)
        without = unscored(votes, restricted(said, wanted))
        grids += [
            grid_of(f"{plain(name).capitalize()}: {title} items", rows, without[name], min_valid)
            for name, rows in of.items()
        ]
    return Section(name=NAME, title=TITLE, result=dict(found), grids=tuple(grids))
