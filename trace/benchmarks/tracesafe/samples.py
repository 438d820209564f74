"""TraceSafe as samples: from files in the released format, or our own set built from BFCL."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from trace import config
from trace.benchmarks.base import Dataset
from trace.benchmarks.released_files import RawRecord
from trace.benchmarks.strata import limited
from trace.benchmarks.tracesafe import released
from trace.benchmarks.tracesafe.bfcl import BaseTrajectory, base_trajectories
from trace.benchmarks.tracesafe.build import Options, OwnSet, build
from trace.benchmarks.tracesafe.names import BENIGN
from trace.benchmarks.tracesafe.released import MutationRecord, record_id
from trace.benchmarks.tracesafe.risky_step import locate
from trace.benchmarks.tracesafe.rules import schema_rules
from trace.benchmarks.tracesafe.sources import bases_of_file
from trace.benchmarks.tracesafe.taxonomy import TAXONOMY
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.benchmarks.tracesafe.view import VIEWS
from trace.records import Gold, Sample, digest

LICENCE = "Apache-2.0 (TraceSafe, arXiv 2604.07223; BFCL)"


def load(settings: config.TraceSafe, *, limit: int | None, seed: int) -> Dataset:
    """The samples, by class number and then id, with what has to be said about them.

    Args:
        settings: where the records come from and which view judges get.
        limit: samples a class, benign included; all when None. A larger limit adds samples and
            takes none away.
        seed: chooses the samples when `limit` does, and the records of our own set.

    Raises:
        DataError: `settings.path` cannot be read.
        AssetError: there is no path, and BFCL cannot be had.
    """
    if settings.path is None:
        records, fingerprint, notes = own_records(settings, seed)
    else:
        read = released.read(Path(settings.path).expanduser())
        records, fingerprint, notes = read.records, dict(read.fingerprint), []
    records, about_negatives = with_negatives(records)
    notes += [about_negatives, *_oddities(records)]
    samples = [_sample(record, settings.view) for record in records]
    ordered = sorted(samples, key=lambda s: (s.meta["class_number"], s.id))
    return Dataset(
        samples=limited(ordered, limit, seed, lambda sample: sample.gold.class_ or ""),
        taxonomy=TAXONOMY,
        fingerprint=fingerprint,
        licence=LICENCE,
        notes=tuple(note for note in notes if note),
        rule_judges={"schema_rules": schema_rules},
    )


def options(settings: config.TraceSafe, seed: int) -> Options:
    """What the configuration says of our own set."""
    return Options(
        per_class=settings.per_class,
        distractors=settings.distractors,
        seed=seed,
        truncate=settings.truncate,
        decoys=settings.decoys,
    )


def bases(settings: config.TraceSafe) -> tuple[tuple[BaseTrajectory, ...], dict[str, str]]:
    """The base trajectories of our own set, without those of agents; and their fingerprint.

    Raises:
        DataError: `settings.base` cannot be read.
        AssetError: BFCL cannot be had.
    """
    if settings.base is not None:
        return bases_of_file(Path(settings.base).expanduser())
    from trace import assets

    found = base_trajectories(assets.fetch("bfcl"), settings.splits)
    return found, {"bfcl": assets.fingerprint("bfcl")}


def own_set(settings: config.TraceSafe, seed: int) -> tuple[OwnSet, dict[str, str]]:
    """Our own set, made without a model, and the fingerprint of what it is built from.

    Raises:
        DataError: `settings.base` cannot be read.
        AssetError: BFCL cannot be had.
    """
    wanted = options(settings, seed)
    if settings.base is None:
        return _of_bfcl(tuple(settings.splits), wanted)
    found, fingerprint = bases(settings)
    return build(found, wanted), fingerprint


@lru_cache(maxsize=1)  # the jobs of a multirun ask for the same set; the package is pinned
def _of_bfcl(splits: tuple[str, ...], wanted: Options) -> tuple[OwnSet, dict[str, str]]:
    found, fingerprint = bases(config.TraceSafe(splits=list(splits)))
    return build(found, wanted), fingerprint


def parsed(built: OwnSet) -> tuple[MutationRecord, ...]:
    """The records of our own set, read as those of a file are."""
    return tuple(
        released.parse(RawRecord(value=value, stem="", place=f"record {value['id']}"))
        for value in built.records
    )


def own_records(
    settings: config.TraceSafe, seed: int
) -> tuple[tuple[MutationRecord, ...], dict[str, str], list[str]]:
    """The records of our own set, what identifies them, and what has to be said about them."""
    built, origin_of = own_set(settings, seed)
    records = parsed(built)
    fingerprint = origin_of | {"own set": digest([record.id for record in records])}
    origin = (
        f"Built from {'BFCL' if settings.base is None else Path(settings.base).name}: "
        f"{len(records)} records of {len({r.class_ for r in records})} classes."
    )
    return records, fingerprint, [origin, *built.notes]


def with_negatives(
    records: Sequence[MutationRecord],
) -> tuple[tuple[MutationRecord, ...], str]:
    """The records, with benign ones made of the originals if there are none; and a note on them."""
    kinds = Counter(record.kind for record in records if record.class_ is BENIGN)
    if kinds:
        whole = (
            f"Negatives: {kinds['seed']} of {kinds.total()} benign records are whole base "
            "trajectories, which end elsewhere than mutants do."
        )
        return tuple(records), whole if kinds["seed"] else ""
    made: dict[str, MutationRecord] = {}
    for record in records:
        id_ = record_id(record.generator, BENIGN.name, "", record.original)
        made.setdefault(
            id_,
            replace(
                record,
                kind="original",
                class_=BENIGN,
                trajectory=record.original,
                id=id_,
                risky_step=None,
                place=f"the original of {record.place}",
            ),
        )
    note = (
        f"Negatives: no benign records are given, so the {len(made)} distinct originals of the "
        f"{len(records)} mutants (the same prefixes, unchanged) are the benign samples."
    )
    return (*records, *made.values()), note


def _oddities(records: Iterable[MutationRecord]) -> list[str]:
    differing = Counter(r.class_.name for r in records if not _query_is_first_turn(r.trajectory))
    lost = Counter(
        r.class_.name for r in records if r.class_ is not BENIGN and _risky_step(r) is None
    )
    notes = []
    if differing:
        notes.append(
            "The user query differs from the first user turn of the trajectory in "
            f"{_counts(differing)}: a judge can tell these by that alone."
        )
    if lost:
        notes.append(f"No risky step is found in {_counts(lost)}.")
    return notes


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{n} {name}" for name, n in sorted(counter.items()))


def _query_is_first_turn(trajectory: Trajectory) -> bool:
    first = next((step.content for step in trajectory.steps if step.role == "user"), None)
    return trajectory.query == first


def _risky_step(record: MutationRecord) -> int | None:
    if record.class_ is BENIGN or record.risky_step is not None:
        return record.risky_step
    return locate(record.trajectory, record.class_, record.target_tool, record.internal_meta)


def _sample(record: MutationRecord, view: str) -> Sample:
    class_, trajectory = record.class_, record.trajectory
    return Sample(
        id=record.id,
        gold=Gold(
            label="safe" if class_ is BENIGN else "unsafe",
            domain=class_.domain,
            class_=class_.name,
        ),
        view=VIEWS[view](trajectory),
        cluster=record.source_cluster or digest([record.generator, record.original.query])[:16],
        meta={
            "class_number": class_.number,
            "generator": record.generator,
            "steps": len(trajectory.steps),
            "calls": len(trajectory.calls),
            "tools": len(trajectory.tools),
            "chars": sum(_length(step.content) for step in trajectory.steps),
            "risky_step": _risky_step(record),
            "kind": record.kind,
        },
    )


def _length(content: object) -> int:
    return len(content if isinstance(content, str) else json.dumps(content))
