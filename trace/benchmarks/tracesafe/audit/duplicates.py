"""How independent the records of a set are: copies, shared queries and shared base trajectories."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from trace.benchmarks.tracesafe.audit.collection import by_class, cluster_of
from trace.benchmarks.tracesafe.released import MutationRecord
from trace.benchmarks.tracesafe.view import clean
from trace.records import Json, digest


def summary(records: Sequence[MutationRecord]) -> dict[str, Json]:
    """Counts of what is distinct, by class and over `all` records.

    `queries` are those of the originals, `prefixes` the steps of the originals, `views` what a
    judge is shown; `clusters` are base trajectories, `largest` the records of the largest one.
    `shared` counts the clusters that have records of more than one class, and `copies` lists the
    ids of records (a list each) that show a judge exactly the same.
    """
    groups = {class_.name: of_class for class_, of_class in by_class(records).items()}
    classes_of = defaultdict(set)
    same = defaultdict(list)
    for record in records:
        classes_of[cluster_of(record)].add(record.class_.name)
        same[digest(clean(record.trajectory))].append(record.id)
    return {
        "classes": {name: _counts(group) for name, group in groups.items()},
        "all": _counts(records),
        "shared": sum(len(names) > 1 for names in classes_of.values()),
        "copies": sorted(sorted(ids) for ids in same.values() if len(ids) > 1),
    }


def _counts(records: Sequence[MutationRecord]) -> dict[str, Json]:
    clusters = Counter(map(cluster_of, records))
    return {
        "n": len(records),
        "queries": len({record.original.query for record in records}),
        "prefixes": len({_steps(record) for record in records}),
        "views": len({digest(clean(record.trajectory)) for record in records}),
        "clusters": len(clusters),
        "largest": max(clusters.values(), default=0),
    }


def _steps(record: MutationRecord) -> str:
    return digest([step.to_json() for step in record.original.steps])
