"""Rubrics: for each category a closed list of labels, exactly one of which describes a response."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from trace.benchmarks import lines
from trace.benchmarks.fields import Fields
from trace.config import nearest
from trace.errors import DataError
from trace.judging.labels import LabelSet
from trace.judging.taxonomy import Category
from trace.records import Json, digest

CORE = ("reasoning_surfacing", "reasoning_suppression", "values_conflict")
"""The categories that claims are made about."""
VALIDATION = ("neutral_control", "format_steering")
"""Those where no effect is expected."""
CATEGORIES = (*CORE, *VALIDATION)
BUNDLED = Path(__file__).parent / "data" / "rubrics.yaml"
_STATUSES = ("provisional", "proposed", "frozen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a response can be. `boundary` says where it ends, `example` shows one.

    `cues` are what the rule judge looks for. `derived_from` names the models whose development
    answers the label was written after: what is found of them later was partly built in.
    """

    name: str
    definition: str
    boundary: str
    example: str
    cues: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """The label as it stands in the file."""
        return {
            "name": self.name,
            "definition": self.definition,
            "boundary": self.boundary,
            "example": self.example,
            "cues": list(self.cues),
            "derived_from": list(self.derived_from),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """The labels of one category, and what is asked about a response."""

    category: str
    question: str
    labels: tuple[Label, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The labels' names, in their order."""
        return tuple(label.name for label in self.labels)

    @property
    def label_set(self) -> LabelSet:
        """The labels as a parser reads them; none of them means no risk."""
        shown = tuple(
            Category(name=label.name, definition=label.definition) for label in self.labels
        )
        return LabelSet.of(shown, shown[0])

    def cued(self, response: str) -> str:
        """The rule judge: the first label one of whose cues is in a response, else the first."""
        said = response.casefold().replace("’", "'")
        for label in self.labels:
            if any(cue.casefold() in said for cue in label.cues):
                return label.name
        return self.labels[0].name

    def to_json(self) -> dict[str, Json]:
        """The rubric as it stands in the file."""
        return {"question": self.question, "labels": [label.to_json() for label in self.labels]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubrics:
    """The rubrics of all categories.

    `status` is provisional before anyone's answers were read, proposed before a person has edited
    them, and frozen from then on.
    """

    version: int
    status: str
    of: Mapping[str, Rubric]
    fingerprint: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Category -> the names of its labels."""
        return {name: rubric.names for name, rubric in self.of.items()}

    @property
    def hash(self) -> str:
        """Identifies what judges are shown, and whom the labels were derived from."""
        return digest({name: rubric.to_json() for name, rubric in self.of.items()})

    def to_json(self) -> dict[str, Json]:
        """All of the file."""
        return {
            "version": self.version,
            "status": self.status,
            "categories": {name: rubric.to_json() for name, rubric in self.of.items()},
        }


def read_rubrics(path: str | Path | None) -> Rubrics:
    """The rubrics of a YAML file; the bundled ones for None.

    Raises:
        DataError: it cannot be read, a field is missing or wrong, or two labels read alike.
    """
    file = BUNDLED if path is None else Path(path).expanduser()
    try:
        data = file.read_bytes()
    except OSError as error:
        why = error.strerror or error
        raise DataError(f"benchmark.rubrics: {file} cannot be read ({why}).") from error
    if data.startswith(lines.LFS):
        raise lines.lfs_pointer(str(file))
    try:
        value = yaml.load(data, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DataError(f"{file}: is no YAML ({' '.join(str(error).split())}).") from error
    fields = Fields(value, str(file))
    categories = fields.take("categories", dict)
    if not categories:
        raise DataError(f"{file}: categories: is empty. {', '.join(CATEGORIES)} are the study's.")
    return Rubrics(
        version=fields.take("version", int),
        status=fields.choice("status", _STATUSES),
        of={
            str(name): _rubric(str(name), of, f"{file}: {name}") for name, of in categories.items()
        },
        fingerprint={file.name: hashlib.sha256(data).hexdigest()},
    )


def rubric_of(rubrics: Rubrics, category: str, at: str) -> Rubric:
    """The rubric of a category.

    Raises:
        DataError: there is none.
    """
    if category not in rubrics.of:
        names = list(rubrics.of)
        raise DataError(
            f"{at}: category: {category!r} has no rubric{nearest(category, names)} There are "
            f"rubrics for {', '.join(names)}; benchmark.rubrics=FILE gives others."
        )
    return rubrics.of[category]


class _Loader(yaml.SafeLoader):
    """YAML in which a key that stands twice is an error: the second would silently win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As the base class, with the keys compared first."""
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key.value} stands twice", key.start_mark
                )
            seen.add(str(key.value))
        return super().construct_mapping(node, deep=deep)


def _rubric(category: str, value: Any, at: str) -> Rubric:
    fields = _known(value, at, ("question", "labels"))
    listed = fields.take("labels", list)
    if len(listed) < 2:
        raise DataError(f"{at}: labels: there are {len(listed)}. A rubric needs two or more.")
    labels = tuple(_label(one, f"{at}: label {n}") for n, one in enumerate(listed, start=1))
    rubric = Rubric(category=category, question=fields.text("question"), labels=labels)
    try:
        _ = rubric.label_set
    except ValueError as error:
        raise DataError(f"{at}: labels: {error}. Give each another name.") from error
    return rubric


def _label(value: Any, at: str) -> Label:
    fields = _known(value, at, tuple(Label.__dataclass_fields__))
    return Label(
        name=fields.text("name"),
        definition=fields.text("definition"),
        boundary=fields.text("boundary"),
        example=fields.text("example"),
        cues=_texts(fields, "cues"),
        derived_from=_texts(fields, "derived_from"),
    )


def _known(value: Any, at: str, names: tuple[str, ...]) -> Fields:
    """The fields of an object that has no others: one that is misspelt would be left unread."""
    for name in value if isinstance(value, dict) else ():
        if name not in names:
            raise DataError(f"{at}: {name}: is no field here{nearest(str(name), names)}")
    return Fields(value, at)


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    if fields.line.get(name) is None:
        return ()
    texts = fields.take(name, list)
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise DataError(f"{fields.at}: {name}: should be a list of texts.")
    return tuple(texts)
