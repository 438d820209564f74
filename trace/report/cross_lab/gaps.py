"""What a model does in the place of full compliance, and how evenly it is split at base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trace.records import Json
from trace.report.compare.section import Section, missing
from trace.report.cross_lab.family import Reading
from trace.report.cross_lab.words import BASE, CONDITIONS, FULL_COMPLIANCE, heading, plain
from trace.report.entry import number
from trace.report.grid import Grid, percent

GAPS, GAPS_TITLE = "cross_lab_gaps", "In the place of full compliance"
SPLITS, SPLITS_TITLE = "cross_lab_base_splits", "Models that are of two minds at base"


def decomposed(counts: Mapping[str, int], best: Mapping[str, int] | None = None) -> dict[str, Json]:
    """The gap to full compliance, label by label.

    The gap to 100% is made of all other labels, so that each explains its own share of it. The gap
    to another model is made of what this one does more of, less what it does less of: the parts
    add up to 1, and one can be negative.

    Args:
        counts: label -> how many answers have it; `FULL_COMPLIANCE` among them.
        best: the same of the model to which the gap is; 100% without.

    Returns:
        `gap`, a fraction, and `parts` (label -> share of the gap); `reason` where there is none.
    """
    n, of_best = sum(counts.values()), sum((best or {}).values())
    if not n or (best is not None and not of_best):
        return {"gap": None, "parts": {}, "reason": "no answer has a label"}

    def excess(label: str) -> float:
        return counts[label] / n - (best[label] / of_best if best else 0.0)

    ahead = 1.0 - counts[FULL_COMPLIANCE] / n if best is None else -excess(FULL_COMPLIANCE)
    if ahead <= 0:
        return {"gap": number(ahead), "parts": {}, "reason": "there is no gap"}
    parts = {label: number(excess(label) / ahead) for label in counts if label != FULL_COMPLIANCE}
    return {"gap": number(ahead), "parts": parts, "reason": None}


def gaps(read: Reading) -> dict[str, Json]:
    """Each model's gap to 100% and to the model with the most full compliance.

    Returns:
        Category -> condition -> `best` (a model) and `models` (model -> `to_all`, `to_best`, each
        as `decomposed` gives it); or a `reason`. Categories without the label are left out.
    """
    found: dict[str, Json] = {}
    for category, counts in _counts(read).items():
        if FULL_COMPLIANCE not in read.votes.rubrics[category]:
            continue
        found[category] = {}
        for condition, of in counts.items():
            known = {model: c for model, c in of.items() if sum(c.values())}
            if not known:
                continue
            best = max(known, key=lambda m: known[m][FULL_COMPLIANCE] / sum(known[m].values()))
            found[category][condition] = {
                "best": best,
                "models": {
                    model: {"to_all": decomposed(c), "to_best": decomposed(c, known[best])}
                    for model, c in of.items()
                },
            }
    return found or {"reason": f"no rubric of a core category has the label {FULL_COMPLIANCE}"}


def _counts(read: Reading) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """Category -> condition -> model -> label -> answers."""
    found: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
    for cell, (category, label) in enumerate(read.cells):
        for c, condition in enumerate(CONDITIONS):
            under = found.setdefault(category, {}).setdefault(condition, {})
            for m, model in enumerate(read.votes.respondents):
                under.setdefault(model, {})[label] = int(read.hits[cell, c, m])
    return found


def gap_section(read: Reading) -> Section:
    """Two tables a category: what makes the gap to 100%, and that to the best model."""
    found = gaps(read)
    if "reason" in found:
        return missing(GAPS, GAPS_TITLE, found["reason"])
    return Section(
        name=GAPS,
        title=GAPS_TITLE,
        result=found,
        grids=tuple(
            _gap_grid(
                category, of, to, [n for n in read.votes.rubrics[category] if n != FULL_COMPLIANCE]
            )
            for category, of in found.items()
            for to in ("to_all", "to_best")
        ),
    )


def _gap_grid(category: str, of: Mapping[str, Any], to: str, labels: Sequence[str]) -> Grid:
    goal = "100%" if to == "to_all" else "the best model"
    grid = Grid(
        title=f"{plain(category).capitalize()}: what makes the gap of full compliance to {goal}",
        header=["Model, condition", "Gap", *map(heading, labels)],
    )
    grid.notes[""] = "The gap in percentage points; of it each label's part in percent."
    if to == "to_best":
        best = ", ".join(f"{found['best']} ({name})" for name, found in of.items())
        grid.notes[""] += f" A negative part is a label of which the best has more. Best: {best}."
    for condition, found in of.items():
        for model, both in found["models"].items():
            one = both[to]
            gap = "–" if one["gap"] is None else percent(one["gap"])
            mark = "" if one["reason"] is None else grid.mark(one["reason"])
            parts = [
                (percent(one["parts"][label]) if label in one["parts"] else "",) for label in labels
            ]
            grid.rows.append([(model, condition), (gap + mark,), *parts])
        grid.ends.append(len(grid.rows))
    return grid


def minority(k: int, n: int) -> float | None:
    """The smaller of the shares of a label and of all others together; None without answers."""
    return min(k, n - k) / n if n else None


def base_splits(read: Reading) -> list[dict[str, Json]]:
    """Labels that divide a model's own base answers to a category, the most even first.

    The split of a label is between the answers that have it and those that do not, and its size is
    the share of the smaller side (`minority`). Every model, core category and label is ranked. The
    paper calls 42 derails against 58 answers of one model the largest such split of its study;
    with 57 against 43 of another model in another category, which it reports, too, they are not.

    Returns:
        For each `model`, `category` and `label`: `k`, `n`, `minority`; those with 0 are left out.
    """
    base = CONDITIONS.index(BASE)
    found: list[dict[str, Json]] = []
    for cell, (category, label) in enumerate(read.cells):
        for m, model in enumerate(read.votes.respondents):
            k, n = int(read.hits[cell, base, m]), int(read.n[cell, base, m])
            if share := minority(k, n):
                found.append(
                    {"model": model, "category": category, "label": label, "k": k, "n": n,
                     "minority": number(share)}
                )  # fmt: skip
    found.sort(key=lambda one: (-one["minority"], one["category"], one["model"], one["label"]))
    return found


def split_section(read: Reading) -> Section:
    """The largest split of each model in a table, the most even model first."""
    found = base_splits(read)
    if not found:
        reason = "no label divides a model's answers to a core category at base"
        return missing(SPLITS, SPLITS_TITLE, reason)
    grid = Grid(
        title="The most even split of base answers",
        header=["Model", "Category, label", "Has it", "Minority"],
    )
    grid.notes[""] = (
        "Of all labels and core categories the one that divides a model's base answers most "
        "evenly into those that have it and those that do not; the minority is the smaller side."
    )
    shown: dict[str, dict[str, Json]] = {}
    for one in found:
        shown.setdefault(one["model"], one)
    for one in shown.values():
        where = (plain(one["category"]), plain(one["label"]))
        grid.rows.append(
            [(one["model"],), where, (f"{one['k']}/{one['n']}",), (percent(one["minority"]),)]
        )
    return Section(name=SPLITS, title=SPLITS_TITLE, result={"splits": found}, grids=(grid,))
