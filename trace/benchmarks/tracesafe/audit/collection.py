"""The records of a set under audit, mutants beside their negatives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trace import config
from trace.benchmarks.tracesafe import released, samples
from trace.benchmarks.tracesafe.names import BENIGN, ClassName
from trace.benchmarks.tracesafe.released import MutationRecord
from trace.records import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A set under audit. `name` heads its rows: given (benchmark.path) or own (built here)."""

    name: str
    records: tuple[MutationRecord, ...]
    fingerprint: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def mutants(self) -> tuple[MutationRecord, ...]:
        """The records that are not benign."""
        return tuple(record for record in self.records if record.class_ is not BENIGN)

    @property
    def benign(self) -> tuple[MutationRecord, ...]:
        """The benign records; where none are given, the originals of the mutants."""
        return tuple(record for record in self.records if record.class_ is BENIGN)


def given(path: Path, *, limit: int | None, seed: int) -> Collection:
    """A file or folder in the released format.

    Raises:
        DataError: it cannot be read.
    """
    read = released.read(path)
    return _collection("given", read.records, read.fingerprint, [], limit=limit, seed=seed)


def own(settings: config.TraceSafe, *, limit: int | None, seed: int) -> Collection:
    """The set that `benchmark=tracesafe` builds from BFCL.

    Raises:
        AssetError: BFCL cannot be had.
    """
    records, fingerprint, notes = samples.own_records(settings, seed)
    return _collection("own", records, fingerprint, notes, limit=limit, seed=seed)


def by_class(records: Iterable[MutationRecord]) -> dict[ClassName, list[MutationRecord]]:
    """The records of each class, classes by number, benign first."""
    found: dict[ClassName, list[MutationRecord]] = defaultdict(list)
    for record in records:
        found[record.class_].append(record)
    return dict(sorted(found.items(), key=lambda item: item[0].number))


def cluster_of(record: MutationRecord) -> str:
    """What a record is resampled and split with: its base trajectory."""
    return record.source_cluster or digest([record.generator, record.original.query])[:16]


def _collection(
    name: str,
    records: Sequence[MutationRecord],
    fingerprint: Mapping[str, str],
    notes: Sequence[str],
    *,
    limit: int | None,
    seed: int,
) -> Collection:
    everything, about_negatives = samples.with_negatives(records)
    kept = [
        record
        for group in by_class(everything).values()
        for record in sorted(
            sorted(group, key=lambda r: digest([seed, r.id]))[:limit], key=lambda r: r.id
        )
    ]
    return Collection(
        name=name,
        records=tuple(kept),
        fingerprint=fingerprint,
        notes=tuple(note for note in (*notes, about_negatives) if note),
    )
