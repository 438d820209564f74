"""Made-up annotations, with what is planted in them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from trace.annotation.assign import Assignment, assigned
from trace.annotation.decide import decided
from trace.annotation.form import Form, Marking, Option, Passage, Question
from trace.annotation.item import Answer, Item, Lost
from trace.records import Json, Span
from trace.report.annotated import measure_annotation

TEXT = "one two three four five six seven eight"
WHOLE = (Span(start=0, end=len(TEXT), text=TEXT),)


def form(name: str = "en", values: Sequence[str] = ("safe", "unsafe"), marked: str = "") -> Form:
    question = Question(
        name="safety", title="Safety", options=tuple(Option(value=v, shown=v) for v in values)
    )
    marking = Marking(shown="Evidence", question="safety", value=marked) if marked else None
    passage = Passage(name="text", title="Text", questions=(question,), marking=marking)
    return Form(study="made", name=name, title="t", language="en", passages=(passage,))


def item(
    id_: str, label: str | None = None, *, cluster: str = "", stratum: str = "s", **more: Any
) -> Item:
    made: dict[str, Any] = {
        "form": "en",
        "texts": {"text": TEXT},
        "labels": {} if label is None else {"safety": label},
    }
    return Item(id=id_, stratum=stratum, cluster=cluster or id_, **(made | more))


def answer(who: str, id_: str, label: str | None = None, **more: Any) -> Answer:
    made: dict[str, Any] = {
        "standing": "done" if label is not None else "skipped",
        "values": {} if label is None else {"safety": label},
    }
    return Answer(annotator=who, item=id_, at="2026-01-01T00:00:00Z", **(made | more))


def words(*numbers: int) -> tuple[Span, ...]:
    """Words of the text, each as a piece; the first is 0."""
    found, at = [], 0
    for i, word in enumerate(TEXT.split()):
        if i in numbers:
            found.append(Span(start=at, end=at + len(word), text=word))
        at += len(word) + 1
    return tuple(found)


def measure(
    items: Sequence[Item],
    answers: Sequence[Answer],
    *,
    forms: Mapping[str, Form] | None = None,
    assignments: Sequence[Assignment] | None = None,
    second: Sequence[Answer] = (),
    lost: Mapping[str, Lost] | None = None,
    draws: int = 50,
) -> dict[str, Json]:
    """Decides and measures; everybody who answered anything was given everything."""
    forms = forms or {"en": form()}
    people = sorted({a.annotator for a in answers}) or ["A"]
    if assignments is None:
        assignments = assigned(items, people, 1, 0)
    decisions = decided(items, forms, answers, second)
    return measure_annotation(
        items, forms, assignments, answers, decisions, lost or {}, draws=draws, seed=0
    )


def reannotated(
    n: int, kappa: float, unsafe: float, seed: int, *, per_cluster: int = 1
) -> tuple[list[Item], list[Answer]]:
    """A benchmark and one person, whose kappa is `kappa` in the long run.

    With this probability the person says what the benchmark does, else either label by its
    frequency, so that both have the same frequencies and all agreement beyond chance is copied. The
    items of a cluster share their label and its copying.
    """
    rng = random.Random(seed)

    def draw() -> str:
        return "unsafe" if rng.random() < unsafe else "safe"

    items, answers = [], []
    for start in range(0, n, per_cluster):
        gold = draw()
        said = gold if rng.random() < kappa else draw()
        for i in range(start, min(start + per_cluster, n)):
            items.append(item(f"i{i}", gold, cluster=f"c{start}"))
            answers.append(answer("A", f"i{i}", said))
    return items, answers
