"""Table 5: what the guards are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trace.judging.guards.registry import FAMILIES
from trace.records import Json
from trace.report.compare.section import Section
from trace.report.evidence.guards import Guard
from trace.report.evidence.scale import instances
from trace.report.grid import Grid

NAME, TITLE = "evidence_guards", "The guards (Table 5)"


def details(guards: Sequence[Guard]) -> dict[str, Json]:
    """What the configurations of the runs say of each model, and its adapter of its form.

    Returns:
        Guard -> `base`, `parameters` (10⁹), `trained_on`, `explains` and `own_categories`
        (whether it takes categories of the user's); None where nothing is said.
    """
    rows: dict[str, Json] = {}
    for guard in guards:
        run = guard.run
        form = FAMILIES.get(run.guard or "")
        rows[guard.name] = {
            "base": run.base,
            "parameters": run.parameters,
            "trained_on": run.trained_on,
            "explains": run.quotes if form is None else form.explains,
            "own_categories": True if form is None else form.custom_policy,
        }
    return rows


def section(guards: Sequence[Guard]) -> Section:
    """The table; what is in it stands in the CSV of the figure by size, too."""
    found = details(guards)
    return Section(name=NAME, title=TITLE, result=found, grids=(_grid(found),))


def _grid(found: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="Guards",
        header=["Guard", "Base", "10⁹", "Trained on", "Ex-\nplains", "Own cat-\negories"],
    )
    grid.notes[""] = (
        "10⁹: parameters. Trained on: instances, as its authors say. Own categories: it takes "
        "those of its user. – is not known."
    )
    for name, row in found.items():
        size = "–" if row["parameters"] is None else f"{row['parameters']:g}"
        count = instances(row["trained_on"])
        data = row["trained_on"] or "–" if count is None else f"{count:,.0f}"
        texts = (row["base"] or "–", size, data)
        marks = ("yes" if row[what] else "no" for what in ("explains", "own_categories"))
        grid.rows.append([(text,) for text in (name, *texts, *marks)])
    return grid
