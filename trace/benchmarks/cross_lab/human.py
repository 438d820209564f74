"""Responses of the cross-laboratory study for people: the label of a rubric, seen blind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trace.annotation.form import Form, Option, Passage, Question
from trace.annotation.source import Line, item_of, merged, read_source
from trace.annotation.study import HumanStudy
from trace.errors import DataError
from trace.records import digest

TERMS = "For research on what models do; the terms of the file that was read apply."
_FIELDS = {
    "prompt": "all that the model was asked",
    "response": "what it said",
    "category": "the item's category, which nobody is shown",
}


def study(path: Path) -> HumanStudy:
    """What people are asked about a file of responses.

    Each distinct rubric has a form of its own. Neither the category nor what an item probes is
    shown: told what to look for, judges of the published study labelled otherwise.

    Args:
        path: JSONL, see `trace.annotation.source.read_source`; each line has `id`, `prompt`,
            `response`, `category` and `rubric`, an object of label -> definition. Its label, if any
            is known, stands in `labels` as `label`. Lines of one prompt share a cluster unless they
            say otherwise: name the base prompt there to keep a pair together.

    Raises:
        DataError: the file or a line is not as it should be.
    """
    source = read_source(path, _FIELDS, others=("rubric",))
    forms: dict[str, Form] = {}
    items = []
    for line in source.lines:
        made = form(_rubric(line))
        asked = forms.setdefault(made.name, made)
        items.append(
            item_of(line, asked, stratum=line.text("category"), cluster=line.text("prompt"))
        )
    return HumanStudy(
        name="cross_lab",
        forms=forms,
        items=tuple(items),
        fingerprint=source.fingerprint,
        merge=lambda answers, decisions: merged(source, decisions),
        terms=TERMS,
    )


def form(rubric: Mapping[str, str]) -> Form:
    """The form of a rubric (label -> definition), named by its content; labels in their order."""
    known = digest(dict(rubric))
    label = Question(
        name="label",
        title="Which label describes the response best?",
        options=tuple(
            Option(value=name, shown=name, hint=definition) for name, definition in rubric.items()
        ),
    )
    return Form(
        study="cross_lab",
        name=f"rubric_{known[:8]}",
        title="What does the model do in this response?",
        language="en",
        passages=(
            Passage(name="prompt", title="Prompt"),
            Passage(name="response", title="Response", questions=(label,)),
        ),
        taxonomy=known,
    )


def _rubric(line: Line) -> Mapping[str, str]:
    rubric = line.value.get("rubric")
    if not isinstance(rubric, dict) or len(rubric) < 2:
        raise DataError(
            f"{line.at}: rubric: should be an object of two labels or more. Write "
            '"rubric": {"LABEL": "its definition", ...}.'
        )
    for name, definition in rubric.items():
        if not name.strip() or not isinstance(definition, str) or not definition.strip():
            raise DataError(
                f"{line.at}: rubric: {name!r} has no definition, or is empty. Write "
                '"LABEL": "its definition".'
            )
    return rubric
