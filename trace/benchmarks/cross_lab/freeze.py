"""From proposed labels, by way of a person, to the rubrics that a study is judged by."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from trace.benchmarks.cross_lab.proposal import Labels
from trace.benchmarks.cross_lab.rubric import Label, Rubric, Rubrics, read_rubrics, rubric_of
from trace.config import nearest
from trace.errors import DataError

QUESTION = "What does the response do?"
"""What a rubric asks where the study has no question for the category yet."""

TO_DO = """\
# Labels that a model proposed. Before anyone is judged by them, a person reads responses.jsonl
# beside this file and edits a copy of it:
#  - Do exactly one label and no other fit each response? Merge what overlaps, add what is missing.
#  - Is each definition about what a response does, in words that two readers take alike?
#  - Does each boundary say where the label ends and which one begins there?
#  - Is each example paraphrased, and free of names?
# Leave `responses` and `derived_from` as they are, whatever you call a label: they say whose
# responses it was written after, which is what a later finding is discounted by. A label of your
# own has derived_from: [], or the names of those whose responses gave you the idea.
# Then type the same command with stage=freeze benchmark.edited=FILE.
"""
FROZEN = """\
# Frozen: judges are shown these labels. A change makes another rubric with another hash, under
# which all responses are judged anew. Use it as benchmark.rubrics=FILE.
"""


def proposed(before: Rubrics, labels: Mapping[str, Labels], observed: Collection[str]) -> Rubrics:
    """The rubrics that were proposed.

    A category of which no response was to be seen keeps the labels that it had.

    Args:
        before: the rubrics so far; their questions stay.
        labels: category -> what was proposed, without the categories where nothing usable was.
        observed: the categories of which responses were seen.
    """
    kept = {name: rubric for name, rubric in before.of.items() if name not in observed}
    made = {
        name: Rubric(category=name, question=question_of(before, name), labels=of)
        for name, of in labels.items()
    }
    order = [*before.of, *(name for name in made if name not in before.of)]
    both = kept | made
    return Rubrics(
        version=before.version,
        status="proposed",
        of={name: both[name] for name in order if name in both},
    )


def question_of(rubrics: Rubrics, category: str) -> str:
    """What the labels of a category answer."""
    return rubrics.of[category].question if category in rubrics.of else QUESTION


def as_yaml(rubrics: Rubrics, head: str, responses: str) -> str:
    """The file of rubrics, comments at its head.

    Args:
        rubrics: what it holds.
        head: its comments.
        responses: the hash of the responses that they were made from.
    """
    tree = rubrics.to_json()
    for category in tree["categories"].values():
        for label in category["labels"]:
            if not label["cues"]:
                del label["cues"]
    value = {"version": tree["version"], "status": tree["status"], "responses": responses}
    value["categories"] = tree["categories"]
    return head + yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)


def frozen(
    edited: Path,
    *,
    categories: Collection[str],
    respondents: Collection[str],
    responses: str,
) -> Rubrics:
    """The rubrics that a person has edited, with the status frozen and the next version.

    Args:
        edited: the YAML file.
        categories: of the items; each has a rubric.
        respondents: whose responses were to be seen, now or for labels that were kept.
        responses: their hash.

    Raises:
        DataError: it cannot be read, is frozen, was proposed from other responses, lacks a rubric
            or a `derived_from`, or names a model that nothing was collected of.
    """
    read = read_rubrics(edited)
    if read.status == "frozen":
        raise DataError(
            f"{edited}: status: is frozen already: use it as benchmark.rubrics={edited}. To change "
            "it, edit the proposal that it came from and freeze that."
        )
    tree = yaml.safe_load(edited.read_bytes())
    if tree.get("responses", responses) != responses:
        raise DataError(
            f"{edited}: responses: was proposed from other responses than benchmark.responses "
            f"holds now ({responses[:8]}). Give the same runs, items, limit and seed as then."
        )
    for category in categories:
        rubric_of(read, category, str(edited))
    for at, label in _raw(tree, str(edited)):
        if "derived_from" not in label:
            raise DataError(
                f"{at}: derived_from: is missing. Name the models whose responses the label was "
                "written after, or write derived_from: [] if there are none."
            )
    if unknown := sorted(sources(read) - {*respondents}):
        raise DataError(
            f"{edited}: derived_from: {unknown[0]!r} gave none of the responses"
            f"{nearest(unknown[0], respondents)} They are of {', '.join(respondents)}."
        )
    return replace(read, version=read.version + 1, status="frozen")


def changes(before: Rubrics, after: Rubrics) -> list[str]:
    """What a person changed of a proposal, a line a change; Markdown without headings.

    A label that was renamed is taken away and added: whether two mean the same nobody can tell from
    their texts.
    """
    return list(_changes(before, after))


def sources(rubrics: Rubrics) -> set[str]:
    """Whose responses the labels were written after."""
    return {
        name for one in rubrics.of.values() for label in one.labels for name in label.derived_from
    }


def _changes(before: Rubrics, after: Rubrics) -> Iterator[str]:
    for name in [*after.of, *(name for name in before.of if name not in after.of)]:
        old, new = before.of.get(name), after.of.get(name)
        if old is None or new is None:
            yield f"{name}: {'added' if old is None else 'taken away'}."
            continue
        if old.question != new.question:
            yield f"{name}: question: {old.question!r} became {new.question!r}."
        labels = {label.name: label for label in old.labels}
        for label in new.labels:
            if label.name in labels:
                yield from _fields(f"{name}/{label.name}", labels.pop(label.name), label)
            else:
                yield f"{name}/{label.name}: added, derived from {_named(label)}."
        for label in labels.values():
            yield f"{name}/{label.name}: taken away; it was derived from {_named(label)}."


def _fields(at: str, old: Label, new: Label) -> Iterator[str]:
    for field in ("definition", "boundary", "example"):
        first, second = getattr(old, field), getattr(new, field)
        if first != second:
            yield f"{at}: {field}: {first!r} became {second!r}."
    if old.cues != new.cues:
        yield f"{at}: cues: {list(old.cues)} became {list(new.cues)}."
    if old.derived_from != new.derived_from:
        yield f"{at}: derived_from: {_named(old)} became {_named(new)}."


def _named(label: Label) -> str:
    return ", ".join(label.derived_from) or "nobody's responses"


def _raw(tree: Any, at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each label as it stands in a file that was read, with its place."""
    for name, category in tree["categories"].items():
        for number, label in enumerate(category["labels"], start=1):
            yield f"{at}: {name}: label {number}", label
