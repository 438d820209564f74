"""How far the judges agree, by category, condition and split."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trace.records import Json
from trace.report.agreement import coefficient
from trace.report.compare.judged import How
from trace.report.compare.section import Section
from trace.report.cross_lab.votes import Votes
from trace.report.cross_lab.words import (
    ARMS,
    CATEGORIES,
    CONDITIONS,
    MAIN,
    SPLIT,
    SPLITS,
    plain,
)
from trace.report.entry import from_estimate
from trace.report.grid import Grid
from trace.report.rag_safety.answers import ABSENT, Codes
from trace.stats.agreement import Votes as Rows
from trace.stats.agreement import stratified_agreement

NAME, TITLE = "cross_lab_agreement", "Agreement of the judges"
ALL = "all"


def ballots(
    votes: Votes,
    category: str,
    *,
    condition: str | None = None,
    split: str | None = None,
    own: bool = False,
) -> tuple[list[list[str | None]], list[int]]:
    """What the judges said of each answer in the main arm, and the item that each is to.

    Args:
        votes: what was said.
        category: of the items.
        condition: one of the two, or both.
        split: one of the two, or all items.
        own: whether what a respondent said of itself is a vote.

    Returns:
        Labels, an answer a row and a judge a column; places of items.
    """
    wanted = votes.of(category)
    if split is not None:
        wanted = wanted & votes.where(SPLIT, split)
    said = votes.votes[ARMS.index(MAIN)]
    if not own:
        said = np.where(votes.own, ABSENT, said)
    places = np.flatnonzero(wanted)
    under = range(len(CONDITIONS)) if condition is None else [CONDITIONS.index(condition)]
    part: Codes = said[places][:, list(under)]
    asked: NDArray[np.bool_] = (part != ABSENT).any(axis=-1)
    names: list[str | None] = [*votes.rubrics[category], None, None]  # -1 and -2 are no label
    rows = [[names[code] for code in row] for row in part[asked].tolist()]
    clusters = np.broadcast_to(places[:, None, None], asked.shape)[asked].tolist()
    return rows, clusters


def agreement(votes: Votes, how: How) -> dict[str, Json]:
    """Fleiss' kappa of the peers' votes, and the share of equal pairs of votes beside it.

    A respondent's vote on itself is left out, as it is from the labels. Items are resampled with
    all their answers. Over all categories kappa is their mean by answers, since each has labels of
    its own.

    Returns:
        `categories`: category -> group (`ALL`, a condition, a split) -> `fleiss` and `percent`,
        metrics; `overall` and `with_own` (each respondent's own votes included): metrics.
    """
    names = [name for name in CATEGORIES if name in votes.rubrics and votes.of(name).any()]
    groups: dict[str, tuple[str | None, str | None]] = {ALL: (None, None)}
    groups |= {condition: (condition, None) for condition in CONDITIONS}
    groups |= {split: (None, split) for split in SPLITS}
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        for group, (condition, split) in groups.items():
            rows, items = ballots(votes, name, condition=condition, split=split)
            if rows:
                found.setdefault(name, {})[group] = {
                    kind: coefficient(kind, rows, items, draws=how.draws, seed=how.seed)
                    for kind in ("fleiss", "percent")
                }

    def overall(own: bool) -> dict[str, Json]:
        strata: list[Rows] = [ballots(votes, name, own=own)[0] for name in names]
        total = sum(map(len, strata))
        return from_estimate(stratified_agreement("fleiss", strata), total=total) | {
            "unit": "fleiss"
        }

    return {"categories": found, "overall": overall(False), "with_own": overall(True)}


def kappa(found: Mapping[str, Any], category: str, group: str = ALL) -> float | None:
    """The kappa of a category in what `agreement` found; None where it is undefined."""
    metric = found["categories"].get(category, {}).get(group, {}).get("fleiss", {"value": None})
    value: float | None = metric["value"]
    return value


def section(found: Mapping[str, Any]) -> Section:
    """One table of what `agreement` found."""
    grid = Grid(title="Agreement of the peers", header=["Category", "Answers", "κ", "Equal", "n"])
    grid.notes[""] = (
        "Fleiss' κ, and the share of equal pairs of votes, with 95% intervals, items resampled. "
        "κ is low where nearly all labels are the same. Without each model's vote on itself, but "
        "for the last line. Over all categories: the mean κ by answers, each with chance of its "
        "own."
    )
    for category, groups in found["categories"].items():
        for group, of in groups.items():
            cells = [grid.coefficient(of[kind]) for kind in ("fleiss", "percent")]
            n = f"{of['fleiss']['n']:,}"
            grid.rows.append([(plain(category),), (plain(group),), *cells, (n,)])
        grid.ends.append(len(grid.rows))
    for name, what in (("overall", "all"), ("with_own", "all, own votes too")):
        metric = found[name]
        grid.rows.append(
            [("all",), (what,), grid.coefficient(metric), ("",), (f"{metric['n']:,}",)]
        )
    return Section(name=NAME, title=TITLE, result=dict(found), grids=(grid,))
