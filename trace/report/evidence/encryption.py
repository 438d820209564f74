"""Table 6: the triples whose prompts are encrypted."""

from __future__ import annotations

from collections.abc import Sequence

from trace.records import Json
from trace.report.compare.judged import How
from trace.report.compare.section import Section, missing
from trace.report.evidence.forest import drawing
from trace.report.evidence.guards import Guard, by_component, detect, without
from trace.report.evidence.safety import SHOWN, glance, means_by_metric
from trace.report.runs import Observation

NAME, TITLE = "evidence_encryption", "Instruction encryption alone (Table 6)"
ATTACK = "InstructionEncryption"


def encrypted(observation: Observation) -> bool:
    """Whether the prompt of a sample is encrypted."""
    return bool(observation.sample["attack"] == ATTACK)


def encryption(guards: Sequence[Guard], how: How) -> dict[str, Json]:
    """The detection of each guard on encrypted prompts and what was answered to them.

    Returns:
        `components` (component -> guard -> metric -> metric) and `means` (metric -> component ->
        value and n, unweighted over guards); or a `reason`.
    """
    cells = by_component(
        guards,
        lambda guard, component: (
            detect(guard.runs[component], how, encrypted)
            if any(map(encrypted, guard.runs[component].once))
            else None
        ),
    )
    if not cells:
        return {"reason": f"no triple has the attack {ATTACK}"}
    return {"components": cells, "means": means_by_metric(cells, SHOWN)}


def section(guards: Sequence[Guard], how: How) -> Section:
    """A table a metric, and the F1 as a figure."""
    found = encryption(guards, how)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    cells = found["components"]
    grids = [
        glance(heading, metric, cells, {c: {metric: m} for c, m in found["means"][metric].items()},
               higher_is_better=high)
        for metric, (heading, high) in SHOWN.items()
    ]  # fmt: skip
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=tuple(grids),
        drawings=(drawing(NAME, cells, "f1", "F1 on instruction encryption (95%, by prompt)"),),
        left_out=without(
            guards,
            lambda g, c: cells[c][g.name]["f1"].get("reason") if g.name in cells.get(c, {}) else
            f"no triple has the attack {ATTACK}",
        ),
    )  # fmt: skip
