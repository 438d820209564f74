"""A question put to people about many items: who was given which, and what each of them says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from trace.annotation.assign import Assignment
from trace.annotation.decide import Decision
from trace.annotation.form import Form, Question
from trace.annotation.item import Answer, Item
from trace.annotation.label import Label, answered_label, benchmark_label

_Kind: TypeAlias = tuple[tuple[str, ...], frozenset[str]]
"""The values of a question, and those that pieces are marked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question about one item.

    `people` are those who were given it, with their label; None where there is none.
    """

    item: Item
    people: Mapping[str, Label | None]
    decision: Decision
    benchmark: Label | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A question, its possible values, those that pieces are marked for, and all it was put to."""

    name: str
    values: tuple[str, ...]
    marked: frozenset[str]
    asked: tuple[Asked, ...]

    def by_stratum(self) -> dict[str, list[Asked]]:
        """Stratum -> what was asked in it, by name."""
        strata: dict[str, list[Asked]] = defaultdict(list)
        for one in self.asked:
            strata[one.item.stratum].append(one)
        return dict(sorted(strata.items()))


def inquiries(
    items: Sequence[Item],
    forms: Mapping[str, Form],
    assignments: Iterable[Assignment],
    answers: Iterable[Answer],
    decisions: Iterable[Decision],
) -> list[Inquiry]:
    """Sorts everything by question.

    Questions of the same name are one inquiry, as those of a form in two languages are. Where
    their values differ they are different questions, and are named `form.question`.

    Args:
        items: what was given out.
        forms: name -> form.
        assignments: who was given what.
        answers: those of the annotators.
        decisions: one for each question and item.

    Raises:
        ValueError: somebody answered what they were not given.
    """
    answered = {(a.annotator, a.item): a for a in answers}
    given: dict[str, list[str]] = defaultdict(list)
    for assignment in assignments:
        for id_ in assignment.items:
            given[id_].append(assignment.annotator)
    if strange := answered.keys() - {(who, id_) for id_, people in given.items() for who in people}:
        raise ValueError(f"answered without having been given: {sorted(strange)}")
    decided = {(d.item, d.question): d for d in decisions}

    def asked(item: Item, question: str) -> Asked:
        form = forms[item.form]
        people = {who: answered.get((who, item.id)) for who in given[item.id]}
        return Asked(
            item=item,
            people={
                who: answered_label(a, form, question) if a else None for who, a in people.items()
            },
            decision=decided[item.id, question],
            benchmark=benchmark_label(item, form, question),
        )

    found = []
    for name, places in _places(forms).items():
        form, question = places[0]
        rows = [asked(item, q.name) for item in items for f, q in places if forms[item.form] is f]
        values, marked = _kind(form, question)
        if rows:
            found.append(Inquiry(name=name, values=values, marked=marked, asked=tuple(rows)))
    return found


def _places(forms: Mapping[str, Form]) -> dict[str, list[tuple[Form, Question]]]:
    """Name of an inquiry -> the questions that are put in it."""
    places = [(form, question) for form in forms.values() for question in form.questions]
    kinds: dict[str, set[_Kind]] = defaultdict(set)
    for form, question in places:
        kinds[question.name].add(_kind(form, question))
    found: dict[str, list[tuple[Form, Question]]] = defaultdict(list)
    for form, question in places:
        own = len(kinds[question.name]) > 1
        found[f"{form.name}.{question.name}" if own else question.name].append((form, question))
    return found


def _kind(form: Form, question: Question) -> _Kind:
    markings = [p.marking for p in form.passages if p.marking]
    return (
        tuple(option.value for option in question.options),
        frozenset(m.value for m in markings if m.question == question.name),
    )
