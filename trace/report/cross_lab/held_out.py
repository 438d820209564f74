"""Only the items that nobody read while the labels were written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trace.records import Json
from trace.report.compare.section import Section, missing
from trace.report.cross_lab.agreement import kappa
from trace.report.cross_lab.family import Reading, only, reading
from trace.report.cross_lab.rereading import HEADER, changes, row
from trace.report.cross_lab.words import CORE, DEVELOPMENT, HELD_OUT, SPLIT, plain
from trace.report.entry import number
from trace.report.grid import Grid, decimal, many

NAME, TITLE = "cross_lab_held_out", "Held-out items only"


def held_out(read: Reading) -> Reading | None:
    """The analysis on the held-out items alone; None without one in a core category."""
    wanted = read.votes.where(SPLIT, HELD_OUT)
    other = reading(read.votes, only(read.labels, wanted))
    return other if other.n.any() else None


def section(read: Reading, held: Reading | None, agreed: Mapping[str, Any]) -> Section:
    """What changes, and whether judges agree less where no label was fitted.

    `result` is as `changes` gives it, with `items` (category -> how many) and `kappa` (category ->
    development and held-out, and the second less the first); or a `reason`.
    """
    if held is None:
        reason = f"no item of a core category has the {SPLIT} {HELD_OUT}"
        return missing(NAME, TITLE, reason)
    votes = read.votes
    wanted = votes.where(SPLIT, HELD_OUT)
    items = {name: int((votes.of(name) & wanted).sum()) for name in CORE if votes.of(name).any()}
    kappas: dict[str, Json] = {}
    for category in items:
        first, second = (kappa(agreed, category, split) for split in (DEVELOPMENT, HELD_OUT))
        gap = None if first is None or second is None else number(second - first)
        kappas[category] = {DEVELOPMENT: first, HELD_OUT: second, "difference": gap}
    found = changes(read, held) | {"items": items, "kappa": kappas}
    without = sum(value is None for value in votes.columns[SPLIT])
    notes = (f"{without} items do not say which {SPLIT} they are of.",) if without else ()
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(_grid(found), _kappas(kappas)),
        notes=notes,
    )


def _grid(found: dict[str, Json]) -> Grid:
    grid = Grid(title="What changes on held-out items", header=["Items", *HEADER])
    grid.notes[""] = (
        "The largest change of a share in percentage points; labels and conditions whose tiers "
        "differ; pairs of models in the opposite order; comparisons significant only here, or only "
        "on all items, where there are more of them. The whole family is tested anew."
    )
    grid.rows.append(row(many(sum(found["items"].values()), "item"), found))
    return grid


def _kappas(found: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="Fleiss' κ on the items that the labels were written from, and on the others",
        header=["Category", "Development", "Held out", "Difference"],
    )
    grid.notes[""] = (
        "Labels fitted to the development items would be applied less evenly to others."
    )
    for category, of in found.items():
        cells = ["–" if value is None else decimal(value) for value in of.values()]
        grid.rows.append([(plain(category),), *((cell,) for cell in cells)])
    return grid
