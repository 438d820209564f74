"""Base trajectories from a file in the released format."""

from __future__ import annotations

from pathlib import Path

from trace.benchmarks.tracesafe import released
from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.records import digest


def bases_of_file(path: Path) -> tuple[tuple[BaseTrajectory, ...], dict[str, str]]:
    """The base trajectories of a file or folder, and the fingerprint of it.

    Bare trajectories are taken as they are, and of mutation records the original. Trajectories
    with the same query share a cluster: models that were asked the same are no independent
    sources.

    Raises:
        DataError: it cannot be read.
    """
    read = released.read(path)
    found: dict[str, BaseTrajectory] = {}
    for record in read.records:
        task = digest(record.original.to_json())[:16]
        cluster = record.source_cluster or digest(record.original.query)[:16]
        found.setdefault(
            task, BaseTrajectory(task=task, cluster=cluster, trajectory=record.original)
        )
    return tuple(found.values()), dict(read.fingerprint)
