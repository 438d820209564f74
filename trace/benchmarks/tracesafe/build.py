"""Our own set: mutants of base trajectories, and benign records that match them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from random import Random

from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.decoys.registry import DECOYS
from trace.benchmarks.tracesafe.entry import benign_entry, decoy_entry, mutant_entry
from trace.benchmarks.tracesafe.matching import Place, Shape, anchors, follow, nearest_first
from trace.benchmarks.tracesafe.mutators.base import Mutation, Mutator, continued, next_call
from trace.benchmarks.tracesafe.mutators.registry import MUTATORS
from trace.benchmarks.tracesafe.names import BENIGN
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.records import Json, digest


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSet:
    """Records in the released schema, with `id`, `risky_step` and `source_cluster` added.

    `notes` say where fewer records exist than were asked for. `refused` counts, by class, why
    `check` turned calls of the base trajectories down; `suitable` counts those it did not.
    """

    records: tuple[dict[str, Json], ...]
    notes: tuple[str, ...]
    suitable: Mapping[str, int]
    refused: Mapping[str, Counter[str]]


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


def build(bases: Sequence[BaseTrajectory], options: Options) -> OwnSet:
    """Builds the set; the same arguments give the same bytes.

    The records of a class are alike in structure to those of every other class and of benign
    (`matching`). Benign records are the unchanged prefixes of mutants of all classes in turn, and
    a share of them are decoys, made at calls of the same structure.

    Args:
        bases: the benign trajectories.
        options: what is built. Fewer records come out where there are not so many calls.
    """
    shown = _Shown(options)
    suitable: dict[str, int] = {}
    refused: dict[str, Counter[str]] = {}
    candidates: dict[str, list[Place]] = {}
    notes: list[str] = []
    for name, mutator in MUTATORS.items():
        if options.distractors != "all" and int(options.distractors) < mutator.added_tools:
            notes.append(f"No {name}: it lists another tool, and benchmark.distractors is 0.")
            continue
        refused[name] = Counter()
        candidates[name] = list(_places(bases, name, mutator, shown, refused[name]))
        suitable[name] = len(candidates[name])
    wanted = anchors(candidates, options.per_class, options.seed)
    chosen = {
        name: follow(places, name, wanted, options.seed) for name, places in candidates.items()
    }
    for name, places in chosen.items():
        if len(places) < options.per_class:
            notes.append(
                f"{name}: {len(places)} records exist, fewer than the {options.per_class} asked."
            )
    benign = _benign(bases, chosen, wanted, shown, options)
    if len(benign) < options.per_class:
        notes.append(
            f"Benign: {len(benign)} records match a mutant, fewer than the {options.per_class}."
        )
    mutants = [
        mutant_entry(place, name, *_mutated(place, MUTATORS[name], name, shown))
        for name, places in chosen.items()
        for place in places
    ]
    return OwnSet(
        records=(*benign, *mutants), notes=tuple(notes), suitable=suitable, refused=refused
    )


class _Shown:
    """Base trajectories as records show them: with the tools called, and the distractors chosen."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._order: dict[str, list[str]] = {}

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

    def _shuffled(self, base: BaseTrajectory) -> list[str]:
        if base.task not in self._order:
            self._order[base.task] = sorted(
                (tool.name for tool in base.trajectory.tools),
                key=lambda name: digest([self.options.seed, "distractors", base.task, name]),
            )
        return self._order[base.task]

    def original(self, place: Place, room: int) -> Trajectory:
        """What a mutant or a decoy at the place is compared with."""
        base = self.base(place.base, place.end, room)
        return replace(base, steps=base.steps[: place.end + 1]) if self.options.truncate else base


def _places(
    bases: Sequence[BaseTrajectory],
    name: str,
    mutator: Mutator,
    shown: _Shown,
    refused: Counter[str],
) -> Iterator[Place]:
    """The calls that `mutator` takes, with the shape that each of its mutants would have."""
    for base in bases:
        for call in base.trajectory.calls:
            end = mutator.end(base.trajectory, call.index)
            trajectory = shown.base(base, end, mutator.added_tools)
            rng = _random(shown.options.seed, name, base, call.index)
            made = mutator.attempt(trajectory, call.index, rng)
            if isinstance(made, str):
                refused[_general(made, call.name)] += 1
                continue
            shape = Shape.of(made.trajectory, len(made.trajectory.steps) - 1)
            yield Place(base=base, index=call.index, end=end, shape=shape)


def _random(seed: int, name: str, base: BaseTrajectory, index: int) -> Random:
    return Random(digest([seed, name, base.task, index]))


def _general(reason: str, name: str) -> str:
    """The reason without the particular tool, so that equal reasons count together."""
    general = re.sub(r" \(.*\)|^\w+(?=, called before)", "", reason)
    return re.sub(rf"\b{re.escape(name)}\b", "the tool", general).removeprefix(", ")


def _mutated(
    place: Place, mutator: Mutator, name: str, shown: _Shown
) -> tuple[Trajectory, Mutation]:
    base = shown.base(place.base, place.end, mutator.added_tools)
    rng = _random(shown.options.seed, name, place.base, place.index)
    mutation = mutator.mutate(base, place.index, rng)
    if not shown.options.truncate:
        mutation = continued(mutation, base)
    return shown.original(place, mutator.added_tools), mutation


def _benign(
    bases: Sequence[BaseTrajectory],
    chosen: Mapping[str, Sequence[Place]],
    wanted: Sequence[Place],
    shown: _Shown,
    options: Options,
) -> list[dict[str, Json]]:
    """Plain prefixes of mutants and, at every 1/share-th, a decoy of each kind in turn."""

    def unique(place: Place) -> tuple[object, ...]:
        return place.name if options.truncate else (place.base.task,)

    ends = {unique(p): p for p in chain.from_iterable(chosen.values())}
    plain = [_plain(p.base, p.index, p.end, shown) for p in ends.values()]
    places = follow(plain, BENIGN.name, wanted, options.seed)
    records = [benign_entry(place, shown.original(place, 0)) for place in places]
    due = [math.floor(k * options.decoys + 1e-9) for k in range(len(places) + 1)]
    turns = [k for k in range(len(places)) if due[k + 1] > due[k]]
    taken = {unique(place) for place in places}
    anywhere = _ends(bases, shown) if turns else []
    for turn, k in enumerate(turns):
        for kind in _rotated(list(DECOYS), turn):
            decoy = DECOYS[kind]
            fits = (
                place
                for place in nearest_first(anywhere, kind, wanted[k], options.seed)
                if unique(place) not in taken
                and decoy.end(place.base.trajectory, place.index) == place.end
                and decoy.check(shown.base(place.base, place.end, decoy.added_tools), place.index)
                is None
            )
            if place := next(fits, None):
                taken.add(unique(place))
                records[k] = decoy_entry(place, kind, *_mutated(place, decoy, kind, shown))
                break
    return records


def _plain(base: BaseTrajectory, index: int, end: int, shown: _Shown) -> Place:
    shape = Shape.of(shown.base(base, end, 0), end)
    return Place(base=base, index=index, end=end, shape=shape)


def _ends(bases: Sequence[BaseTrajectory], shown: _Shown) -> list[Place]:
    """Every call, ending there or at the next call."""
    return [
        _plain(base, call.index, end, shown)
        for base in bases
        for call in base.trajectory.calls
        for end in {call.index, next_call(base.trajectory, call.index) or call.index}
    ]


def _rotated(names: list[str], by: int) -> list[str]:
    first = by % len(names)
    return names[first:] + names[:first]
