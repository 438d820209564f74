"""Shares of outcomes of which something was said, as entries of metrics.json."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from trace.benchmarks.rag_safety.outcomes import Outcome
from trace.records import Verdict
from trace.report.entry import Metric, entry, from_rate
from trace.report.judged import Judged, share

Said: TypeAlias = Callable[[Outcome], Verdict | None]


def judged(outcome: Outcome, verdict: Verdict | None) -> Judged | None:
    """The outcome with a verdict; None without one. A question is one observation."""
    if verdict is None:
        return None
    record = outcome.record
    return Judged(gold="", verdict=verdict, cluster=record.cluster, class_="", sample=record.id)


def all_said(outcomes: Sequence[Outcome], said: Said) -> list[Judged]:
    """Those of which something was said."""
    found = (judged(outcome, said(outcome)) for outcome in outcomes)
    return [one for one in found if one is not None]


def labelled(
    judged: Sequence[Judged],
    labels: Collection[str],
    better: bool | None,
    *,
    of: str = "answers",
) -> Metric:
    """The share that has one of the labels, of all that have any."""
    found = share(judged, lambda j: j.verdict.label in labels, "exclude", of)
    return from_rate(found) | {"higher_is_better": better}


def untold(unscored: int, reason: str, better: bool | None = None) -> Metric:
    """A number that nobody can tell."""
    return entry(None, n=0, n_unscored=unscored, higher_is_better=better, reason=reason)
