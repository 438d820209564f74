"""What came of a task in Label Studio, as the one answer that counts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from trace.annotation.form import Form, Question
from trace.annotation.item import Answer, Item
from trace.annotation.markup import COMMENT, literal, marker_name, passage_name, question_name
from trace.annotation.task import task as sent
from trace.errors import DataError
from trace.records import Json, Span, united

# Label Studio writes a line end inside a piece as a backslash and an n, two of them for CR LF.
_LINE_END: Final = re.compile(r"(?:\r|\n|\\n)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What came of a task: an answer, or None while nobody has begun.

    `aside` are the annotations that do not count, since a later one is there.
    """

    answer: Answer | None
    aside: int = 0


def returned(task: Json, item: Item, form: Form, annotator: str) -> Returned:
    """Reads the annotations of a task.

    The latest that was submitted or skipped counts; a draft only where there is none. Of skipped
    and half-done work nothing is read but the comment. A value or a marking that cannot be used
    stands in `problems`: for a question `no answer`, `two values` or `not a value of the form`,
    for a passage `not in the text`, `<value>, with pieces marked` or `<value>, with nothing
    marked`. Pieces that overlap or touch are one.

    Args:
        task: with `data`, `annotations` and `drafts`, as the server gives it.
        item: what was sent.
        form: how it was asked about.
        annotator: the pseudonym.

    Raises:
        DataError: The task's texts are not those that were sent, or its results have a name that
            the form does not give: somebody edited the data or the labelling configuration.
    """
    if any(task["data"].get(key) != text for key, text in sent(item, form)["data"].items()):
        raise DataError(
            f"task {task['id']} of {annotator}: its texts are not those of item {item.id} as they "
            "were exported. Export again and annotate in the projects of that export."
        )
    finished, drafts = task["annotations"], task["drafts"]
    if not finished and not drafts:
        return Returned(answer=None)
    last = max(finished or drafts, key=lambda a: datetime.fromisoformat(a["updated_at"]))
    results = _by_name(last["result"], f"task {task['id']} of {annotator}", form)
    done = bool(finished) and not last["was_cancelled"]
    values, unanswered = _values(results, form) if done else ({}, {})
    spans, unusable = _spans(results, form, values, item)
    return Returned(
        answer=Answer(
            item=item.id,
            annotator=annotator,
            standing="done" if done else "skipped" if finished else "draft",
            at=last["updated_at"],
            values=values,
            spans=spans,
            comment="\n".join(line for value in results[COMMENT] for line in value.get("text", ())),
            problems=unanswered | unusable,
        ),
        aside=max(len(finished) - 1, 0),
    )


def _by_name(results: Iterable[Json], at: str, form: Form) -> Mapping[str, list[Json]]:
    """The values of the results by the name of what gave them."""
    asked = dict(_asked(form))
    grouped = defaultdict(list)
    for result in results:
        # A relation joins two marked pieces: the page offers it, and no form asks for it.
        if result.get("type") == "relation":
            continue
        name, about = result.get("from_name"), result.get("to_name")
        if asked.get(name) != (about, result.get("type")):
            raise DataError(
                f"{at}: it has an answer {name!r} about {about!r}, which form {form.name} of "
                f"{form.study} does not ask for: the labelling configuration of the project was "
                "edited meanwhile. Delete that annotation in the browser and have the task "
                f"answered again, under the configuration in {form.name}.xml of the export."
            )
        grouped[name].append(result["value"])
    return grouped


def _asked(form: Form) -> Iterator[tuple[str, tuple[str, str]]]:
    """The names in the form's markup, what each is about, and the type of its results."""
    yield COMMENT, (passage_name(form.passages[0]), "textarea")
    for passage in form.passages:
        if passage.marking is not None:
            yield marker_name(passage), (passage_name(passage), "labels")
        for question in passage.questions:
            yield question_name(question), (passage_name(passage), "choices")


def _values(results: Mapping[str, list[Json]], form: Form) -> tuple[dict[str, str], dict[str, str]]:
    """Question -> value, and question -> why it has none."""
    values, problems = {}, {}
    for question in form.questions:
        given = [v for r in results[question_name(question)] for v in r.get("choices", ())]
        value, problem = _value(given, question)
        if value is None:
            problems[question.name] = problem
        else:
            values[question.name] = value
    return values, problems


def _value(given: Sequence[str], question: Question) -> tuple[str | None, str]:
    if len(given) != 1:
        return None, "two values" if given else "no answer"
    stored = {literal(option.value): option.value for option in question.options}
    return stored.get(given[0]), "not a value of the form"


def _spans(
    results: Mapping[str, list[Json]], form: Form, values: Mapping[str, str], item: Item
) -> tuple[dict[str, tuple[Span, ...]], dict[str, str]]:
    """Passage -> pieces, and passage -> why its pieces cannot be used."""
    spans, problems = {}, {}
    for passage in form.passages:
        # Without an answer nobody knows whether pieces belong there.
        if passage.marking is None or passage.marking.question not in values:
            continue
        value, source = values[passage.marking.question], item.texts[passage.name]
        pieces = [_piece(piece, source) for piece in results[marker_name(passage)]]
        if value != passage.marking.value:
            if pieces:
                problems[passage.name] = f"{value}, with pieces marked"
        elif not pieces:
            problems[passage.name] = f"{value}, with nothing marked"
        elif None in pieces:
            problems[passage.name] = "not in the text"
        else:
            spans[passage.name] = united((piece for piece in pieces if piece), source)
    return spans, problems


def _piece(piece: Json, source: str) -> Span | None:
    """A marked piece; None where the source does not have its text there."""
    start, end, text = piece.get("start"), piece.get("end"), piece.get("text")
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(text, str)):
        return None
    if not 0 <= start < end <= len(source) or _folded(source[start:end]) != _folded(text):
        return None
    return Span(start=start, end=end, text=source[start:end])


def _folded(text: str) -> str:
    return _LINE_END.sub("\n", text)
