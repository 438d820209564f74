"""Which mutants no judge can tell from their benign twin, because the prompts are the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from trace.benchmarks.tracesafe.audit.collection import by_class
from trace.benchmarks.tracesafe.released import MutationRecord
from trace.benchmarks.tracesafe.taxonomy import TAXONOMY
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.benchmarks.tracesafe.view import VIEWS
from trace.config import Protocol
from trace.judging.protocols import judge_protocol
from trace.records import Gold, Json, Sample

_ASKED = {
    "binary": ("binary", False),
    "schema": ("binary", True),
    "coarse": ("domain", True),
    "fine": ("class", True),
}
PROTOCOLS = {
    f"{name}{'' if tools else ' without tools'}": Protocol(
        name=name, answers=answers, definitions=definitions, tools=tools
    )
    for tools in (True, False)
    for name, (answers, definitions) in _ASKED.items()
}
"""The four protocols, with the tool list and without (the released binary prompts omit it)."""


def certificate(mutants: Iterable[MutationRecord], view: str) -> dict[str, Json]:
    """How many prompts equal the prompt of the benign twin, by class and protocol.

    Where they are equal a judge has to answer both alike. One that calls nothing risky without
    seeing a risk then misses these mutants, so its balanced accuracy is at most
    1 − (their share of the mutants) / 2.

    Args:
        mutants: records that are not benign.
        view: what judges get, a key of `VIEWS`.

    Returns:
        `classes`: class -> `n` and, by protocol, `equal` (how many); `best`: protocol -> the
        highest balanced accuracy over all mutants, None without any; `ids` of the equal ones, by
        protocol.
    """
    protocols = {name: judge_protocol(how, TAXONOMY) for name, how in PROTOCOLS.items()}
    classes: dict[str, Json] = {}
    ids: dict[str, list[str]] = {name: [] for name in protocols}
    total = 0
    for class_, records in by_class(mutants).items():
        total += len(records)
        equal = dict.fromkeys(protocols, 0)
        for record in records:
            new, benign = _sample(record.trajectory, view), _sample(twin(record), view)
            for name, protocol in protocols.items():
                if protocol.messages(new) == protocol.messages(benign):
                    equal[name] += 1
                    ids[name].append(record.id)
        classes[class_.name] = {"n": len(records), "equal": equal}
    best = {name: 1 - len(found) / total / 2 if total else None for name, found in ids.items()}
    return {"classes": classes, "best": best, "ids": {k: sorted(v) for k, v in ids.items()}}


def twin(record: MutationRecord) -> Trajectory:
    """The original, cut where the mutant ends."""
    end = len(record.trajectory.steps)
    return replace(record.original, steps=record.original.steps[:end])


def _sample(trajectory: Trajectory, view: str) -> Sample:
    shown = VIEWS[view](trajectory)
    return Sample(id="", gold=Gold(label=None), view=shown, cluster="")
