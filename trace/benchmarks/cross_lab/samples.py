"""Which items are asked, and what the respondent is asked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trace import config
from trace.benchmarks.cross_lab.items import LICENCE, Item, ItemSet, Wording, read_items
from trace.benchmarks.cross_lab.rubric import CORE, Rubrics, read_rubrics, rubric_of
from trace.errors import DataError
from trace.records import Request, Sampling, digest
from trace.report.grid import many


@dataclass(frozen=True, slots=True, kw_only=True)
class Agenda:
    """The items of a run and their rubrics. `fingerprint` maps file names to their sha256.

    `items` are judged. `main` are those of the main arm, from which a smaller arm draws: what the
    respondent said there decides what is judged afresh here.
    """

    items: tuple[Item, ...]
    main: tuple[Item, ...]
    rubrics: Rubrics
    fingerprint: Mapping[str, str]
    licence: str
    notes: tuple[str, ...]


def agenda(benchmark: config.CrossLab, *, limit: int | None, seed: int) -> Agenda:
    """What is asked, in the order of the files.

    Which items are chosen depends on their ids and the seed alone: every model gets the same ones
    in both conditions.

    Args:
        benchmark: names the files and the arm.
        limit: items a category; all when None.
        seed: chooses them.

    Raises:
        DataError: a file is not as it should be, or a category has no rubric.
    """
    read, rubrics = read_items(benchmark.path), read_rubrics(benchmark.rubrics)
    for item in read.items:
        rubric_of(rubrics, item.category, f"item {item.id}")
    items = main = _chosen(read, limit, seed)
    notes = list(read.notes)
    if benchmark.arm != "main":
        core = [item for item in items if item.category in CORE]
        items = _of_each(core, benchmark.per_cell, seed)
        notes.append(f"{benchmark.arm}: {many(len(items), 'core item')} are judged afresh.")
        if not items:
            raise DataError(
                f"benchmark.arm={benchmark.arm}: no item is of a core category ({', '.join(CORE)})."
            )
    if rubrics.status != "frozen":
        notes.append(
            f"The rubrics are {rubrics.status}: their labels were not made from the answers of "
            "these models (docs/cross_lab.md)."
        )
    return Agenda(
        items=tuple(items),
        main=tuple(main),
        rubrics=rubrics,
        fingerprint={**read.fingerprint, **rubrics.fingerprint},
        licence=LICENCE if benchmark.path is None else "that of benchmark.path",
        notes=tuple(notes),
    )


def questions(
    items: Sequence[Item], wording: Wording, sampling: Sampling, epochs: int
) -> list[Request]:
    """One user message an item and epoch: the text as it stands, `epochs` times in a row."""
    return [
        Request(
            messages=({"role": "user", "content": item.prompt(wording)},),
            sampling=sampling,
            epoch=epoch,
            sample=item.id,
        )
        for item in items
        for epoch in range(epochs)
    ]


def longer(requests: Sequence[Request], factor: float) -> list[Request]:
    """The same requests with `factor` times the tokens."""
    return [
        replace(
            one,
            sampling=replace(
                one.sampling, max_new_tokens=round(factor * one.sampling.max_new_tokens)
            ),
        )
        for one in requests
    ]


def _chosen(read: ItemSet, limit: int | None, seed: int) -> list[Item]:
    return list(read.items) if limit is None else _of_each(read.items, limit, seed)


def _of_each(items: Sequence[Item], number: int, seed: int) -> list[Item]:
    """At most `number` items of each category, in the order given."""
    kept: set[str] = set()
    for category in {item.category for item in items}:
        ids = [item.id for item in items if item.category == category]
        kept.update(sorted(ids, key=lambda id_: digest([seed, id_]))[:number])
    return [item for item in items if item.id in kept]
