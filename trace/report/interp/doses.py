"""Doses of a push: which count, and which are beyond chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from trace.report.entry import Metric
from trace.report.interp.words import SIGNIFICANT

Dose: TypeAlias = Mapping[str, Any]
"""One of `doses` in the breakdowns of task=steer: a direction at a strength."""

RANDOM = "random"
"""The direction that stands beside every vector."""
NAMES = {
    "difference": "difference of means",
    "probe": "direction of the probe",
    RANDOM: "random, of equal length",
}


def is_incoherent(dose: Dose) -> bool:
    """Whether more than half of the texts are no longer language: their labels say nothing."""
    return bool(2 * dose["incoherent"] > dose["n"] + dose["n_unscored"])


def adjusted(dose: Dose) -> float | None:
    """The adjusted p of the paired test against no push; of the unpaired one where that lacks."""
    for test in ("mcnemar", "fisher"):
        if dose[test] is not None and dose[test]["adjusted"] is not None:
            return float(dose[test]["adjusted"])
    return None


def is_significant(dose: Dose) -> bool:
    """Whether the share differs from that without a push, beyond chance."""
    q = adjusted(dose)
    return q is not None and q <= SIGNIFICANT


def by_direction(doses: Sequence[Dose]) -> dict[str, list[Dose]]:
    """Direction -> its doses in the order of strength; the random one last."""
    found: dict[str, list[Dose]] = {}
    for dose in sorted(doses, key=lambda d: (d["direction"] == RANDOM, d["alpha"])):
        found.setdefault(dose["direction"], []).append(dose)
    return found


def share(dose: Dose) -> Metric:
    """The share of positive labels as a metric, with its n."""
    return {**dose["share"], "n": dose["n"], "n_unscored": dose["n_unscored"]}
