"""Which calls are mutated: such that no class, and not benign either, has a structure of its own.

For every record of a class there is one of every other class that has about as many steps, roles
in the same order at its end, as many tools, and mostly the same ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.trajectory import Tool, Trajectory
from trace.records import digest

_STEPS, _CHARS, _LAST, _COUNT, _KINDS, _ROLES = 2.0, 1.5, 0.7, 2.0, 2.0, 1.5
"""What twice as many steps, twice as long steps, a twice as long last step, twice as many tools,
only other tools, and other last roles weigh."""
_REPEAT, _CHANCE = 1.0, 0.5
"""What taking a source again costs, and the range of the seeded draw between equals."""
_TAIL = 4  # roles compared


@dataclass(frozen=True, slots=True)
class Shape:
    """The structure of a record: what a classifier could use that reads no words."""

    steps: int
    chars: int
    last: int
    tools: int
    roles: str

    @classmethod
    def of(cls, trajectory: Trajectory, end: int) -> Shape:
        """That of the trajectory up to the step `end`."""
        steps = trajectory.steps[: end + 1]
        lengths = [len(str(step.content)) for step in steps]
        return cls(
            steps=len(steps),
            chars=sum(lengths),
            last=lengths[-1],
            tools=len(trajectory.tools),
            roles=" ".join(step.role for step in steps[-_TAIL:]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A call of a base trajectory, the last step that a record made there shows, and its shape."""

    base: BaseTrajectory
    index: int
    end: int
    shape: Shape

    @property
    def name(self) -> tuple[str, int, int]:
        """What tells it from every other place."""
        return self.base.task, self.index, self.end


class _Shapes:
    """The structure of many places, as arrays."""

    def __init__(self, places: Sequence[Place]) -> None:
        shapes = [place.shape for place in places]
        numbers = [(s.steps, s.chars, s.last, s.tools) for s in shapes]
        self.numbers = np.log2(np.maximum(np.array(numbers), 1))
        self.roles = np.array([s.roles for s in shapes])
        listed = [_names(place.base.trajectory.tools) for place in places]
        self.kinds = list(dict.fromkeys(listed))
        where = {tools: i for i, tools in enumerate(self.kinds)}
        self.kind = np.array([where[tools] for tools in listed])

    def distance(self, other: _Shapes, i: int) -> NDArray[np.float64]:
        """From each place to the place `i` of `other`."""
        theirs = other.kinds[other.kind[i]]
        foreign = np.array([1 - _overlap(tools, theirs) for tools in self.kinds])
        numbers = np.abs(self.numbers - other.numbers[i]) @ (_STEPS, _CHARS, _LAST, _COUNT)
        total: NDArray[np.float64] = (
            numbers + _KINDS * foreign[self.kind] + _ROLES * (self.roles != other.roles[i])
        )
        return total


def _names(tools: Sequence[Tool]) -> frozenset[str]:
    return frozenset(tool.name for tool in tools)


@lru_cache(maxsize=65536)
def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / max(len(a | b), 1)


def anchors(candidates: Mapping[str, Sequence[Place]], count: int, seed: int) -> list[Place]:
    """The `count` places whose structure all classes follow: those of the scarcest class first.

    Of these the half that every class has something like comes before the rest. A larger `count`
    adds places and changes none.
    """
    found: dict[tuple[str, int, int], Place] = {}
    for name in sorted(candidates, key=lambda name: (len(candidates[name]), name)):
        ranked = _ranked(candidates[name], name, seed)
        for place in ranked if found else _common_first(ranked, candidates):
            found.setdefault(place.name, place)
    return list(found.values())[:count]


def _common_first(
    places: Sequence[Place], candidates: Mapping[str, Sequence[Place]]
) -> list[Place]:
    if not places:
        return []
    aims = _Shapes(places)
    others = [_Shapes(theirs) for theirs in candidates.values() if theirs]
    worst = [max(float(o.distance(aims, i).min()) for o in others) for i in range(len(places))]
    middle = float(np.median(worst))
    order = sorted(range(len(places)), key=lambda i: (worst[i] > middle, i))
    return [places[i] for i in order]


def follow(places: Sequence[Place], name: str, wanted: Sequence[Place], seed: int) -> list[Place]:
    """For each wanted place in turn the nearest that is left; as many as there are."""
    if not places or not wanted:
        return []
    shapes, aims = _Shapes(places), _Shapes(wanted)
    clusters, codes = np.unique([place.base.cluster for place in places], return_inverse=True)
    used = np.zeros(len(clusters))
    draw = _CHANCE * np.array([_uniform(seed, name, place) for place in places])
    taken = np.zeros(len(places), dtype=bool)
    chosen: list[Place] = []
    for i in range(min(len(wanted), len(places))):
        cost = shapes.distance(aims, i) + _REPEAT * used[codes] + draw
        best = int(np.argmin(np.where(taken, np.inf, cost)))
        taken[best] = True
        used[codes[best]] += 1
        chosen.append(places[best])
    return chosen


def nearest_first(places: Sequence[Place], name: str, aim: Place, seed: int) -> list[Place]:
    """The places, those most like `aim` first."""
    draw = _CHANCE * np.array([_uniform(seed, name, place) for place in places])
    cost = _Shapes(places).distance(_Shapes([aim]), 0) + draw
    return [places[int(i)] for i in np.argsort(cost, kind="stable")]


def _uniform(seed: int, name: str, place: Place) -> float:
    return int(digest([seed, name, *place.name])[:12], 16) / 16**12


def _ranked(places: Iterable[Place], name: str, seed: int) -> list[Place]:
    """In seeded order, the n-th place of every source before the n+1-st of any."""
    shuffled = sorted(places, key=lambda place: digest([seed, name, *place.name]))
    seen: Counter[str] = Counter()
    turns = []
    for place in shuffled:
        turns.append(seen[place.base.cluster])
        seen[place.base.cluster] += 1
    order = sorted(range(len(shuffled)), key=lambda i: (turns[i], i))
    return [shuffled[i] for i in order]
