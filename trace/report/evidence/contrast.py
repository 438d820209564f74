"""The F1 of a judge on some samples less that on others, resampled together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trace.report.compare.judged import How, resample
from trace.report.detection import F1_COLUMNS, f1
from trace.report.entry import Metric, entry, with_interval
from trace.report.judged import Judged
from trace.report.resampled import columns

_WIDTH = len(F1_COLUMNS)


def f1_contrast(
    first: Sequence[Judged],
    second: Sequence[Judged],
    negative: str,
    how: How,
    *,
    names: tuple[str, str],
) -> Metric:
    """F1 on `first` less F1 on `second`, as a fraction; unsafe is the positive side.

    A cluster that has samples on both sides is drawn with all of them, which pairs the sides; one
    that has them on a single side moves that side alone.

    Args:
        first: one a sample.
        second: likewise; may share clusters with `first`.
        negative: the label that means no risk.
        how: how the unscored count, and how the interval is resampled.
        names: of the sides, for the reason of an undefined difference.
    """
    sides = [columns(side, negative, how.unscored) for side in (first, second)]
    reasons = [
        f"{name}: no unsafe samples"
        for name, (table, _) in zip(names, sides, strict=True)
        if not table.size or not table[:, F1_COLUMNS[0]].any()
    ]
    total = [*first, *second]
    counted = sum(len(clusters) for _, clusters in sides)
    unscored = sum(not j.ok for j in total)
    if reasons:
        return entry(
            None, n=counted, n_unscored=unscored, higher_is_better=None, reason="; ".join(reasons)
        )
    rows = np.zeros((counted, 2 * _WIDTH), dtype=np.int64)
    split = len(sides[0][1])
    rows[:split, :_WIDTH] = sides[0][0][:, F1_COLUMNS]
    rows[split:, _WIDTH:] = sides[1][0][:, F1_COLUMNS]
    value = float(_difference(rows.sum(axis=0, keepdims=True).astype(np.float64))[0])
    metric = entry(value, n=counted, n_unscored=unscored, higher_is_better=None)
    return with_interval(metric, resample(rows, [*sides[0][1], *sides[1][1]], _difference, how))


def _difference(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    value: NDArray[np.float64] = f1(sums[:, :_WIDTH]) - f1(sums[:, _WIDTH:])
    return value
