"""Table 3: how far the evidence that a guard gives overlaps with the gold evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trace.records import Json
from trace.report.compare.section import Section, missing
from trace.report.entry import Metric
from trace.report.evidence.forest import drawing
from trace.report.evidence.guards import Guard, by_component, own_metric, without
from trace.report.evidence.safety import glance, means_by_metric

NAME, TITLE = "evidence_attribution", "Evidence: TokenF1 by component (Table 3)"
MAIN = "token_f1"
SHOWN = {
    MAIN: "TokenF1; a wrong or missing verdict counts 0",
    "token_f1_if_right": "TokenF1 where the verdict is right",
    "token_f1_quotes": "TokenF1 of the quoted spans alone",
    "invented_quotes": "Quotes that are not in the text",
}


def attribution(guards: Sequence[Guard]) -> dict[str, Json]:
    """The metrics of `SHOWN`, as the runs wrote them.

    Returns:
        `components` (component -> guard -> metric -> metric) and `means` (metric -> component ->
        value and n, unweighted over guards), over the guards that explain; or a `reason`.
    """

    def metrics(guard: Guard, component: str) -> dict[str, Metric] | None:
        if _lack(guard, component) is not None:
            return None
        return {name: own_metric(guard.runs[component], name) for name in SHOWN}

    cells = by_component(guards, metrics)
    if not cells:
        reasons = {_lack(guard, c) for guard in guards for c in guard.runs}
        return {"reason": "; ".join(sorted(filter(None, reasons)))}
    return {"components": cells, "means": means_by_metric(cells, SHOWN)}


def _lack(guard: Guard, component: str) -> str | None:
    """Why a guard has no TokenF1, if so."""
    reason: str | None = own_metric(guard.runs[component], MAIN).get("reason")
    return reason


def section(guards: Sequence[Guard]) -> Section:
    """A table a metric, and the TokenF1 as a figure."""
    found, left_out = attribution(guards), without(guards, _lack)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"], left_out=left_out)
    cells = found["components"]
    grids = [
        glance(title, name, cells, {c: {name: m} for c, m in found["means"][name].items()},
               higher_is_better=name != "invented_quotes")
        for name, title in SHOWN.items()
        if _any(cells, name)
    ]  # fmt: skip
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=tuple(grids),
        drawings=(drawing(NAME, cells, MAIN, "TokenF1 of the evidence (95%, by prompt)"),),
        left_out=left_out,
    )


def _any(cells: Mapping[str, Mapping[str, Any]], name: str) -> bool:
    return any(row[name]["value"] is not None for of in cells.values() for row in of.values())
