"""Our own set: mutants of base trajectories, and benign records that match them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random

from trace.benchmarks.base import Ask
from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.checking import ONE_IN, Checked, Settled, settle
from trace.benchmarks.tracesafe.decoys.registry import DECOYS
from trace.benchmarks.tracesafe.entry import Draft, entry
from trace.benchmarks.tracesafe.matching import Place, Shape, anchors, follow, nearest_first
from trace.benchmarks.tracesafe.mutators.base import Mutator, continued, next_call
from trace.benchmarks.tracesafe.mutators.registry import MUTATORS
from trace.benchmarks.tracesafe.names import BENIGN
from trace.benchmarks.tracesafe.rewording import Rewordings, reworded
from trace.benchmarks.tracesafe.shown import Options, Shown
from trace.records import Json, digest

__all__ = ["Options", "OwnSet", "build"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSet:
    """Records in the released schema, with `id`, `risky_step` and `source_cluster` added.

    `notes` say where fewer records exist than were asked for. `refused` counts, by class, why
    a mutator's check or the Check judge turned calls of the base trajectories down; `suitable`
    counts the rest, asked about or not. `checked` and `rewordings` say what the models that took
    part replied.
    """

    records: tuple[dict[str, Json], ...]
    notes: tuple[str, ...]
    suitable: Mapping[str, int]
    refused: Mapping[str, Counter[str]]
    checked: tuple[Checked, ...] = ()
    rewordings: Rewordings | None = None


def build(
    bases: Sequence[BaseTrajectory],
    options: Options,
    *,
    check: Ask | None = None,
    second_check: Ask | None = None,
    reword: Ask | None = None,
) -> OwnSet:
    """Builds the set; the same arguments, and the same replies, give the same bytes.

    The records of a class are alike in structure to those of every other class and of benign
    (`matching`). Benign records are the unchanged prefixes of mutants of all classes in turn, and
    a share of them are decoys, made at calls of the same structure. Of tasks that begin alike a
    class takes one, and no benign record is the beginning that another one is.

    Args:
        bases: the benign trajectories.
        options: what is built. Fewer records come out where there are not so many calls.
        check: judges whether a class suits a call (`checking`); without it all are used.
        second_check: is asked the same, to be compared, and changes nothing.
        reword: words the payloads otherwise (`rewording`); without it they are those of the pools.
    """
    shown = Shown(options)
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

    def choose(name: str, places: Sequence[Place]) -> list[Place]:
        return follow(places, name, wanted, options.seed)

    checked: tuple[Checked, ...] = ()
    if check is None:
        chosen = {name: choose(name, places) for name, places in candidates.items()}
    else:
        settled = settle(
            candidates, choose, shown.of_class, check, second_check, per_class=options.per_class
        )
        chosen, checked = settled.chosen, settled.checked
        for one in checked:
            if why := one.first.refusal:
                refused[one.class_name][why] += 1
                suitable[one.class_name] -= 1
        if settled.given_up:
            notes.append(_given_up(settled))
    for name, places in chosen.items():
        if len(places) < options.per_class:
            notes.append(
                f"{name}: {len(places)} records exist, fewer than the {options.per_class} asked."
            )
    benign = _benign(bases, chosen, wanted, shown)
    if len(benign) < options.per_class:
        notes.append(
            f"Benign: {len(benign)} records match a mutant, fewer than the {options.per_class}."
        )
    drafts = benign + [
        _draft(place, MUTATORS[name], name, shown)
        for name, places in chosen.items()
        for place in places
    ]
    rewordings = None
    if reword is not None:
        drafts, rewordings = reworded(drafts, reword, options.seed)
    return OwnSet(
        records=tuple(map(entry, drafts)),
        notes=tuple(notes),
        suitable=suitable,
        refused=refused,
        checked=checked,
        rewordings=rewordings,
    )


def _places(
    bases: Sequence[BaseTrajectory],
    name: str,
    mutator: Mutator,
    shown: Shown,
    refused: Counter[str],
) -> Iterator[Place]:
    """The calls that `mutator` takes, with the shape that each of its mutants would have."""
    seen: set[tuple[str, int]] = set()
    for base in bases:
        for call in base.trajectory.calls:
            end = mutator.end(base.trajectory, call.index)
            content = (shown.content(base, end), call.index)
            trajectory = shown.base(base, end, mutator.added_tools)
            rng = _random(shown.options.seed, name, base, call.index)
            made = mutator.attempt(trajectory, call.index, rng)
            if isinstance(made, str):
                refused[_general(made, call.name)] += 1
                continue
            if content in seen:
                refused["another task begins alike"] += 1
                continue
            seen.add(content)
            shape = Shape.of(made.trajectory, len(made.trajectory.steps) - 1)
            yield Place(base=base, index=call.index, end=end, shape=shape)


def _given_up(settled: Settled) -> str:
    said = []
    for name in settled.given_up:
        of_class = [one.first for one in settled.checked if one.class_name == name]
        fine = sum(judgement.suitable is True for judgement in of_class)
        unread = sum(judgement.suitable is None for judgement in of_class)
        silent = f", {unread} without a verdict" if unread else ""
        said.append(f"{name} ({fine} of {len(of_class)} calls suitable{silent})")
    return (
        f"The Check judge was asked no more about {', '.join(said)}: fewer than one call in "
        f"{ONE_IN} suits."
    )


def _random(seed: int, name: str, base: BaseTrajectory, index: int) -> Random:
    return Random(digest([seed, name, base.task, index]))


def _general(reason: str, name: str) -> str:
    """The reason without the particular tool, so that equal reasons count together."""
    general = re.sub(r" \(.*\)|^\w+(?=, called before)", "", reason)
    return re.sub(rf"\b{re.escape(name)}\b", "the tool", general).removeprefix(", ")


def _draft(
    place: Place, mutator: Mutator, name: str, shown: Shown, *, decoy: bool = False
) -> Draft:
    base = shown.base(place.base, place.end, mutator.added_tools)
    rng = _random(shown.options.seed, name, place.base, place.index)
    mutation = mutator.mutate(base, place.index, rng)
    if not shown.options.truncate:
        mutation = continued(mutation, base)
    original = shown.original(place, mutator.added_tools)
    return Draft(place=place, name=name, original=original, mutation=mutation, decoy=decoy)


def _benign(
    bases: Sequence[BaseTrajectory],
    chosen: Mapping[str, Sequence[Place]],
    wanted: Sequence[Place],
    shown: Shown,
) -> list[Draft]:
    """Plain prefixes of mutants and, at every 1/share-th, a decoy of each kind in turn."""
    options = shown.options

    def content(place: Place) -> str:
        return shown.content(place.base, place.end)

    ends = {content(p): p for p in chain.from_iterable(chosen.values())}
    plain = [_plain(p.base, p.index, p.end, shown) for p in ends.values()]
    places = follow(plain, BENIGN.name, wanted, options.seed)
    drafts = [Draft(place=p, name=BENIGN.name, original=shown.original(p, 0)) for p in places]
    due = [math.floor(k * options.decoys + 1e-9) for k in range(len(places) + 1)]
    turns = [k for k in range(len(places)) if due[k + 1] > due[k]]
    taken = set(map(content, places))
    anywhere = _ends(bases, shown) if turns else []
    for turn, k in enumerate(turns):
        for kind in _rotated(list(DECOYS), turn):
            decoy = DECOYS[kind]
            fits = (
                place
                for place in nearest_first(anywhere, kind, wanted[k], options.seed)
                if content(place) not in taken
                and decoy.end(place.base.trajectory, place.index) == place.end
                and decoy.check(shown.base(place.base, place.end, decoy.added_tools), place.index)
                is None
            )
            if place := next(fits, None):
                taken.add(content(place))
                drafts[k] = _draft(place, decoy, kind, shown, decoy=True)
                break
    return drafts


def _plain(base: BaseTrajectory, index: int, end: int, shown: Shown) -> Place:
    shape = Shape.of(shown.base(base, end, 0), end)
    return Place(base=base, index=index, end=end, shape=shape)


def _ends(bases: Sequence[BaseTrajectory], shown: Shown) -> list[Place]:
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
