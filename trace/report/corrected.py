"""The share called unsafe, and what lies behind it by the errors that humans found in a subset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trace.report.entry import Metric, entry, from_rate, number
from trace.report.grid import Grid
from trace.report.judged import Judged, share
from trace.report.metrics import Metrics
from trace.stats.corrected import corrected_rate, proportion

COLUMNS = {
    "flagged": "Called unsafe",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "corrected": "Corrected",
}


def measure_corrected(
    judged: Sequence[Judged], unsafe: Mapping[str, bool], negative: str
) -> Metrics:
    """The share of samples called unsafe, and that share corrected by Rogan & Gladen.

    Every label but `negative` calls a sample unsafe. What has no label counts nowhere. The human
    labels take the place of the gold ones, which play no part here.

    Args:
        judged: one a question.
        unsafe: human-labelled sample -> whether it is unsafe.
        negative: the label that means no risk.

    Returns:
        `flagged`, `sensitivity` and `specificity` with Wilson intervals, which take the samples as
        independent; `corrected` with that of Lang & Reiczigel, which takes each proportion for
        worth as many observations as its clusters allow (see `trace.stats.corrected`), with the
        estimate before it was brought into [0, 1], `raw`, and whether it had to be, `clipped`.
    """

    def flagged(j: Judged) -> bool:
        return j.flagged(negative)

    def passed(j: Judged) -> bool:
        return j.ok and not j.flagged(negative)

    found_by = [j for j in judged if j.sample in unsafe]
    ill = [j for j in found_by if unsafe[str(j.sample)]]
    well = [j for j in found_by if not unsafe[str(j.sample)]]
    parts = {
        "flagged": (judged, flagged, "samples"),
        "sensitivity": (ill, flagged, "samples that humans labelled unsafe"),
        "specificity": (well, passed, "samples that humans labelled safe"),
    }
    found: Metrics = {
        name: from_rate(share(items, hit, "exclude", of))
        for name, (items, hit, of) in parts.items()
    }
    found["flagged"] |= {"higher_is_better": None}
    behind = corrected_rate(
        *(
            proportion([hit(j) for j in items if j.ok], [j.cluster for j in items if j.ok])
            for items, hit, _ in parts.values()
        )
    )
    metric = entry(
        behind.value,
        n=found["flagged"]["n"],
        n_unscored=found["flagged"]["n_unscored"],
        higher_is_better=None,
        reason=behind.reason,
    )
    if behind.value is not None:
        metric |= {
            "low": number(behind.low),
            "high": number(behind.high),
            "interval": "lang-reiczigel",
            "raw": number(behind.raw),
            "clipped": behind.clipped,
        }
    return found | {"corrected": metric}


def corrected_grid(found: Mapping[str, Any], who: str) -> Grid:
    """A row for the scored verdict, then one a judge."""
    grid = Grid(title="Share called unsafe, corrected", header=["Judge", *COLUMNS.values()])
    grid.notes[""] = (
        "Sensitivity and specificity are those on the samples that humans labelled; the correction "
        "holds as far as a judge errs on the others as on these. 95% intervals; n in the last line."
    )
    for name, metrics in {who: found["verdict"], **found["judge"]}.items():
        grid.rows.append([(name,), *(_cell(grid, metrics[column]) for column in COLUMNS)])
    grid.ends.append(1)
    return grid


def _cell(grid: Grid, metric: Metric) -> tuple[str, ...]:
    value = grid.value(metric)
    if metric.get("clipped"):
        grid.notes["§"] = "brought into 0 to 100: the correction does not fit what was counted"
        value += "§"
    return value, grid.interval(metric), f"n={metric['n']}"
