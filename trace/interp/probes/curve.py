"""What out-of-fold decisions say: balanced accuracy and AUC, with intervals and their nulls."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from trace.interp.probes.shuffles import p_value
from trace.records import Json
from trace.report.entry import number
from trace.report.grid import many
from trace.stats.auc import auc_interval
from trace.stats.resampling import BootstrapInterval, cluster_bootstrap

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


def balanced_accuracies(decisions: Array, labelings: Flags) -> Array:
    """The mean of the shares of positives and of negatives that are decided right.

    Args:
        decisions: [..., n]; positive where the positive class is predicted.
        labelings: truth values that broadcast against them, each with both classes.
    """
    said = decisions > 0
    hits = (said & labelings).sum(-1) / labelings.sum(-1)
    result: Array = (hits + (~said & ~labelings).sum(-1) / (~labelings).sum(-1)) / 2
    return result


def areas(decisions: Array, labelings: Flags) -> Array:
    """The areas under the ROC curve, ties a half, from rank sums (Mann & Whitney 1947)."""
    ranks = rankdata(decisions, axis=-1)
    positives, negatives = labelings.sum(-1), (~labelings).sum(-1)
    above = (ranks * labelings).sum(-1) - positives * (positives + 1) / 2
    result: Array = above / (positives * negatives)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Labels and groups of the samples, and how intervals are made of them."""

    positive: Flags
    group: Sequence[Hashable]
    draws: int
    seed: int

    def balanced_accuracy(self, decisions: Array) -> dict[str, Json]:
        """Of decisions [n]: value, low, high."""
        said, y = decisions > 0, self.positive
        columns = np.stack([said & y, y, ~said & ~y, ~y], 1)
        interval = cluster_bootstrap(
            columns,
            self.group,
            lambda sums: (sums[:, 0] / sums[:, 1] + sums[:, 2] / sums[:, 3]) / 2,
            draws=self.draws,
            rng=np.random.default_rng(self.seed),
        )
        return bounded(float(balanced_accuracies(decisions, y)), interval)

    def auc(self, decisions: Array) -> dict[str, Json]:
        """Of decisions [n]: value, low, high."""
        interval = auc_interval(
            self.positive.tolist(),
            decisions.tolist(),
            self.group,
            draws=self.draws,
            rng=np.random.default_rng(self.seed),
        )
        return bounded(float(areas(decisions, self.positive)), interval)

    def both(self, decisions: Array) -> dict[str, Json]:
        """Both of them, by name."""
        return {"balanced_accuracy": self.balanced_accuracy(decisions), "auc": self.auc(decisions)}

    def gap(self, first: Array, second: Array) -> dict[str, Json]:
        """Balanced accuracy of the first decisions [n] less that of the second, paired."""
        y = self.positive
        sides = [decisions > 0 for decisions in (first, second)]
        columns = np.stack([*(s & y for s in sides), y, *(~s & ~y for s in sides), ~y], 1)
        interval = cluster_bootstrap(
            columns,
            self.group,
            lambda sums: (
                ((sums[:, 0] - sums[:, 1]) / sums[:, 2] + (sums[:, 3] - sums[:, 4]) / sums[:, 5])
                / 2
            ),
            draws=self.draws,
            rng=np.random.default_rng(self.seed),
        )
        values = [float(balanced_accuracies(decisions, y)) for decisions in (first, second)]
        return bounded(values[0] - values[1], interval)


def bounded(value: float, interval: BootstrapInterval) -> dict[str, Json]:
    """A number and its interval, with the reason where there is none."""
    found = {"value": number(value), "low": number(interval.low), "high": number(interval.high)}
    return found if interval.reason is None else found | {"reason": interval.reason}


def against_null(observed: float, null: Array) -> dict[str, Json]:
    """The p of one layer's balanced accuracy, and what the shuffles [B] gave there."""
    if not len(null):
        return {"p": None, "null": None, "selectivity": None}
    q95, q99 = np.quantile(null, (0.95, 0.99))
    return {
        "p": number(p_value(observed, null)),
        "null": {
            "mean": number(float(null.mean())),
            "q95": number(float(q95)),
            "q99": number(float(q99)),
            "max": number(float(null.max())),
        },
        # A shuffle is a control task: a random label for each group (Hewitt & Liang 2019).
        "selectivity": number(observed - float(null.mean())),
    }


def over_layers(accuracies: Array, layers: Sequence[int], *, distinct: int) -> dict[str, Json]:
    """What the shuffles say of the whole curve.

    Args:
        accuracies: balanced accuracies [layers, B + 1], the labels themselves first.
        layers: their numbers, ascending.
        distinct: how many labelings there are at all.

    Returns:
        `shuffles` of metrics.json: `peak_p` compares the highest of all layers with the highest of
        all layers in each shuffle. From `first_layer` on, every layer beats every shuffle of its
        own; the `plateau` is the range of the curve there. `reason` says what cannot be told.
    """
    observed, null = accuracies[:, 0], accuracies[:, 1:]
    count = null.shape[1]
    found: dict[str, Json] = {
        "count": count,
        "floor": number(1 / (count + 1)),
        "peak_p": None,
        "first_layer": None,
        "plateau": None,
        "folds": "fixed: those of the labels as they are",
        "reason": None,
    }
    if distinct == 1:
        return found | {"reason": "exchanging the labels of groups changes none of them"}
    if not count:
        return found | {"reason": "no shuffles were asked for (probe.permutations=0)"}
    found["peak_p"] = number(p_value(float(observed.max()), null.max(0)))
    beaten = observed > null.max(1) + 1e-12
    failing = np.flatnonzero(~beaten)
    start = int(failing[-1]) + 1 if len(failing) else 0
    if start < len(layers):
        plateau = observed[start:]
        found["first_layer"] = layers[start]
        found["plateau"] = {
            "from": layers[start],
            "low": number(float(plateau.min())),
            "high": number(float(plateau.max())),
        }
    else:
        found["reason"] = "a shuffle of the labels is as good as the labels in the last layer"
    if distinct <= count:
        found["reason"] = f"exchanging the labels of groups gives only {many(distinct, 'labeling')}"
    return found
