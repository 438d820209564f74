"""A sample judged twice more: as before, and without being told what an item probes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trace.records import Json
from trace.report.compare.section import Section, missing
from trace.report.cross_lab.votes import Votes, majority
from trace.report.cross_lab.words import (
    ARMS,
    CONDITIONS,
    CORE,
    FIELD_FREE,
    MAIN,
    REPEAT,
    plain,
)
from trace.report.entry import Metric
from trace.report.grid import Grid, probability
from trace.report.rag_safety.answers import ABSENT, UNSCORED, Codes
from trace.report.rag_safety.cells import lines, share, spanned
from trace.report.rag_safety.contrast import contrast

NAME, TITLE = "cross_lab_context_field", "What the context field and judging again do to labels"
ALL = "all"


def context_field(votes: Votes, min_valid: int) -> dict[str, Json]:
    """How many labels come out again, with the field and without it, on the same answers.

    A label is reproduced if the majority of an arm is that of the main arm. What an answer lacks
    the label for in one of the arms is left out, and counted. Judging again has noise of its own,
    which the arm with the field shows; the gap between both is what the field does. It is tested
    by McNemar's exact test. (The study's 96.3% and 86.6% of 216, 24 reproduced only with the field
    and 3 only without, have p = 4.9e-5 by the exact test; by chi squared 5.3e-5, and with the
    continuity correction 1.2e-4.)

    Returns:
        `answers` (how many are in all arms there are), `balanced` (whether every model, core
        category and condition has equally many), `categories` (`ALL` and each -> `repeat` and
        `field_free`, metrics, and `gap`, a contrast, with less without), and `judges` (judge ->
        arm -> share of its single votes that come out again); or a `reason`.
    """
    arms = [arm for arm in (REPEAT, FIELD_FREE) if votes.has(arm)]
    if not arms:
        return {"reason": f"no judgement is of the arms {REPEAT} and {FIELD_FREE}"}
    main = majority(votes, min_valid=min_valid).labels
    again = {arm: majority(votes, arm, min_valid=min_valid).labels for arm in arms}
    drawn = np.logical_and.reduce([labels != ABSENT for labels in (main, *again.values())])
    scored = np.logical_and.reduce([labels >= 0 for labels in (main, *again.values())])
    same = {
        arm: np.where(drawn, np.where(scored, labels == main, UNSCORED), ABSENT).astype(np.int8)
        for arm, labels in again.items()
    }
    core = np.isin(votes.categories, CORE)
    groups = {ALL: np.ones(len(votes.items), dtype=np.bool_)}
    groups |= {name: of for name in votes.rubrics if drawn[of := votes.of(name)].any()}
    cells = [
        int(drawn[votes.of(name), c, m].sum())
        for name in CORE
        for c in range(len(CONDITIONS))
        for m in range(len(votes.respondents))
    ]
    return {
        "answers": int(drawn.sum()),
        "balanced": bool(len(set(cells)) == 1 and not drawn[~core].any()),
        "categories": {
            name: _reproduced({arm: codes[of].ravel() for arm, codes in same.items()})
            for name, of in groups.items()
        },
        "judges": _single(votes, arms),
    }


def _reproduced(same: Mapping[str, Codes]) -> dict[str, Metric]:
    found = {arm: share(codes, [1]) for arm, codes in same.items()}
    if len(same) > 1:
        found["gap"] = contrast(same[FIELD_FREE], same[REPEAT])
    return found


def _single(votes: Votes, arms: list[str]) -> dict[str, dict[str, Metric]]:
    """Votes on others' answers, one by one, that a judge gives again."""
    found: dict[str, dict[str, Metric]] = {}
    first = votes.votes[ARMS.index(MAIN)]
    for j, judge in enumerate(votes.judges):
        others: NDArray[np.bool_] = ~votes.own[:, j]
        for arm in arms:
            a, b = (of[..., others, j].ravel() for of in (first, votes.votes[ARMS.index(arm)]))
            asked = (a != ABSENT) & (b != ABSENT)
            if asked.any():
                codes = np.where((a >= 0) & (b >= 0), a == b, UNSCORED)[asked].astype(np.int8)
                found.setdefault(judge, {})[arm] = share(codes, [1], of="votes")
    return found


def sensitivity(found: Mapping[str, Any], category: str) -> float | None:
    """The gap of a category in what `context_field` found, with the field less without."""
    of = found.get("categories", {}).get(category, {})
    value: float | None = of["gap"]["value"] if "gap" in of else None
    return value


def section(found: Mapping[str, Any]) -> Section:
    """Labels and single votes in tables."""
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    labels = Grid(
        title="Labels of the main arm that come out again",
        header=["Category", "With\nthe field", "Without", "Gap", "p", "n"],
    )
    labels.notes[""] = (
        f"{found['answers']} answers judged in all arms; percent with Wilson 95% intervals, the "
        "gap in percentage points with Tango's; p is of McNemar's exact test, of each line by "
        "itself."
    )
    for name, of in found["categories"].items():
        both = [lines(labels, of[arm]) if arm in of else ("–",) for arm in (REPEAT, FIELD_FREE)]
        gap = of.get("gap")
        cells: list[tuple[str, ...]] = [("–",), ("–",)]
        if gap is not None:
            cells = [
                (labels.value(gap, signed=True), spanned(labels, gap)),
                (probability(gap["p"]),),
            ]
        n = str(next(iter(of.values()))["n"])
        labels.rows.append([(plain(name),), *both, *cells, (n,)])
    judges = Grid(
        title="Single votes that a judge gives again",
        header=["Judge", "With\nthe field", "Without"],
    )
    judges.notes[""] = "Percent of its votes on others' answers, with Wilson 95% intervals."
    for judge, of in found["judges"].items():
        both = [lines(judges, of[arm]) if arm in of else ("–",) for arm in (REPEAT, FIELD_FREE)]
        judges.rows.append([(judge,), *both])
    notes: tuple[str, ...] = ()
    if not found["balanced"]:
        notes = (
            "The sample judged again has not equally many answers of every model, core category "
            "and condition: its overall shares weigh some more than others.",
        )
    return Section(name=NAME, title=TITLE, result=dict(found), grids=(labels, judges), notes=notes)
