"""How long the records of each class are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from trace.benchmarks.tracesafe.audit.collection import by_class
from trace.benchmarks.tracesafe.released import MutationRecord
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.records import Json
from trace.report.entry import number


def content_chars(trajectory: Trajectory) -> int:
    """Characters of what the steps say; a call as its JSON."""
    return sum(_length(step.content) for step in trajectory.steps)


def _length(content: object) -> int:
    return len(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))


MEASURES: Mapping[str, Callable[[Trajectory], int]] = {
    "steps": lambda trajectory: len(trajectory.steps),
    "calls": lambda trajectory: len(trajectory.calls),
    "chars": content_chars,
    "tools": lambda trajectory: len(trajectory.tools),
}


def summary(records: Iterable[MutationRecord]) -> dict[str, Json]:
    """Class -> `n` and, for each measure, its least, median, 95th percentile and largest value."""
    found: dict[str, Json] = {}
    for class_, group in by_class(records).items():
        found[class_.name] = {"n": len(group)}
        for name, measure in MEASURES.items():
            values = [measure(record.trajectory) for record in group]
            quantiles = np.quantile(values, (0, 0.5, 0.95, 1))
            found[class_.name][name] = dict(
                zip(
                    ("min", "median", "p95", "max"), map(number, map(float, quantiles)), strict=True
                )
            )
    return found
