from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from trace.annotation.assign import Assignment, assigned
from trace.annotation.item import Item

ITEMS = st.lists(
    st.tuples(st.sampled_from(["en", "zh"]), st.sampled_from("abcd")), max_size=40
).map(
    lambda kinds: [
        Item(id=f"i{i}", form=form, texts={}, labels={}, stratum=stratum, cluster="c")
        for i, (form, stratum) in enumerate(kinds)
    ]
)
PEOPLE = st.integers(1, 5).map(lambda n: [f"A{i}" for i in range(n)])
OVERLAP = st.sampled_from([0.0, 0.01, 0.07, 0.1, 0.29, 0.3, 0.5, 0.57, 1.0])


def many(n: int, form: str = "en") -> list[Item]:
    return [
        Item(id=f"{form}{i}", form=form, texts={}, labels={}, stratum=str(i % 3), cluster="c")
        for i in range(n)
    ]


def holders(found: Sequence[Assignment]) -> Counter[str]:
    return Counter(id_ for a in found for id_ in a.items)


@given(ITEMS, PEOPLE, OVERLAP, st.integers(0, 3), st.randoms(use_true_random=False))
def test_who_gets_what(
    items: list[Item], people: list[str], overlap: float, seed: int, order: random.Random
) -> None:
    found = assigned(items, people, overlap, seed)
    by_id = {item.id: item for item in items}
    had = {
        person: [i for a in found if a.annotator == person for i in a.items] for person in people
    }

    # Everything is held by one or by all, by the share, and nothing is given twice.
    assert holders(found).keys() == by_id.keys()
    assert all(len(set(ids)) == len(ids) for ids in had.values())
    shared = [i for i, k in holders(found).items() if k == len(people)]
    if len(people) > 1:
        assert set(holders(found).values()) <= {1, len(people)}
        assert len(shared) == ceil(Fraction(str(overlap)) * len(items))
        assert bool(shared) == (overlap > 0 and bool(items))

    # Evenly: in all, and in every stratum of every form.
    def spread(key: tuple[str, ...]) -> int:
        counts = [
            sum((by_id[i].form, by_id[i].stratum)[: len(key)] == key for i in ids)
            for ids in had.values()
        ]
        return max(counts) - min(counts)

    assert spread(()) <= 1
    assert all(spread((i.form, i.stratum)) <= 1 for i in items)

    # One list for each annotator and form with items, in order.
    where = [(a.annotator, a.form) for a in found]
    assert where == sorted(set(where))
    assert all(a.items and {by_id[i].form for i in a.items} == {a.form} for a in found)

    order.shuffle(items)
    assert assigned(items, people, overlap, seed) == found
    assert [Assignment.from_json(json.loads(json.dumps(a.to_json()))) for a in found] == found


def test_the_share_for_everybody_is_rounded_up_from_what_was_typed() -> None:
    found = assigned(many(100), ["A1", "A2"], 0.07, 0)
    assert sum(k == 2 for k in holders(found).values()) == 7
    found = assigned(many(100), ["A1", "A2"], 0.001, 0)
    assert sum(k == 2 for k in holders(found).values()) == 1


def test_orders_differ_and_shared_items_are_mixed_in() -> None:
    found = assigned(many(300), ["A1", "A2", "A3"], 0.2, 0)
    shared = {i for i, k in holders(found).items() if k == 3}
    assert len(shared) == 60
    orders = [[i for i in a.items if i in shared] for a in found]
    assert orders[0] != orders[1] != orders[2]
    for a in found:
        places = [k for k, i in enumerate(a.items) if i in shared]
        # The mean place of 60 of 140 drawn at random: 69.5, with a standard error of 4.0.
        assert abs(sum(places) / len(places) - 69.5) < 4 * 4.0


def test_shared_items_are_spread_over_the_strata() -> None:
    found = assigned(many(300), ["A1", "A2"], 0.1, 0)
    shared = [i for i, k in holders(found).items() if k == 2]
    assert Counter(int(i.removeprefix("en")) % 3 for i in shared) == {0: 10, 1: 10, 2: 10}


def test_another_seed_gives_other_lists() -> None:
    lists = [assigned(many(30), ["A1", "A2"], 0.5, seed) for seed in range(2)]
    assert lists[0] != lists[1]
