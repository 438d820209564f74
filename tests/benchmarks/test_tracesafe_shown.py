"""No two records show a judge the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.build import Options, OwnSet, build
from trace.benchmarks.tracesafe.shown import Shown
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.benchmarks.tracesafe.view import clean
from trace.records import digest


def _copies(own: OwnSet) -> list[list[str]]:
    views = [
        digest(clean(Trajectory.from_json(record["new_trace"], "record"))) for record in own.records
    ]
    counts = Counter(views)
    ids: dict[str, list[str]] = {}
    for record, view in zip(own.records, views, strict=True):
        if counts[view] > 1:
            ids.setdefault(view, []).append(record["id"])
    return list(ids.values())


def test_a_prefix_stands_once_in_the_set(own: OwnSet) -> None:
    """At this seed a call is both where one mutant ends and where another one is made."""
    assert _copies(own) == []


def test_tasks_that_begin_alike_give_one_record(bases: tuple[BaseTrajectory, ...]) -> None:
    """As two tries of an agent do, and two splits of BFCL."""
    twins = [
        replace(
            base, task=f"{base.task}_again", trajectory=replace(base.trajectory, agent_model="")
        )
        for base in bases[:25]
    ]
    options = Options(per_class=30, decoys=0.5)
    alone, both = build(bases[:25], options), build([*bases[:25], *twins], options)
    assert _copies(both) == []
    assert both.suitable == alone.suitable
    for name, reasons in both.refused.items():
        assert reasons["another task begins alike"] == both.suitable[name]


@pytest.mark.slow
@pytest.mark.parametrize("options", [Options(per_class=30, seed=1),
                                     Options(per_class=30, seed=1, truncate=False)])  # fmt: skip
def test_nor_do_other_splits(
    bases: tuple[BaseTrajectory, ...],
    splits: dict[str, tuple[BaseTrajectory, ...]],
    options: Options,
) -> None:
    own = build([*bases[:50], *(base for found in splits.values() for base in found[:50])], options)
    assert _copies(own) == []
    assert own.notes == ()


def test_content_is_the_same_exactly_where_a_judge_sees_the_same(
    bases: tuple[BaseTrajectory, ...],
) -> None:
    base = bases[0]
    calls = [call.index for call in base.trajectory.calls]
    steps = list(base.trajectory.steps)
    steps[calls[1]] = replace(steps[calls[1]], extra={"reasoning": "another, which nobody sees"})
    unseen = replace(base, task="b", trajectory=replace(base.trajectory, steps=tuple(steps)))
    steps[calls[1]] = replace(steps[calls[1]], content={"name": "ls", "arguments": {"x": 1}})
    seen = replace(base, task="c", trajectory=replace(base.trajectory, steps=tuple(steps)))
    cut, whole = (Shown(Options(per_class=1, truncate=truncate)) for truncate in (True, False))
    for end in calls:
        same = cut.content(base, end)
        assert cut.content(unseen, end) == same
        assert (cut.content(seen, end) == same) == (end < calls[1])
        assert whole.content(base, end) == whole.content(unseen, end) == whole.content(base, 0)
        assert whole.content(seen, end) != whole.content(base, end)
    assert len({cut.content(base, end) for end in calls}) == len(calls)
