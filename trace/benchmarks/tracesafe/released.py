"""Mutation records in the released format, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trace.benchmarks.released_files import RawRecord, data_files, read_file
from trace.benchmarks.tracesafe.names import (
    BENIGN,
    CLASSES,
    ClassName,
    resolve,
    resolve_domain,
)
from trace.benchmarks.tracesafe.trajectory import Trajectory, maybe, need
from trace.config import nearest
from trace.errors import DataError
from trace.records import Json, digest

Kind = Literal["mutant", "benign", "decoy", "seed", "original"]
DECOY = "decoy"
"""The `golden_meta.type` of our benign records that only look risky."""
_BENIGN_TYPES = ("pure_benign", "benign_copy", DECOY)


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationRecord:
    """A record: what was changed, into what, and what is known about it.

    `kind` is decoy for a benign record of ours that only looks risky, seed for a bare trace object,
    which is benign and was not cut, and original for the unchanged side of a mutant used as a
    benign sample. `generator` is the model that made the base trajectory. `id`, `risky_step` and
    `source_cluster` are not released; records that we build have them.
    """

    kind: Kind
    class_: ClassName
    original: Trajectory
    trajectory: Trajectory
    generator: str
    target_tool: str = ""
    internal_meta: Mapping[str, Json]
    rationale: str = ""
    id: str
    risky_step: int | None = None
    source_cluster: str | None = None
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The records of a path, in the order of the files, and each file's sha256."""

    records: tuple[MutationRecord, ...]
    fingerprint: Mapping[str, str]


def read(path: Path) -> Released:
    """Reads a file or a folder in the released format. No record is left out.

    Raises:
        DataError: see `data_files`, `read_file` and `parse`; or two records are the same.
    """
    records: list[MutationRecord] = []
    raw: list[RawRecord] = []
    fingerprint = {}
    for file in data_files(path):
        found, fingerprint[file.name] = read_file(file)
        raw += found
        records += map(parse, found)
    _refuse_same_ids(raw, records)
    return Released(records=tuple(records), fingerprint=fingerprint)


def parse(raw: RawRecord) -> MutationRecord:
    """Checks one record.

    Raises:
        DataError: a required field is missing or wrong, or the class is unknown or contradicted.
    """
    value, at = raw.value, f"{raw.place}: record"
    mutated = any(key.startswith("mutation_") for key in value)
    if "new_trace" not in value and "trace" in value and not mutated:
        return _seed(value, raw.place)
    trajectory = Trajectory.from_json(need(value, "new_trace", dict, at), f"{at}.new_trace")
    category = need(value, "mutation_category", str, at)
    metadata = need(value, "mutation_metadata", dict, at)
    golden = maybe(value, "golden_meta", dict, at) or {}
    class_ = _class(category, metadata, golden, raw)
    benign = class_ is BENIGN
    if "original_trace" in value or not benign:
        original = Trajectory.from_json(
            need(value, "original_trace", dict, at), f"{at}.original_trace"
        )
    else:
        original = trajectory
    read_text = maybe if benign else need
    target = read_text(metadata, "target_tool", str, f"{at}.mutation_metadata") or ""
    generator = str(
        golden.get("source_model") or metadata.get("model_name") or trajectory.agent_model
    )
    return MutationRecord(
        kind=_kind(benign, golden),
        class_=class_,
        original=original,
        trajectory=trajectory,
        generator=generator,
        target_tool=target,
        internal_meta=maybe(metadata, "internal_meta", dict, f"{at}.mutation_metadata") or {},
        rationale=maybe(metadata, "rationale", str, f"{at}.mutation_metadata") or "",
        id=maybe(value, "id", str, at) or record_id(generator, class_.name, target, trajectory),
        risky_step=_risky_step(value, trajectory, at),
        source_cluster=maybe(value, "source_cluster", str, at),
        place=raw.place,
    )


