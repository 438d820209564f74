"""Models in tiers by the share of a label: no test between two tiers is in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trace.records import Json
from trace.report.compare.section import Section, missing
from trace.report.cross_lab.family import ALPHA, Array, Reading
from trace.report.cross_lab.words import CONDITIONS, plain
from trace.report.grid import Grid, percent

NAME, TITLE = "cross_lab_tiers", "Tiers of models"


def tiers(shares: Array, differ: NDArray[np.bool_]) -> list[list[int]]:
    """Splits models, ordered by their share, wherever all above differ from all below.

    A cut is made between two neighbours if every model above it differs significantly from every
    model below it; with all such cuts, every comparison between two tiers is significant, and no
    finer split has that property. Models of one tier may still differ: they are held together by
    others between them. (Two models share a tier if a chain of overlapping groups without a
    significant difference links them; such groups are the letters of Piepho 2004, J. Comput.
    Graph. Stat. 13:456-466.)

    Args:
        shares: [models]; NaN leaves a model out.
        differ: whether two models differ, [models, models], symmetric.

    Returns:
        Places of models, the largest share first; equal shares in the order of the models.
    """
    known = np.flatnonzero(~np.isnan(shares))
    order = [int(m) for m in known[np.argsort(-shares[known], kind="stable")]]
    found: list[list[int]] = []
    for i, model in enumerate(order):
        if not i or differ[np.ix_(order[:i], order[i:])].all():
            found.append([])
        found[-1].append(model)
    return found


def matrix(read: Reading, cell: int, condition: int) -> NDArray[np.bool_]:
    """Which models differ significantly on one label under one condition, [models, models]."""
    models = len(read.votes.respondents)
    found = np.zeros((models, models), dtype=np.bool_)
    for (a, b), beyond in zip(read.pairs, read.significant[cell, condition], strict=True):
        found[a, b] = found[b, a] = beyond
    return found


def tiers_of(read: Reading, cell: int, condition: int) -> list[list[int]]:
    """The tiers of one label under one condition, as `tiers` gives them."""
    return tiers(read.shares[cell, condition], matrix(read, cell, condition))


def all_tiers(read: Reading) -> list[dict[str, Json]]:
    """The tiers of every label under both conditions.

    Returns:
        For each `category`, `condition`, `label`, `tiers`: lists of `model`, `k`, `n`, `value`.
    """
    return [
        {
            "category": category,
            "condition": name,
            "label": label,
            "tiers": [
                [_place(read, cell, condition, model) for model in tier]
                for tier in tiers_of(read, cell, condition)
            ],
        }
        for cell, (category, label) in enumerate(read.cells)
        for condition, name in enumerate(CONDITIONS)
    ]


def _place(read: Reading, cell: int, condition: int, model: int) -> dict[str, Json]:
    k, n = int(read.hits[cell, condition, model]), int(read.n[cell, condition, model])
    return {"model": read.votes.respondents[model], "k": k, "n": n, "value": k / n}


def section(read: Reading) -> Section:
    """A row a label and condition with two tiers or more."""
    if not read.p.size:
        return missing(NAME, TITLE, "there is one respondent, or no core category")
    found = all_tiers(read)
    split = [one for one in found if len(one["tiers"]) > 1]
    grid = Grid(title="Tiers by the share of a label", header=["Models and their shares", "Tier"])
    grid.notes[""] = (
        f"Percent. Between two tiers every comparison of two models has q < {ALPHA:g} (Fisher, "
        "Benjamini-Hochberg over the whole family); within a tier some may, too. "
        f"{len(found) - len(split)} of {len(found)} labels and conditions have one tier."
    )
    for one in split:
        where = f"{plain(one['category'])}, {one['condition']}: {plain(one['label'])}"
        grid.rows.append([(where,), ("",)])
        grid.rows += [[(_named(tier),), (str(i + 1),)] for i, tier in enumerate(one["tiers"])]
        grid.ends.append(len(grid.rows))
    return Section(name=NAME, title=TITLE, result={"tiers": found}, grids=(grid,))


def _named(tier: Sequence[dict[str, Any]]) -> str:
    return ", ".join(f"{one['model']} {percent(one['value'])}" for one in tier)
