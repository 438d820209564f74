"""Who gets which items, and in which order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

from trace.annotation.draw import drawn
from trace.annotation.item import Item
from trace.records import Json, digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The items of one form that one annotator gets, by id, in this annotator's order."""

    annotator: str
    form: str
    items: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """One line of assignments.jsonl."""
        return asdict(self)

    @classmethod
    def from_json(cls, line: Json) -> Assignment:
        """Reads back what `to_json` wrote."""
        return cls(**(line | {"items": tuple(line["items"])}))


def assigned(
    items: Sequence[Item], annotators: Sequence[str], overlap: float, seed: int
) -> list[Assignment]:
    """Gives a share of the items to everybody, and deals the rest evenly.

    What everybody gets is drawn over the strata like the items themselves, its number rounded up.
    The rest is dealt stratum by stratum, so that nobody has another mixture than the others. Each
    annotator has an order of their own, in which nothing tells shared items from others. Nothing
    depends on the order of the items.

    Args:
        items: with different ids.
        annotators: their pseudonyms, at least one and each once.
        overlap: the share for everybody, from 0 to 1.
        seed: of the draw and of the orders.

    Returns:
        One for each annotator and form with any items, in the order of the annotators and then of
        the names of the forms.

    Raises:
        DataError: two items have the same id.
    """
    # As it was typed: 0.07 of 100 is 7, and 8 in binary fractions.
    shared = drawn(items, math.ceil(Fraction(str(overlap)) * len(items)), seed)
    everybody = {item.id for item in shared}
    dealt = sorted(
        (item for item in items if item.id not in everybody),
        key=lambda item: (item.form, item.stratum, digest([seed, item.id])),
    )
    return [
        Assignment(annotator=annotator, form=form, items=order)
        for place, annotator in enumerate(annotators)
        for form, order in _in_order(
            [*shared, *dealt[place :: len(annotators)]], annotator, seed
        ).items()
    ]


def _in_order(items: Sequence[Item], annotator: str, seed: int) -> dict[str, tuple[str, ...]]:
    """Form -> the ids in this annotator's order."""
    mixed = sorted(items, key=lambda item: digest([seed, annotator, item.id]))
    forms = sorted({item.form for item in items})
    return {form: tuple(i.id for i in mixed if i.form == form) for form in forms}
