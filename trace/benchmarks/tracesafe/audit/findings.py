"""Everything the audit finds out about one set."""

from __future__ import annotations

from collections import Counter

from trace.benchmarks.tracesafe.audit import (
    doubts,
    duplicates,
    lengths,
    ngrams,
    phrases,
    structure,
    validity,
    visibility,
)
from trace.benchmarks.tracesafe.audit.collection import Collection, by_class
from trace.benchmarks.tracesafe.audit.criteria import criteria
from trace.benchmarks.tracesafe.audit.probing import probe_classes
from trace.records import Json


def findings(collection: Collection, *, view: str, draws: int, seed: int) -> dict[str, Json]:
    """All parts of the audit as JSON; a function of the records and the arguments alone.

    Args:
        collection: the set.
        view: what judges get, for the visibility certificate.
        draws: resamples of each interval.
        seed: folds, classifiers and resampling.
    """
    found: dict[str, Json] = {
        "records": len(collection.records),
        "kinds": dict(sorted(Counter(record.kind for record in collection.records).items())),
        "notes": list(collection.notes),
        "data": dict(collection.fingerprint),
        "structure": probe_classes(
            collection,
            lambda record: structure.features(record.trajectory),
            structure.model,
            draws=draws,
            seed=seed,
        ),
        "phrases": phrases.worst(collection),
        "ngrams": ngrams.probe_templates(collection, draws=draws, seed=seed),
        "visibility": visibility.certificate(collection.mutants, view),
        "doubts": doubts.find(collection.mutants),
        "duplicates": duplicates.summary(collection.records),
        "validity": {
            class_.name: validity.summary(records)
            for class_, records in by_class(collection.records).items()
        },
        "lengths": lengths.summary(collection.records),
    }
    return found | {"criteria": criteria(found)}
