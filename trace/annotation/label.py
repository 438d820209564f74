"""What somebody says to a question about an item: a value, and the pieces that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trace.annotation.form import Form
from trace.annotation.item import Answer, Item, read_spans
from trace.records import Json, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A value; and for every passage in which pieces are marked for it, those pieces."""

    value: str
    spans: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, line: Json) -> Label:
        """Reads back what `dataclasses.asdict` made of one."""
        return cls(value=line["value"], spans=read_spans(line["spans"]))


def benchmark_label(item: Item, form: Form, question: str) -> Label | None:
    """What the benchmark says; None where it says nothing."""
    if question not in item.labels:
        return None
    return _label(form, question, item.labels[question], item.spans)


def answered_label(answer: Answer, form: Form, question: str) -> Label | None:
    """What an answer says; None where nothing of it can be used."""
    if silence(answer, question) is not None:
        return None
    usable = {name: s for name, s in answer.spans.items() if name not in answer.problems}
    return _label(form, question, answer.values[question], usable)


def silence(answer: Answer, question: str) -> str | None:
    """Why an answer says nothing to a question, if so: `skipped`, `draft`, or the problem."""
    if answer.standing != "done":
        return answer.standing
    if question in answer.problems:
        return answer.problems[question]
    return None if question in answer.values else "no answer"


def _label(form: Form, question: str, value: str, spans: Mapping[str, tuple[Span, ...]]) -> Label:
    markings = {p.name: p.marking for p in form.passages if p.marking}
    return Label(
        value=value,
        spans={
            name: spans.get(name, ())
            for name, m in markings.items()
            if (m.question, m.value) == (question, value)
        },
    )
