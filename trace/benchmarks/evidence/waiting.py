"""A line of a build's queue.jsonl: a triple that lacks what only people can decide."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trace.benchmarks.evidence.annotation import read_attack, read_category
from trace.benchmarks.evidence.triple import COMPONENTS, Triple
from trace.benchmarks.released_files import read_file
from trace.errors import DataError
from trace.records import Json

QUESTIONS = ("attack", "category", *COMPONENTS)
"""All that can be open about a triple."""
_EDITED = "The line was edited: take it from the build again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Why something is open, and what people (by pseudonym) wrote about the triple."""

    reason: str
    comments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A triple, and what is open about it (question -> why); nothing in a frozen one.

    Its `labels` lack the components that are open. Its category and attack are None while they
    are open; else they are named, as the build would have done (`trace.benchmarks.evidence.freeze`)
    with `category_by` and `attack_by` in its provenance; `set` of what stood in a frozen set.
    """

    triple: Triple
    open: Mapping[str, Open]

    @classmethod
    def from_json(cls, line: Json, at: str) -> Waiting:
        """Reads a line of queue.jsonl.

        Raises:
            DataError: it is none, with its place.
        """
        waiting = _open(line, at)
        labels = line.get("labels")
        if not isinstance(labels, dict):
            raise DataError(f"{at}: has no labels. {_EDITED}")
        for component in COMPONENTS:
            if (component in labels) == (component in waiting):
                raise DataError(
                    f"{at}: {component}: should be labelled or open, not both. {_EDITED}"
                )
        whole = line | {
            "labels": {c: labels.get(c, {"safety": "safe", "evidence": []}) for c in COMPONENTS},
            "category": None,
            "attack": None,
        }
        triple = Triple.from_json(whole, at)
        category, attack = (
            (None, None) if question in waiting else _name(line, question, labels, at)
            for question in ("category", "attack")
        )
        by = {"category_by": category[1], "attack_by": attack[1]}
        named = replace(
            triple,
            labels={c: label for c, label in triple.labels.items() if c not in waiting},
            category=category[0],
            attack=attack[0],
            provenance={**triple.provenance, **{q: who for q, who in by.items() if who}},
        )
        return cls(triple=named, open=waiting)

    def to_json(self) -> dict[str, Json]:
        """A line of queue.jsonl again."""
        line = self.triple.to_json()
        head = {name: line.pop(name) for name in ("id", "prompt_id")}
        by = {}
        for question, read in (("category", read_category), ("attack", read_attack)):
            name = line[question]
            line[question] = {"name": name, "new": name is not None and read(name).new}
            if question in self.open:
                line[question] = None
            else:
                by[f"{question}_by"] = "set"  # who named it in a set of another origin
        line["provenance"] = by | line["provenance"]
        return head | {"open": [_entry(q, why) for q, why in self.open.items()]} | line


def read_queue(path: Path) -> tuple[list[Waiting], str]:
    """The lines of a queue.jsonl, and the sha256 of its bytes; an empty file has none.

    Raises:
        DataError: a line is none of a build's, or stands twice.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error
    if not data.strip():
        return [], hashlib.sha256(data).hexdigest()
    raws, sha256 = read_file(path)
    found: dict[str, Waiting] = {}
    for raw in raws:
        one = Waiting.from_json(raw.value, raw.place)
        if one.triple.id in found:
            raise DataError(f"{raw.place}: the triple {one.triple.id} again. Remove one of them.")
        found[one.triple.id] = one
    return list(found.values()), sha256


def _open(line: Json, at: str) -> dict[str, Open]:
    entries = line.get("open") if isinstance(line, dict) else None
    if not isinstance(entries, list) or not entries:
        raise DataError(
            f"{at}: says nothing of what is open. Lines of queue.jsonl do, which task=build writes."
        )
    found = {}
    for entry in entries:
        told = entry if isinstance(entry, dict) else {}
        item, reason, comments = told.get("item"), told.get("reason"), told.get("comments", {})
        if item not in QUESTIONS or not isinstance(reason, str) or not isinstance(comments, dict):
            raise DataError(
                f"{at}: open: {entry!r:.60} is no item with its reason. Items are "
                f"{', '.join(QUESTIONS)}."
            )
        found[item] = Open(reason=reason, comments=comments)
    return found


def _entry(question: str, why: Open) -> dict[str, Json]:
    entry: dict[str, Json] = {"item": question, "reason": why.reason}
    return entry | ({"comments": dict(why.comments)} if why.comments else {})


def _name(line: Json, question: str, labels: Mapping[str, Any], at: str) -> tuple[str | None, str]:
    """A name that is not open, and who gave it: the votes, else the label or the source."""
    provenance, said = line.get("provenance") or {}, line.get(question)
    if said is not None:
        if not isinstance(said, dict) or not isinstance(said.get("name"), str | None):
            raise DataError(f'{at}: {question}: should be {{"name": ..., "new": ...}} or null.')
        return said["name"], provenance.get(f"{question}_by", "vote")
    if question == "category" and labels.get("prompt", {}).get("safety") == "safe":
        return None, "label"
    name = provenance.get(f"source_{question}")
    if question == "category" and name is None:
        raise DataError(
            f"{at}: the prompt is unsafe, without a category, and none is open. {_EDITED}"
        )
    return name, "source"
