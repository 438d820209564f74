"""A number of samples of each stratum, chosen so that a larger number only adds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from trace.records import Sample, digest


def limited(
    samples: Sequence[Sample], limit: int | None, seed: int, stratum: Callable[[Sample], str]
) -> tuple[Sample, ...]:
    """At most `limit` samples a stratum, in the order given; all of them when it is None."""
    if limit is None:
        return tuple(samples)
    strata: dict[str, list[str]] = defaultdict(list)
    for sample in samples:
        strata[stratum(sample)].append(sample.id)
    kept = {
        id_
        for ids in strata.values()
        for id_ in sorted(ids, key=lambda id_: digest([seed, id_]))[:limit]
    }
    return tuple(sample for sample in samples if sample.id in kept)
