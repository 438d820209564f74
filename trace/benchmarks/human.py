"""From a configuration to what people are asked about a benchmark."""

from __future__ import annotations

from functools import singledispatch
from pathlib import Path

from trace import config
from trace.annotation.study import HumanStudy
from trace.errors import ConfigError


def study(settings: config.Root, *, select: str) -> HumanStudy:
    """What people are asked about the items that `select` names.

    Args:
        settings: which benchmark, or which form over which file.
        select: random or queue.

    Raises:
        ConfigError: there is nothing of that kind to label.
        DataError: the user's file or folder is not what it should be.
    """
    form, source = settings.annotate.form, settings.annotate.source
    if form is None or source is None:
        return of_benchmark(settings.benchmark, select=select, seed=settings.seed)
    if select == "queue":
        raise ConfigError(
            f"annotate.select: queue is that of a build, and {source} has none. Leave it out."
        )
    path = Path(source).expanduser()
    if form == "cross_lab":
        from trace.benchmarks.cross_lab import human as cross_lab

        return cross_lab.study(path)
    from trace.benchmarks.rag_safety import human as rag_safety

    return rag_safety.study(path, form)


@singledispatch
def of_benchmark(settings: config.Benchmark, *, select: str, seed: int) -> HumanStudy:
    """The study that asks about a benchmark's own items; its configuration's type picks it."""
    raise ConfigError(
        f"benchmark: people are asked nothing about {settings.name}. Choose evidence or tracesafe, "
        "or name a form and a file: annotate.form=rag_answer annotate.source=FILE.jsonl."
    )


@of_benchmark.register
def _(settings: config.Evidence, *, select: str, seed: int) -> HumanStudy:
    from trace.benchmarks.evidence import human

    return human.study(settings, queue=select == "queue")


@of_benchmark.register
def _(settings: config.TraceSafe, *, select: str, seed: int) -> HumanStudy:
    from trace.benchmarks.tracesafe import human

    if select == "queue":
        raise ConfigError(
            "annotate.select: queue is that of a build of evidence, and tracesafe has none. "
            "Leave it out: ten records a class are spot-checked."
        )
    return human.study(settings, seed=seed)
