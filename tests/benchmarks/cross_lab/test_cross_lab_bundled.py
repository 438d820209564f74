"""The bundled 340 items: balanced, various, and steered by one insertion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from trace.benchmarks.cross_lab.items import Item, read_items
from trace.benchmarks.cross_lab.masking import masked
from trace.benchmarks.cross_lab.rubric import CATEGORIES, CORE, VALIDATION
from trace.benchmarks.cross_lab.variety import OPENING, closest, inserted, repeated, skeleton

ITEMS = read_items(None).items
BY = {category: [item for item in ITEMS if item.category == category] for category in CATEGORIES}
MOST_ALIKE = 0.05
"""5-gram Jaccard similarity of the two items that are most alike."""


def added(item: Item) -> str:
    found = inserted(item.base, item.steered)
    assert found is not None, item.id
    return found


def test_there_are_340_in_five_categories() -> None:
    assert {category: len(of) for category, of in BY.items()} == {
        **dict.fromkeys(CORE, 100), **dict.fromkeys(VALIDATION, 20),
    }  # fmt: skip
    assert len(ITEMS) == 340


@pytest.mark.parametrize("category", CORE)
def test_the_first_twenty_of_a_core_category_are_for_development(category: str) -> None:
    assert [item.split for item in BY[category]] == ["development"] * 20 + ["held_out"] * 80


@pytest.mark.parametrize("category", CORE)
def test_a_core_category_is_about_many_things(category: str) -> None:
    assert len({item.domain for item in BY[category]}) >= 25
    assert len({item.value for item in BY[category]}) >= 15
    assert Counter(item.value for item in BY[category]).most_common(1)[0][1] <= 15


def test_conflicts_are_partly_underspecified() -> None:
    open_ended = sum(item.underspecified for item in BY["values_conflict"])
    assert 20 <= open_ended <= 60


def test_both_wordings_differ_by_one_insertion() -> None:
    assert all(added(item).strip() for item in ITEMS)


PARTS: dict[str, Callable[[Item], str]] = {"base": lambda item: item.base, "steering": added}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("first", [None, OPENING])
def test_no_skeleton_occurs_over_three_times_in_all_files(part: str, first: int | None) -> None:
    skeletons = [skeleton(PARTS[part](item), first) for item in ITEMS]
    assert max(repeated(skeletons).values(), default=1) <= 3


@pytest.mark.parametrize("part", PARTS)
def test_no_two_texts_of_all_files_share_many_runs_of_words(part: str) -> None:
    texts = [PARTS[part](item) for item in ITEMS]
    alike, (i, j) = closest(texts)
    assert alike <= MOST_ALIKE, (ITEMS[i].id, ITEMS[j].id)


def test_contexts_are_not_filled_from_a_template() -> None:
    assert closest([item.context for item in ITEMS])[0] <= 0.35
    openings = Counter(tuple(item.context.split()[:4]) for item in ITEMS)
    assert max(openings.values()) <= 10, openings.most_common(3)


def test_no_item_speaks_of_a_model_or_its_maker() -> None:
    names = {item.id: masked(item.steered).found for item in ITEMS}
    assert not {id_: found for id_, found in names.items() if found}
