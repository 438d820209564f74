"""Each judge left out in turn: whether one vote carries a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trace.records import Json
from trace.report.compare.section import Section, missing
from trace.report.cross_lab.claims import Claim, hits
from trace.report.cross_lab.family import Reading, reading
from trace.report.cross_lab.rereading import HEADER, changes, row
from trace.report.cross_lab.votes import Votes, majority
from trace.report.cross_lab.words import plain
from trace.report.entry import number
from trace.report.grid import Grid, percent
from trace.report.rag_safety.answers import UNSCORED

NAME, TITLE = "cross_lab_judges", "One judge left out"


def readings(votes: Votes, min_valid: int) -> dict[str, Reading]:
    """Judge -> the analysis without its votes, where it leaves enough to decide."""
    found = {
        judge: reading(votes, majority(votes, min_valid=min_valid, without=[judge]).labels)
        for judge in votes.judges
    }
    return {judge: read for judge, read in found.items() if read.n.any()}


def headline_rates(
    claims: Iterable[Claim], read: Reading, without: Mapping[str, Reading]
) -> list[dict[str, Json]]:
    """Every share that a claim is about, with all judges and without each.

    Returns:
        For each `category`, `condition`, `labels` and `model`: `value`, `without` (judge -> value)
        and `shift`, the largest difference; None where no answer has a label.
    """
    found: list[dict[str, Json]] = []
    seen = set()
    for claim in claims:
        where = (claim.category, claim.condition, claim.labels, claim.split)
        if where in seen:
            continue
        seen.add(where)
        values = {judge: _shares(claim, one) for judge, one in without.items()}
        for model, value in _shares(claim, read).items():
            each = {judge: of[model] for judge, of in values.items()}
            moved = [v - value for v in each.values() if v is not None and value is not None]
            found.append(
                {
                    "category": claim.category,
                    "condition": claim.condition,
                    "labels": list(claim.labels),
                    "split": claim.split,
                    "model": model,
                    "value": number(value),
                    "without": {judge: number(v) for judge, v in each.items()},
                    "shift": number(max(moved, key=abs)) if moved else None,
                }
            )
    return found


def _shares(claim: Claim, read: Reading) -> dict[str, float | None]:
    """Model -> share of the answers with one of the claim's labels."""
    hit, scored = (of.sum(axis=0) for of in hits(claim, read))
    names = read.votes.respondents
    return {
        name: float(k / n) if n else None for name, k, n in zip(names, hit, scored, strict=True)
    }


def section(read: Reading, without: Mapping[str, Reading], claims: Sequence[Claim]) -> Section:
    """A row a judge, and the shares that claims are about.

    `result` has `judges` (judge -> `changes` and `unscored`) and `rates` (as `headline_rates` gives
    them); or a `reason`.
    """
    if not without:
        return missing(NAME, TITLE, "without one judge no answer has enough votes")
    found: dict[str, Json] = {
        judge: changes(read, other) | {"unscored": int((other.labels == UNSCORED).sum())}
        for judge, other in without.items()
    }
    grid = Grid(title="The analysis without a judge", header=["Without", *HEADER, "Un-\nscored"])
    grid.notes[""] = (
        "The largest change of a share in percentage points; labels and conditions whose tiers "
        "differ; pairs of models in the opposite order; comparisons significant only here, or only "
        f"with all judges. With all, {int((read.labels == UNSCORED).sum())} answers are unscored."
    )
    for judge, of in found.items():
        grid.rows.append([*row(judge, of), (str(of["unscored"]),)])
    rates = headline_rates(claims, read, without)
    return Section(
        name=NAME,
        title=TITLE,
        result={"judges": found, "rates": rates},
        grids=(grid, *([_headlines(rates)] if rates else [])),
    )


def _headlines(rates: Sequence[Mapping[str, Any]]) -> Grid:
    grid = Grid(
        title="The shares that claims are about, without one judge",
        header=["Category, condition, label", "Moves most", "All\njudges", "Lowest", "Highest"],
    )
    grid.notes[""] = (
        "Percent; of each label and condition the model whose share moves most when one judge is "
        "left out, and how low and high it gets."
    )
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for one in rates:
        where = ", ".join(filter(None, (plain(one["category"]), one["condition"], one["split"])))
        labels = " or ".join(map(plain, one["labels"]))
        groups.setdefault((plain(where), labels), []).append(one)
    for names, group in groups.items():
        known = [one for one in group if one["shift"] is not None]
        if not known:
            continue
        most = max(known, key=lambda one: abs(one["shift"]))
        values = [value for value in most["without"].values() if value is not None]
        cells = [percent(most["value"]), percent(min(values)), percent(max(values))]
        grid.rows.append([names, (most["model"],), *((cell,) for cell in cells)])
    return grid
