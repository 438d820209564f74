"""A threshold of the scores, chosen on some sources and tried on the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

from trace.records import Verdict
from trace.report.judged import Judged
from trace.report.metrics import evaluate
from trace.stats.threshold import split_by_cluster

_SAFE, _UNSAFE = "safe", "unsafe"

SHOWN = ("tpr", "tnr", "tpr_minus_tnr", "balanced_accuracy", "balanced_f1", "coverage")


def measure_threshold(
    judged: Sequence[Judged],
    negative: str,
    *,
    share: float,
    unscored: str,
    draws: int,
    seed: int,
) -> dict[str, Any]:
    """Chooses the threshold with the best balanced accuracy on some clusters, for all others.

    What it reports is never what it was chosen on. A sample whose score is at least the threshold
    is flagged; one without a score has no label. All is about safe against unsafe, whatever the
    protocol's labels.

    Args:
        judged: one a sample.
        negative: the label that means no risk.
        share: the share of the clusters that it is chosen on.
        unscored: as_wrong or exclude.
        draws: bootstrap resamples.
        seed: of the split and of the resampling.

    Returns:
        `threshold`, None with a `reason` where none can be chosen; `share`; `chosen_on` and
        `applied_to`, the `samples`, `clusters` and those `with_score` of both parts; and the
        `metrics` of `evaluate` that labels alone give, on the samples it is applied to (`{}`
        without a threshold).
    """
    nothing = {"threshold": None, "share": share, "chosen_on": None, "applied_to": None}
    if len({j.cluster for j in judged}) < 2:
        return nothing | {"reason": "fewer than two clusters cannot be split", "metrics": {}}
    drawn = split_by_cluster([j.cluster for j in judged], share, seed=seed)
    chosen_on = [j for j, first in zip(judged, drawn, strict=True) if first]
    rest = [j for j, first in zip(judged, drawn, strict=True) if not first]
    parts = {"chosen_on": _size(chosen_on), "applied_to": _size(rest)}
    threshold, reason = _choose(chosen_on, negative)
    if threshold is None:
        return nothing | parts | {"reason": reason, "metrics": {}}
    found = evaluate(
        [_relabelled(j, negative, threshold) for j in rest],
        (_SAFE, _UNSAFE),
        _SAFE,
        unscored=unscored,
        draws=draws,
        seed=seed,
    )["metrics"]
    return nothing | parts | {
        "threshold": threshold,  # whole: a rounded one might pass over its own sample
        "metrics": {name: found[name] for name in SHOWN},
    }  # fmt: skip


def _choose(judged: Sequence[Judged], negative: str) -> tuple[float | None, str | None]:
    """The score with the best balanced accuracy, the highest of equals; or why there is none."""
    rows = [(j.gold != negative, j.verdict.score) for j in judged if j.verdict.score is not None]
    if not rows:
        return None, "no sample that it could be chosen on has a score"
    unsafe, scores = zip(*rows, strict=True)
    if all(unsafe) or not any(unsafe):
        kind = "safe" if all(unsafe) else "unsafe"
        return None, f"no {kind} sample that it could be chosen on has a score"
    fpr, tpr, thresholds = roc_curve(unsafe, scores, drop_intermediate=False)
    # The first flags nothing and is no score. To 12 digits: equal rates may differ in the last bit.
    best = np.argmax(np.round(tpr - fpr, 12)[1:]) + 1
    return float(thresholds[best]), None


def _relabelled(j: Judged, negative: str, threshold: float) -> Judged:
    score = j.verdict.score
    if score is not None:
        label = _UNSAFE if score >= threshold else _SAFE
        verdict = Verdict(status="ok", label=label)
    else:
        # A label that comes without a score is none under a threshold.
        verdict = Verdict(status="unsupported" if j.ok else j.verdict.status)
    return replace(j, gold=_SAFE if j.gold == negative else _UNSAFE, verdict=verdict)


def _size(part: Sequence[Judged]) -> dict[str, int]:
    return {
        "samples": len(part),
        "clusters": len({j.cluster for j in part}),
        "with_score": sum(j.verdict.score is not None for j in part),
    }
