"""Base trajectories as records show them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.matching import Place
from trace.benchmarks.tracesafe.mutators.registry import MUTATORS
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.benchmarks.tracesafe.view import clean
from trace.records import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is built. `distractors` is how many tools are listed beside those called, or "all".

    `decoys` is the share of benign records that only look risky; without `truncate` records go on
    after the risky step.
    """

    per_class: int
    distractors: str = "all"
    seed: int = 0
    truncate: bool = True
    decoys: float = 0.2


class Shown:
    """Base trajectories as records show them: with the tools called, and the distractors chosen."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._order: dict[str, list[str]] = {}
        self._steps: dict[str, list[str]] = {}

    def base(self, source: BaseTrajectory, end: int, room: int) -> Trajectory:
        """The base with the tools called up to `end` and its distractors, less `room`."""
        base, wanted = source.trajectory, self.options.distractors
        if wanted == "all" and room == 0:
            return base
        last = end if self.options.truncate else len(base.steps)
        called = {
            step.content["name"]
            for step in base.steps[: last + 1]
            if not isinstance(step.content, str)
        }
        others = [name for name in self._shuffled(source) if name not in called]
        count = len(others) if wanted == "all" else min(int(wanted), len(others))
        names = called.union(others[: max(count - room, 0)])
        return replace(base, tools=tuple(tool for tool in base.tools if tool.name in names))

    def original(self, place: Place, room: int) -> Trajectory:
        """What a mutant or a decoy at the place is compared with."""
        base = self.base(place.base, place.end, room)
        return replace(base, steps=base.steps[: place.end + 1]) if self.options.truncate else base

    def of_class(self, name: str, place: Place) -> Trajectory:
        """What a mutant of the class at the place is compared with."""
        return self.original(place, MUTATORS[name].added_tools)

    def content(self, source: BaseTrajectory, end: int) -> str:
        """The same for two tasks, or two ends, exactly if a judge could be shown the same.

        Two tries at a task, or two splits of BFCL, may begin alike; and a call may be both where
        one mutant ends and where another one is made.
        """
        if source.task not in self._steps:
            view = clean(source.trajectory)
            hashes = [digest([view["user_query"], view["tools"]])]
            for step in view["trajectory"]:
                hashes.append(digest([hashes[-1], step]))
            self._steps[source.task] = hashes[1:]
        return self._steps[source.task][end if self.options.truncate else -1]

    def _shuffled(self, base: BaseTrajectory) -> list[str]:
        if base.task not in self._order:
            self._order[base.task] = sorted(
                (tool.name for tool in base.trajectory.tools),
                key=lambda name: digest([self.options.seed, "distractors", base.task, name]),
            )
        return self._order[base.task]
