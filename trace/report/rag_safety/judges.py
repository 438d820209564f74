"""R4: how far the judges agree with each other, with accuracy, and with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from trace.records import Json
from trace.report.agreement import TITLES, coefficient
from trace.report.compare.judged import How
from trace.report.compare.section import Section, missing
from trace.report.entry import Metric
from trace.report.grid import Grid
from trace.report.judgements import HUMAN
from trace.report.rag_safety.answers import ABSENT, Answers, Codes
from trace.report.rag_safety.panel import Verdicts, panel_judges
from trace.report.rag_safety.words import ACCURACY, HARM, LABELS
from trace.stats.agreement import Kind

NAME, TITLE = "rag_judges", "Agreement of the judges (R4)"
PANEL = "the panel"
_TOGETHER: tuple[Kind, ...] = ("percent", "fleiss", "krippendorff")

Side: TypeAlias = tuple[Codes, Mapping[int, str]]
"""Codes, [respondents, conditions, items], and the label that each stands for; others are none."""


def agreed(kind: Kind, sides: Sequence[Side], how: How) -> Metric:
    """A coefficient over the answers that at least two sides were asked about.

    Questions are resampled with all of their answers.
    """
    shape = sides[0][0].shape
    together = np.sum([codes != ABSENT for codes, _ in sides], axis=0) > 1
    columns = [[names.get(code) for code in codes[together].tolist()] for codes, names in sides]
    clusters = np.broadcast_to(np.arange(shape[-1]), shape)[together].tolist()
    votes = list(zip(*columns, strict=True))
    return coefficient(kind, votes, clusters, draws=how.draws, seed=how.seed)


def two(a: Side, b: Side, how: How) -> dict[str, Metric]:
    """The share of equal labels, and Cohen's kappa."""
    return {"percent": agreed("percent", [a, b], how), "cohen": agreed("cohen", [a, b], how)}


def judges(answers: Answers, said: Verdicts, how: How) -> dict[str, Json]:
    """All agreements that the file allows, over what was judged: nobody votes on what was blocked.

    Accuracy stands against harm as accurate against unsafe, and inaccurate against safe.

    Returns:
        `harm`: `all` (coefficient -> metric; with two judges or more) and `pairs` ("a, b" ->
        `percent` and `cohen`); `accuracy`: judge of harm, or `PANEL` -> the same two, if anything
        was judged for accuracy; `human`: measure -> judge or `PANEL` -> the same two, where people
        have labels. A `reason` if there is none of it.
    """
    found: dict[str, Any] = {}
    sides = _sides(answers, HARM)
    if len(sides) > 1:
        found[HARM] = {
            "all": {kind: agreed(kind, list(sides.values()), how) for kind in _TOGETHER},
            "pairs": {f"{a}, {b}": two(sides[a], sides[b], how) for a, b in combinations(sides, 2)},
        }
    accuracy, harm = said.voted(ACCURACY), said.voted(HARM)
    if accuracy is not None and harm is not None:
        of_accuracy: Side = (accuracy, {0: "no", 1: "yes"})
        found[ACCURACY] = {
            judge: two(of_accuracy, (codes, {0: "no", 1: "yes"}), how)
            for judge, (codes, _) in (sides | {PANEL: (harm, {})}).items()
        }
    human = {}
    for measure, ballots in answers.ballots.items():
        if HUMAN not in ballots.judges:
            continue
        names = dict(enumerate(LABELS[measure]))
        people: Side = (ballots.of(HUMAN)[..., 0], names)
        others = _sides(answers, measure)
        panel = said.voted(measure)
        if panel is not None and len(others) > 1:
            others[PANEL] = (panel, names)
        human[measure] = {judge: two(people, side, how) for judge, side in others.items()}
    if any(human.values()):
        found[HUMAN] = human
    return found or {"reason": "nothing was judged by two"}


def _sides(answers: Answers, measure: str) -> dict[str, Side]:
    ballots = answers.ballots.get(measure)
    if ballots is None:
        return {}
    names = dict(enumerate(LABELS[measure]))
    return {judge: (ballots.of(judge)[..., 0], names) for judge in panel_judges(ballots)}


def section(answers: Answers, said: Verdicts, how: How) -> Section:
    """One table."""
    found = judges(answers, said, how)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    return Section(name=NAME, title=TITLE, result=found, grids=(_grid(found),))


def _grid(found: Mapping[str, Any]) -> Grid:
    grid = Grid(title="Agreement", header=["What", "Who", "Equal", "κ", "n"])
    grid.notes[""] = (
        "Equal: the share of equal labels; κ is Cohen's unless it is named. Both with 95% "
        "intervals, questions resampled with all their answers; κ is low where nearly all labels "
        "are the same."
    )
    if HARM in found:
        whole = found[HARM]["all"]
        for kind in _TOGETHER[1:]:
            grid.rows.append(
                [
                    ("harm",),
                    ("all",),
                    grid.coefficient(whole["percent"]),
                    (*grid.coefficient(whole[kind]), TITLES[kind]),
                    (f"{whole[kind]['n']:,}",),
                ]
            )
        grid.rows += [_row(grid, "harm", who, of) for who, of in found[HARM]["pairs"].items()]
        grid.ends.append(len(grid.rows))
    if ACCURACY in found:
        rows = found[ACCURACY].items()
        grid.rows += [_row(grid, "accuracy and harm", who, of) for who, of in rows]
        grid.ends.append(len(grid.rows))
    for measure, of in found.get(HUMAN, {}).items():
        grid.rows += [_row(grid, f"{measure}, people", who, two) for who, two in of.items()]
    return grid


def _row(grid: Grid, what: str, who: str, of: Mapping[str, Metric]) -> list[tuple[str, ...]]:
    percent, kappa = (grid.coefficient(of[kind]) for kind in ("percent", "cohen"))
    return [(what,), (who,), percent, kappa, (f"{of['cohen']['n']:,}",)]
