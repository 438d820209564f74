"""From a benchmark's configuration to its samples."""

from __future__ import annotations

from functools import singledispatch

from trace import config
from trace.benchmarks.base import Dataset


@singledispatch
def load(
    settings: config.Benchmark, *, condition: config.Condition, limit: int | None, seed: int
) -> Dataset:
    """Reads or builds the samples of a benchmark.

    Args:
        settings: the benchmark's configuration; its type picks the code.
        condition: says which component is judged, where a benchmark has several.
        limit: samples a stratum; None for all.
        seed: the choice of subsets, and of what a builder draws.

    Raises:
        DataError: the user's file or folder is not what it should be.
    """
    raise TypeError(f"no benchmark reads {type(settings).__name__}")


@load.register
def _(
    settings: config.TraceSafe, *, condition: config.Condition, limit: int | None, seed: int
) -> Dataset:
    from trace.benchmarks.tracesafe import samples

    return samples.load(settings, limit=limit, seed=seed)


@load.register
def _(
    settings: config.RagTruth, *, condition: config.Condition, limit: int | None, seed: int
) -> Dataset:
    from trace.benchmarks.ragtruth import samples

    return samples.load(settings, limit=limit, seed=seed)


@load.register
def _(
    settings: config.RagSafety, *, condition: config.Condition, limit: int | None, seed: int
) -> Dataset:
    from trace.benchmarks.rag_safety import samples

    return samples.of(settings, condition=condition, limit=limit, seed=seed)


@load.register
def _(
    settings: config.Evidence, *, condition: config.Condition, limit: int | None, seed: int
) -> Dataset:
    from trace.benchmarks.evidence import samples

    return samples.load(
        settings,
        part=condition.part,  # type: ignore[arg-type]  # the configuration has checked it
        limit=limit,
        seed=seed,
    )
