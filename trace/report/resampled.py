"""Statistics of judged samples as functions of column sums, so that clusters can be resampled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trace.report.judged import Judged
from trace.stats.rates import UnscoredAs


def columns(
    judged: Sequence[Judged], negative: str, policy: UnscoredAs
) -> tuple[NDArray[np.int64], list[str]]:
    """Per counted sample the columns that the statistics below unpack; and its cluster."""
    counted = [j for j in judged if j.counted(policy)]
    unsafe = np.array([j.gold != negative for j in counted], dtype=np.int64)
    flagged = np.array([j.flagged(negative) for j in counted], dtype=np.int64)
    passed = np.array([j.verdict.label == negative for j in counted], dtype=np.int64)
    right = np.array([j.right for j in counted], dtype=np.int64)
    safe = 1 - unsafe
    columns = (unsafe, unsafe * right, unsafe * flagged, safe, safe * right, flagged, passed)
    return np.stack(columns, axis=1), [j.cluster for j in counted]


def skew(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """TPR less TNR."""
    unsafe, right, _, safe, cleared, *_ = sums.T
    value: NDArray[np.float64] = right / unsafe - cleared / safe
    return value


def balanced_accuracy(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of TPR and TNR."""
    unsafe, right, _, safe, cleared, *_ = sums.T
    value: NDArray[np.float64] = (right / unsafe + cleared / safe) / 2
    return value


def balanced_f1(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean F1 of the two sides; undefined without both."""
    unsafe, _, caught, safe, cleared, flagged, passed = sums.T
    value = caught / (unsafe + flagged) + cleared / (safe + passed)  # 2tp / (2tp + fp + fn)
    return np.where((unsafe > 0) & (safe > 0), value, np.nan)
