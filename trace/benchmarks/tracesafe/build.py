"""Our own set: mutants of BFCL's ground truth, and benign records that match them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path
from random import Random

from trace.benchmarks.tracesafe.bfcl import BaseTrajectory, base_trajectories
from trace.benchmarks.tracesafe.difference import difference
from trace.benchmarks.tracesafe.mutators.base import Mutator, cut
from trace.benchmarks.tracesafe.mutators.registry import MUTATORS
from trace.benchmarks.tracesafe.names import BENIGN, DOMAINS, resolve
from trace.benchmarks.tracesafe.released import record_id
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.records import Json, digest

_RELEASED_DOMAIN = {domain.name: domain.released for domain in DOMAINS} | {"Benign": "BENIGN"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSet:
    """Records in the released schema, with `id`, `risky_step` and `source_cluster` added.

    `notes` say where fewer records exist than were asked for.
    """

    records: tuple[dict[str, Json], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A call of a base trajectory: where a mutant is made, or a benign record ends."""

    base: BaseTrajectory
    index: int
    with_output: bool

    @property
    def name(self) -> tuple[str, int, bool]:
        return self.base.task, self.index, self.with_output


def build(*, folder: Path, per_class: int, distractors: str, seed: int) -> OwnSet:
    """Builds the set; the same arguments give the same bytes.

    For each class, tasks give one mutant each before any gives a second. Benign records are the
    unchanged prefixes of mutants of all classes in turn: they end at the same calls (or outputs)
    and list as many tools, so that neither length, nor the last step, nor the size of the tool
    list tells a mutant from a benign record.

    Args:
        folder: the one that contains `bfcl_eval/`.
        per_class: records of each class and of benign; fewer where there are not so many.
        distractors: tools listed beside those called so far, a number or "all".
        seed: chooses the places, the distractors and the wording.

    Raises:
        DataError: BFCL's data do not have the shape expected.
    """
    bases = base_trajectories(folder)
    notes: list[str] = []
    places: dict[str, Sequence[_Place]] = {}
    for name, mutator in MUTATORS.items():
        if distractors != "all" and int(distractors) < mutator.added_tools:
            notes.append(f"No {name}: it lists another tool, and benchmark.distractors is 0.")
            continue
        found = _ranked(_places(bases, mutator), name, seed)
        places[name] = found[:per_class]
        if len(found) < per_class:
            notes.append(f"{name}: {len(found)} records exist, fewer than the {per_class} asked.")
    benign = _matched(places.values(), per_class)
    if len(benign) < per_class:
        notes.append(f"Benign: {len(benign)} records match a mutant, fewer than the {per_class}.")
    records = [_benign_record(place, distractors, seed) for place in benign]
    for name, chosen in places.items():
        records += (_mutant(place, MUTATORS[name], distractors, seed) for place in chosen)
    return OwnSet(records=tuple(records), notes=tuple(notes))


def _places(bases: Iterable[BaseTrajectory], mutator: Mutator) -> Iterator[_Place]:
    for base in bases:
        for call in base.trajectory.calls:
            if mutator.check(base.trajectory, call.index) is None:
                yield _Place(base=base, index=call.index, with_output=mutator.ends_in_output)


def _ranked(places: Iterable[_Place], class_name: str, seed: int) -> list[_Place]:
    """In seeded order, the n-th place of every task before the n+1-st of any."""
    shuffled = sorted(places, key=lambda p: digest([seed, class_name, *p.name]))
    seen: dict[str, int] = {}
    turns = []
    for place in shuffled:
        turns.append(seen.get(place.base.task, 0))
        seen[place.base.task] = turns[-1] + 1
    order = sorted(range(len(shuffled)), key=lambda i: (turns[i], i))
    return [shuffled[i] for i in order]


def _matched(classes: Iterable[Sequence[_Place]], wanted: int) -> list[_Place]:
    """Places of mutants, one of each class in turn, without repeating a place."""
    taken: dict[tuple[str, int, bool], _Place] = {}
    for place in chain.from_iterable(zip_longest(*classes)):
        if place is not None and len(taken) < wanted:
            taken.setdefault(place.name, place)
    return list(taken.values())


def _shown(place: _Place, distractors: str, room: int, seed: int) -> Trajectory:
    """The base with the tools called up to the place and the chosen distractors, less `room`."""
    base = place.base.trajectory
    called = {call.name for call in base.calls if call.index <= place.index}
    others = sorted(
        (tool.name for tool in base.tools if tool.name not in called),
        key=lambda name: digest([seed, "distractors", place.base.task, name]),
    )
    count = len(others) if distractors == "all" else min(int(distractors), len(others))
    shown = called.union(others[: max(count - room, 0)])
    return replace(base, tools=tuple(tool for tool in base.tools if tool.name in shown))


def _mutant(place: _Place, mutator: Mutator, distractors: str, seed: int) -> dict[str, Json]:
    base = _shown(place, distractors, mutator.added_tools, seed)
    rng = Random(digest([seed, mutator.class_name, *place.name]))
    mutation = mutator.mutate(base, place.index, rng)
    return _record(
        place,
        mutator.class_name,
        original=cut(base, place.index, with_output=place.with_output),
        new=mutation.trajectory,
        risky_step=mutation.risky_step,
        internal_meta=dict(mutation.internal_meta),
        rationale=mutation.rationale,
    )


def _benign_record(place: _Place, distractors: str, seed: int) -> dict[str, Json]:
    prefix = cut(_shown(place, distractors, 0, seed), place.index, with_output=place.with_output)
    return _record(
        place,
        BENIGN.name,
        original=prefix,
        new=prefix,
        risky_step=None,
        internal_meta={},
        rationale="",
    )


def _record(
    place: _Place,
    class_name: str,
    *,
    original: Trajectory,
    new: Trajectory,
    risky_step: int | None,
    internal_meta: dict[str, Json],
    rationale: str,
) -> dict[str, Json]:
    class_ = resolve(class_name)
    assert class_ is not None
    benign = class_ is BENIGN
    target = next(c.name for c in place.base.trajectory.calls if c.index == place.index)
    before, after = original.to_json(), new.to_json()
    return {
        "id": record_id(new.agent_model, class_name, target, new),
        "mutation_category": _RELEASED_DOMAIN[class_.domain],
        "original_trace": before,
        "new_trace": after,
        "difference": difference(before, after),
        "mutation_metadata": {
            "mutator_name": "benign" if benign else class_name,
            "target_tool": target,
            "rationale": rationale,
            "internal_meta": internal_meta,
            "source": "bfcl",
            "model_name": new.agent_model,
        },
        "golden_meta": {
            "source_model": new.agent_model,
            "category": "benign" if benign else class_name,
            "type": "pure_benign" if benign else "attacked",
        },
        "risky_step": risky_step,
        "source_cluster": place.base.task,
    }
