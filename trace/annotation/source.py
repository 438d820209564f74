"""A JSONL file of what people are asked about, made elsewhere: read strictly, and labelled."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trace.annotation.decide import Decision
from trace.annotation.form import Form
from trace.annotation.item import Item
from trace.annotation.study import Merged
from trace.config import nearest
from trace.errors import DataError
from trace.records import Json, digest
from trace.tracking.files import numbered_jsonl

FILE = "merged.jsonl"
_OPTIONAL = ("labels", "stratum", "cluster", "meta", "human")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An object of the file, and its place for messages."""

    value: Mapping[str, Json]
    at: str

    def text(self, name: str, default: str = "") -> str:
        """The text of a field that may be absent."""
        text: str = self.value.get(name, default)
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The lines of a file, and the sha256 of its bytes by its name."""

    lines: tuple[Line, ...]
    fingerprint: Mapping[str, str]


def read_source(path: Path, required: Mapping[str, str], *, others: Sequence[str] = ()) -> Source:
    """Reads a file of what people are asked about.

    Beside the fields that the study names a line may have `labels` (question -> value: what a model
    or a benchmark says, which nobody is shown), `stratum`, `cluster`, and `meta` (an object for
    whatever else is to be kept with the line, likewise not shown).

    Args:
        path: the file.
        required: text fields that every line must have -> what they hold, for the message. `id` is
            one of them always.
        others: further fields that a line may have, of any kind.

    Raises:
        DataError: the file cannot be read or is empty, or a line is not as above; with its number,
            and with what to write.
    """
    required = {"id": "a name of its own"} | dict(required)
    known = [*required, *others, *_OPTIONAL]
    lines: list[Line] = []
    seen: dict[str, int] = {}
    for number, value in numbered_jsonl(path):
        at = f"annotate.source: {path}, line {number}"
        _check(value, at, required, known)
        if (first := seen.setdefault(value["id"], number)) != number:
            raise DataError(
                f"{at}: id: {value['id']!r} stands on line {first} already. Each line needs an id "
                "of its own, such as the question's with the model's name."
            )
        lines.append(Line(value=value, at=at))
    if not lines:
        raise DataError(f"annotate.source: {path} is empty. {_wanted(required)}")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Source(lines=tuple(lines), fingerprint={path.name: sha256})


def item_of(
    line: Line, form: Form, *, stratum: str, cluster: str, elsewhere: Collection[str] = ()
) -> Item:
    """The item of a line: the form's passages from the fields of the same names.

    Args:
        line: has a text field for every passage.
        form: how it is asked about.
        stratum: where the line has none of its own.
        cluster: what it shares with lines of the same source; likewise.
        elsewhere: questions of other forms about the same file, whose labels are left alone.

    Raises:
        DataError: its labels are none of the form's.
    """
    questions = {question.name: question for question in form.questions}
    labels = {
        name: value
        for name, value in line.value.get("labels", {}).items()
        if name in questions or name not in elsewhere
    }
    for name, value in labels.items():
        if name not in questions:
            raise DataError(
                f"{line.at}: labels: {name!r} is no question of this form"
                f"{nearest(name, list(questions))} They are {', '.join(questions)}."
            )
        options = [option.value for option in questions[name].options]
        if value not in options:
            raise DataError(
                f"{line.at}: labels: {name}: {value!r} is none of its answers. Write "
                f"{' or '.join(options)}."
            )
    return Item(
        id=line.value["id"],
        form=form.name,
        texts={passage.name: line.value[passage.name] for passage in form.passages},
        labels=labels,
        stratum=line.text("stratum", stratum),
        cluster=line.text("cluster", digest(cluster)[:16]),
    )


def merged(source: Source, decisions: Sequence[Decision]) -> Merged:
    """The lines with people's labels in place of their own: `merged.jsonl`.

    What people left open keeps its label. `human` says of each question who decided it, when and
    how, and what that replaced.

    Raises:
        DataError: a decision is about none of the lines.
    """
    said: dict[str, list[Decision]] = defaultdict(list)
    for decision in decisions:
        said[decision.item].append(decision)
    if unknown := said.keys() - {line.value["id"] for line in source.lines}:
        raise DataError(
            f"annotate.source: {len(unknown)} of the items are no lines of this file, "
            f"{min(unknown)} for one. Give the file that was exported."
        )
    outcomes = Counter[str]()
    lines = []
    for line in source.lines:
        labels = dict(line.value.get("labels", {}))
        human = dict(line.value.get("human", {}))
        for one in said[line.value["id"]]:
            old = labels.get(one.question)
            if one.label is None:
                outcomes["undecided"] += 1
                continue
            same = old == one.label.value
            outcomes["closed" if old is None else "confirmed" if same else "replaced"] += 1
            labels[one.question] = one.label.value
            human[one.question] = {
                "by": list(one.by), "at": one.at, "how": one.how, "replaced": old
            }  # fmt: skip
        added = {name: value for name, value in (("labels", labels), ("human", human)) if value}
        lines.append({**line.value, **added})
    return Merged(
        files={FILE: lines}, counts={"lines": len(lines), **dict(sorted(outcomes.items()))}
    )


def _check(value: Json, at: str, required: Mapping[str, str], known: Sequence[str]) -> None:
    if not isinstance(value, dict):
        raise DataError(f"{at}: should be an object. {_wanted(required)}")
    for name, holds in required.items():
        text = value.get(name)
        if not isinstance(text, str) or not text.strip():
            wrong = "is missing" if name not in value else "should be text that is not empty"
            raise DataError(f'{at}: {name}: {wrong}. Write "{name}": "..." ({holds}).')
    for name in value:
        if name not in known:
            raise DataError(
                f"{at}: {name}: no field has this name{nearest(name, list(known))} What else is to "
                'be kept with the line belongs in "meta": {...}.'
            )
    for name in ("stratum", "cluster"):
        if not isinstance(value.get(name, ""), str):
            raise DataError(f'{at}: {name}: should be text. Write "{name}": "...".')
    for name in ("labels", "meta", "human"):
        if not isinstance(value.get(name, {}), dict):
            raise DataError(f'{at}: {name}: should be an object. Write "{name}": {{...}}.')


def _wanted(required: Mapping[str, str]) -> str:
    example = ", ".join(f'"{name}": "..."' for name in required)
    return f"Write one object a line: {{{example}}}."
