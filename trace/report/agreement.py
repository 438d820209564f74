"""How far the judges of a panel agree, as numbers and as a table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from trace.records import Json, Verdict
from trace.report.entry import Metric, from_estimate, with_interval
from trace.report.grid import Grid
from trace.stats.agreement import Kind, Votes, agreement, agreement_interval, by_pair

TITLES: Mapping[Kind, str] = {
    "percent": "Equal votes",
    "fleiss": "Fleiss' κ",
    "krippendorff": "Krippendorff's α",
    "cohen": "Cohen's κ",
}


def measure_agreement(
    verdicts: Mapping[str, Sequence[Verdict | None]],
    clusters: Sequence[Hashable],
    *,
    draws: int,
    seed: int,
) -> dict[str, Json]:
    """The coefficients over all judges, and Cohen's kappa of each pair.

    Args:
        verdicts: judge -> its verdicts, all in the same order; one without a label is no vote, and
            neither is None, one that is set aside.
        clusters: the cluster of each question.
        draws: resamples of each interval.
        seed: of the resampling.

    Returns:
        `all`: coefficient -> metric; `pairs`: "a, b" -> metric.
    """
    names = list(verdicts)
    votes = list(zip(*([v and v.label for v in verdicts[name]] for name in names), strict=True))

    def metric(kind: Kind, rows: Votes) -> Metric:
        return coefficient(kind, rows, clusters, draws=draws, seed=seed)

    whole: tuple[Kind, ...] = ("percent", "fleiss", "krippendorff")
    return {
        "all": {kind: metric(kind, votes) for kind in whole},
        "pairs": {
            ", ".join(pair): metric("cohen", rows) for pair, rows in by_pair(votes, names).items()
        },
    }


def coefficient(
    kind: Kind, votes: Votes, clusters: Sequence[Hashable], *, draws: int, seed: int
) -> Metric:
    """A coefficient of agreement (trace.stats.agreement), resampled by cluster; `unit` names it."""
    found = from_estimate(agreement(kind, votes), total=len(votes)) | {"unit": kind}
    if found["value"] is None:
        return found
    rng = np.random.default_rng(seed)
    return with_interval(found, agreement_interval(kind, votes, clusters, draws=draws, rng=rng))


def agreement_grid(found: Mapping[str, Any]) -> Grid:
    """A row a coefficient, then a row a pair."""
    grid = Grid(title="Agreement of the judges", header=["Judges", "Coefficient", "Value", "n"])
    grid.notes[""] = (
        "Over the questions that at least two judges have a label for; 95% intervals resampled by "
        "cluster."
    )
    for kind, metric in found["all"].items():
        grid.rows.append([("all",), (TITLES[kind],), *_cells(grid, metric)])
    grid.ends.append(len(grid.rows))
    for pair, metric in found["pairs"].items():
        grid.rows.append([(pair,), (TITLES["cohen"],), *_cells(grid, metric)])
    return grid


def _cells(grid: Grid, metric: Metric) -> list[tuple[str, ...]]:
    return [grid.coefficient(metric), (str(metric["n"]),)]
