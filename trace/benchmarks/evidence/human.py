"""Triples for people: to label anew at random, or to decide what the models left open."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from trace import config
from trace.annotation.item import Item
from trace.annotation.study import HumanStudy
from trace.benchmarks.evidence import card
from trace.benchmarks.evidence.human_form import forms, listed
from trace.benchmarks.evidence.human_merge import merged
from trace.benchmarks.evidence.samples import TERMS, read
from trace.benchmarks.evidence.triple import COMPONENTS, Triple
from trace.benchmarks.evidence.waiting import Waiting, read_queue
from trace.errors import ConfigError, DataError

QUEUE = "queue.jsonl"


def study(settings: config.Evidence, *, queue: bool) -> HumanStudy:
    """What people are asked about a set: its frozen triples, or with `queue` those that wait.

    Args:
        settings: where the set is; the bundled one without a path.
        queue: the items are the lines of queue.jsonl in its folder.

    Raises:
        ConfigError: nothing waits in it with `queue`, or nothing is frozen without.
        DataError: a file is missing, or not what a build writes; with the line.
    """
    path = None if settings.path is None else Path(settings.path).expanduser()
    waiting, fingerprint = _waiting(path)
    if queue and not waiting:
        where = "the bundled set" if path is None else path
        raise ConfigError(
            f"benchmark.path: nothing waits for people in {where}. The folder of a build has a "
            f"{QUEUE} where anything does; annotate.select=random labels frozen triples anew."
        )
    if waiting and path is not None and not (path / "dataset.jsonl").is_file():
        if not queue:
            raise ConfigError(
                f"annotate.select: random labels frozen triples anew, and {path} has none. Type "
                "annotate.select=queue for those that wait."
            )
        triples: dict[str, Triple] = {}  # a build that could freeze nothing
    else:
        triples, sums = read(path)
        fingerprint = sums | fingerprint
    if twice := triples.keys() & {one.triple.id for one in waiting}:
        raise DataError(
            f"{path}: {min(twice)} is frozen, and waits in {QUEUE}. Remove one of them."
        )
    asked = map(waiting_item, waiting) if queue else map(item, triples.values())
    return HumanStudy(
        name="evidence",
        forms=forms(),
        items=tuple(asked),
        fingerprint=fingerprint,
        merge=partial(merged, tuple(triples.values()), waiting),
        terms=f"{TERMS}. {card.TERMS}",
    )


def item(triple: Triple) -> Item:
    """A frozen triple.

    Its stratum is the labels of its three texts with the language, so that a draw keeps the shares
    of safe and unsafe of every component.
    """
    return waiting_item(Waiting(triple=triple, open={}))


def waiting_item(one: Waiting) -> Item:
    """A triple of which something is open; the benchmark says nothing of that."""
    triple = one.triple
    labels = {str(c): str(label.safety) for c, label in triple.labels.items()}
    names = {"attack": triple.attack, "category": triple.category}
    named = {q: listed(q, name) for q, name in names.items() if q not in one.open}
    pattern = "/".join(labels.get(component, "open") for component in COMPONENTS)
    return Item(
        id=triple.id,
        form=triple.language,
        texts={component: triple.text(component) for component in COMPONENTS},
        labels=named | labels,
        stratum=f"{pattern}, {triple.language}",
        cluster=triple.prompt_id,
        spans={c: label.evidence for c, label in triple.labels.items() if label.safety == "unsafe"},
    )


def _waiting(path: Path | None) -> tuple[list[Waiting], dict[str, str]]:
    if path is None or not (path / QUEUE).is_file():
        return [], {}
    waiting, sha256 = read_queue(path / QUEUE)
    return waiting, {QUEUE: sha256}