def record_id(generator: str, class_name: str, target_tool: str, new: Trajectory) -> str:
    """16 hexadecimal digits made of the content alone: the released data have no id."""
    return digest([generator, new.query, class_name, target_tool, new.to_json()])[:16]


def _kind(benign: bool, golden: Mapping[str, Json]) -> Kind:
    if not benign:
        return "mutant"
    return "decoy" if golden.get("type") == DECOY else "benign"


def _seed(value: dict[str, Json], place: str) -> MutationRecord:
    trajectory = Trajectory.from_json(value, f"{place}: record")
    return MutationRecord(
        kind="seed",
        class_=BENIGN,
        original=trajectory,
        trajectory=trajectory,
        generator=trajectory.agent_model,
        internal_meta={},
        id=maybe(value, "id", str, f"{place}: record")
        or record_id(trajectory.agent_model, BENIGN.name, "", trajectory),
        place=place,
    )


def _class(
    category: str, metadata: Mapping[str, Json], golden: Mapping[str, Json], raw: RawRecord
) -> ClassName:
    domain = resolve_domain(category)
    benign = resolve(category) is BENIGN
    if domain is None and not benign:
        raise DataError(
            f"{raw.place}: record.mutation_category: {category!r} is no domain of TraceSafe."
        )
    if golden.get("type") in _BENIGN_TYPES:
        return BENIGN  # a benign copy keeps the other names of the record it was copied from
    named = {
        where: value
        for where, value in (
            ("mutation_category", category if benign else None),
            ("golden_meta.category", golden.get("category")),
            ("mutation_metadata.mutator_name", metadata.get("mutator_name")),
        )
        if isinstance(value, str | int) and not isinstance(value, bool)
    }
    if not named and resolve(raw.stem):
        named = {"file name": raw.stem}
    if not named:
        raise DataError(
            f"{raw.place}: record.mutation_metadata.mutator_name: this required field is missing."
        )
    found = {where: _known(value, f"{raw.place}: {where}") for where, value in named.items()}
    if len({row.name for row in found.values()}) > 1:
        both = " but ".join(f"{where} says {row.name}" for where, row in found.items())
        raise DataError(f"{raw.place}: {both}.")
    row = next(iter(found.values()))
    if row is BENIGN and golden.get("type") is not None:
        raise DataError(
            f"{raw.place}: golden_meta.type says {golden['type']}, but the record is named benign."
        )
    if row is not BENIGN and domain is not None and row.domain != domain.name:
        raise DataError(
            f"{raw.place}: mutation_category says {category}, but {row.name} belongs to "
            f"{row.domain}."
        )
    return row


def _known(value: str | int, where: str) -> ClassName:
    if row := resolve(value):
        return row
    choices = [row.name for row in (BENIGN, *CLASSES)]
    raise DataError(f"{where}: {value!r} is no class of TraceSafe{nearest(str(value), choices)}")


def _risky_step(value: Mapping[str, Json], trajectory: Trajectory, at: str) -> int | None:
    if value.get("risky_step") is None:
        return None
    step = value["risky_step"]
    if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step < len(trajectory.steps):
        raise DataError(
            f"{at}.risky_step: {step!r} is no index of the trace, which has "
            f"{len(trajectory.steps)} steps."
        )
    return step


def _refuse_same_ids(raw: Sequence[RawRecord], records: Sequence[MutationRecord]) -> None:
    first: dict[str, RawRecord] = {}
    for this, record in zip(raw, records, strict=True):
        other = first.setdefault(record.id, this)
        if other is this:
            continue
        if other.value == this.value:
            raise DataError(
                f"{this.place}: the same record as {other.place}. Remove one of the two; a copy "
                f"counts twice."
            )
        raise DataError(
            f"{this.place}: has the id {record.id}, as has {other.place}. Ids must differ; a "
            f"record without one gets it from its model, query, class, tool and trace."
        )
