"""Every analysis of the evidence study, in the order of its report."""

from __future__ import annotations

from collections.abc import Sequence

from trace.report.compare.judged import How
from trace.report.compare.section import Section
from trace.report.evidence import (
    attacks,
    attribution,
    cases,
    categories,
    details,
    encryption,
    groups,
    planes,
    safety,
    scale,
    stages,
)
from trace.report.evidence.guards import guards_of
from trace.report.runs import Run


def sections(runs: Sequence[Run], how: How) -> list[Section]:
    """The main table first; a run is of a guard on a component of the triples."""
    guards = guards_of(runs, how)
    return [
        safety.section(guards),
        stages.section(guards, how),
        attribution.section(guards),
        categories.section(guards),
        details.section(guards),
        encryption.section(guards, how),
        groups.section(guards, groups.FAMILY, how),
        groups.section(guards, groups.ALIGNED, how),
        groups.section(guards, groups.LANGUAGE, how),
        planes.section(guards, planes.ERRORS),
        attacks.section(guards, how),
        scale.section(guards),
        planes.section(guards, planes.PRECISION),
        cases.section(guards),
    ]
