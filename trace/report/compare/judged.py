"""Runs with their numbers, all counted the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trace.report.entry import Metric
from trace.report.metrics import evaluate
from trace.report.runs import Observation, Run
from trace.stats.rates import Rate, UnscoredAs, rate
from trace.stats.resampling import BootstrapInterval, Statistic, cluster_bootstrap

PROTOCOLS = ("binary", "schema", "coarse", "fine")
"""In the order of the tables; others follow by name."""

EXPLICIT = range(1, 6)
"""The class numbers of explicit dangers; the other classes are operational faults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How the unscored count, and how intervals are resampled."""

    unscored: UnscoredAs
    draws: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A run and the metrics of its first epoch, as `evaluate` gives them."""

    run: Run
    metrics: Mapping[str, Metric]
    classes: Mapping[str, Mapping[str, Metric]]
    confusion: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What stands in tables."""
        return self.run.name


def measure(run: Run, how: How) -> Judge:
    """Counts a run anew, so that all are counted alike whatever each was told."""
    judged = [o.judged() for o in run.once]
    found = evaluate(
        judged,
        run.labels,
        run.negative,
        unscored=how.unscored,
        draws=how.draws,
        seed=how.seed,
    )
    breakdowns = found["breakdowns"]
    return Judge(
        run=run,
        metrics=found["metrics"],
        classes=breakdowns["class"],
        confusion=breakdowns["confusion"],
    )


def blocks(judges: Iterable[Judge]) -> dict[str, list[Judge]]:
    """Protocol -> its judges, both in the order of the tables: the best judge first."""
    found: dict[str, list[Judge]] = {}
    for judge in judges:
        found.setdefault(judge.run.protocol, []).append(judge)
    order = sorted(found, key=lambda p: (PROTOCOLS.index(p) if p in PROTOCOLS else 9, p))
    return {protocol: sorted(found[protocol], key=_rank) for protocol in order}


def _rank(judge: Judge) -> tuple[float, str]:
    value = judge.metrics["balanced_accuracy"]["value"]
    return (1.0 if value is None else -value, judge.name)


def usual(judges: Sequence[Judge]) -> list[Judge]:
    """The judges asked in the usual way; of the first variant by name if there is none."""
    variant = min((judge.run.variant for judge in judges), default="")
    return [judge for judge in judges if judge.run.variant == variant]


def left_out(judges: Iterable[Judge], why: Callable[[Judge], str | None]) -> tuple[str, ...]:
    """A line a protocol and reason: which judges an analysis leaves out, and why.

    Args:
        judges: those that it was given.
        why: the reason of one; None if it is in.
    """
    lines = []
    for protocol, block in blocks(judges).items():
        names: dict[str, list[str]] = {}
        for judge in block:
            if (reason := why(judge)) is not None:
                names.setdefault(reason, []).append(judge.name)
        lines += [f"{protocol}: {', '.join(who)} ({reason})" for reason, who in names.items()]
    return tuple(lines)


def without_label(judge: Judge, how: How) -> str | None:
    """Why a judge adds nothing to a sum over samples, if so."""
    return None if counted(judge.run.once, how) else "no reply with a label"


def class_order(judges: Iterable[Judge]) -> list[str]:
    """The classes of all runs by their number, benign first."""
    numbers = {
        o.class_: o.sample.get("class_number") or 0 for judge in judges for o in judge.run.once
    }
    return sorted(numbers, key=lambda name: (numbers[name], name))


def accuracy(observations: Iterable[Observation], how: How) -> Rate:
    """The share that got the right label, with its Wilson interval."""
    right = wrong = unscored = 0
    for o in observations:
        right += o.scored and o.right
        wrong += o.scored and not o.right
        unscored += not o.scored
    return rate(right, wrong, unscored, unscored_as=how.unscored)


def counted(observations: Iterable[Observation], how: How) -> list[Observation]:
    """Those that are in the denominator."""
    return [o for o in observations if o.scored or how.unscored == "as_wrong"]


def resample(
    columns: Sequence[Sequence[float]] | NDArray[Any],
    clusters: Sequence[str],
    statistic: Statistic,
    how: How,
) -> BootstrapInterval:
    """The interval of a statistic of column sums, from resampled clusters."""
    rng = np.random.default_rng(how.seed)
    return cluster_bootstrap(
        np.asarray(columns, dtype=np.int64), clusters, statistic, draws=how.draws, rng=rng
    )
