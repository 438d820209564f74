"""Table 4: does a guard name the risk category of an unsafe prompt?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trace.records import Json
from trace.report.compare.section import Section, missing
from trace.report.evidence.forest import drawing
from trace.report.evidence.guards import Guard, own_metric, without
from trace.report.grid import Grid
from trace.report.runs import Run

NAME, TITLE = "evidence_categories", "Risk category of the prompt (Table 4)"
METRIC, COMPONENT = "category_f1", "prompt"
OURS, MAPPED = "our categories", "a mapping"


def categories(guards: Sequence[Guard]) -> dict[str, Json]:
    """Macro-F1 over the categories, as the runs wrote it, and what they are told in.

    Returns:
        Guard -> `category_f1` and `by`: whether it answered in our categories, or its own are
        mapped to ours; or a `reason`.
    """
    rows = {
        guard.name: {"by": told_in(guard.runs[COMPONENT]), METRIC: _metric(guard)}
        for guard in guards
        if COMPONENT in guard.runs and _lack(guard, COMPONENT) is None
    }
    if rows:
        return rows
    reasons = {_lack(guard, COMPONENT) for guard in guards if COMPONENT in guard.runs}
    return {"reason": "; ".join(sorted(filter(None, reasons))) or "no run on prompts"}


def told_in(run: Run) -> str:
    """How a judge comes to our categories: guards are all asked by their own policy."""
    return OURS if run.guard is None else MAPPED


def _metric(guard: Guard) -> Any:
    return own_metric(guard.runs[COMPONENT], METRIC)


def _lack(guard: Guard, component: str) -> str | None:
    """Why a guard has no macro-F1, if so; other components are not asked about."""
    reason: str | None = _metric(guard).get("reason") if component == COMPONENT else None
    return reason


def section(guards: Sequence[Guard]) -> Section:
    """The macro-F1 in a table and a figure."""
    found, left_out = categories(guards), without(guards, _lack)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"], left_out=left_out)
    cells = {COMPONENT: {name: {METRIC: row[METRIC]} for name, row in found.items()}}
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(_grid(found),),
        drawings=(drawing(NAME, cells, METRIC, "Macro-F1 of the category"),),
        left_out=left_out,
    )


def _grid(found: Mapping[str, Any]) -> Grid:
    grid = Grid(title="Macro-F1 over the categories", header=["Guard", "Macro-F1", "By", "n"])
    grid.notes[""] = (
        "Percent. By: it was given our categories, or its own are mapped to ours, which is another "
        "task: compare within each."
    )
    for name, row in found.items():
        metric = row[METRIC]
        value = (grid.value(metric) + grid.missing_interval(metric), grid.interval(metric))
        grid.rows.append([(name,), value, (row["by"],), (str(metric["n"]),)])
    grid.rank(1, [row[METRIC]["value"] for row in found.values()])
    return grid
