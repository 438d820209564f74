"""A claim that is written down before there are responses."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from trace.benchmarks.cross_lab.items import SPLITS, Item, ItemSet
from trace.benchmarks.cross_lab.rubric import Rubrics, rubric_of
from trace.benchmarks.fields import Fields
from trace.config import nearest
from trace.errors import DataError
from trace.records import Json
from trace.report.cross_lab.claims import Claim
from trace.report.cross_lab.registered import Announced

Direction: TypeAlias = Literal["a_more", "b_more", "different"]
DIRECTIONS: tuple[Direction, ...] = ("a_more", "b_more", "different")
CONDITIONS = ("base", "steered")
ALL = "all"
TEST = "fisher"
EXAMPLE = "docs/cross_lab.md has one."


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Models a have one of the labels more often than models b, or less, or not as often.

    `split` is development, held_out or `ALL`.
    """

    name: str
    category: str
    condition: str
    labels: tuple[str, ...]
    models_a: tuple[str, ...]
    models_b: tuple[str, ...]
    split: str
    direction: Direction
    test: str = TEST

    @property
    def models(self) -> tuple[str, ...]:
        """Those of both groups."""
        return (*self.models_a, *self.models_b)

    def items(self, of: ItemSet) -> list[Item]:
        """The items that it is about."""
        wanted = SPLITS if self.split == ALL else (self.split,)
        return [one for one in of.items if one.category == self.category and one.split in wanted]

    def announced(self, doubts: tuple[str, ...] = ()) -> Announced:
        """The claim as it is tested and printed.

        Args:
            doubts: why it is post hoc, as `verify` gives them.
        """
        claim = Claim(
            category=self.category,
            condition=self.condition,
            labels=self.labels,
            first=self.models_a,
            second=self.models_b,
            direction="less" if self.direction == "b_more" else "more",
            split=None if self.split == ALL else self.split,
            registered=True,
        )
        either = self.direction == "different"
        return Announced(name=self.name, claim=claim, doubts=doubts, either=either)

    def to_json(self) -> dict[str, Json]:
        """The fields of the file."""
        lists = {name: list(getattr(self, name)) for name in ("labels", "models_a", "models_b")}
        return asdict(self) | lists


def registration_of(value: Json, at: str) -> Registration:
    """The claim that stands in a file.

    Raises:
        DataError: a field is missing, wrong or unknown, or a model is in both groups.
    """
    fields = Fields(value, at)
    registration = Registration(
        name=fields.text("name"),
        category=fields.text("category"),
        condition=fields.choice("condition", CONDITIONS),
        labels=_names(fields, "labels"),
        models_a=_names(fields, "models_a"),
        models_b=_names(fields, "models_b"),
        split=fields.choice("split", (*SPLITS, ALL)),
        direction=fields.choice("direction", DIRECTIONS),
        test=fields.choice("test", (TEST,)),
    )
    known = (*Registration.__dataclass_fields__, "stamp")
    for name in value:
        if name not in known:
            raise DataError(f"{at}: {name}: no such field{nearest(str(name), known)} {EXAMPLE}")
    if both := sorted(set(registration.models_a) & set(registration.models_b)):
        raise DataError(f"{at}: {', '.join(both)} is in models_a and in models_b. Keep it in one.")
    return registration


def check(registration: Registration, rubrics: Rubrics, items: ItemSet, at: str) -> None:
    """Finds out whether the claim is about something that the study has.

    Raises:
        DataError: its category has no rubric, a label is none of it, all labels are named, or there
            is no such item.
    """
    rubric = rubric_of(rubrics, registration.category, at)
    for label in registration.labels:
        if label not in rubric.names:
            raise DataError(
                f"{at}: labels: {label!r} is no label of {registration.category}"
                f"{nearest(label, rubric.names)} They are {', '.join(rubric.names)}."
            )
    if len(registration.labels) == len(rubric.names):
        raise DataError(
            f"{at}: labels: are all there are, which every response has one of. Leave one out."
        )
    if not registration.items(items):
        raise DataError(
            f"{at}: split: no item of {registration.category} is in {registration.split}. Choose "
            f"another of {', '.join((*SPLITS, ALL))}."
        )


def _names(fields: Fields, name: str) -> tuple[str, ...]:
    listed = fields.take(name, list)
    if not listed or not all(isinstance(one, str) and one.strip() for one in listed):
        raise DataError(f"{fields.at}: {name}: should be a list of names that is not empty.")
    if len(set(listed)) < len(listed):
        raise DataError(f"{fields.at}: {name}: a name stands twice. Keep one.")
    return tuple(listed)
