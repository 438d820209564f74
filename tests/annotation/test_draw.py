from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from math import ceil, floor

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare

from trace.annotation.draw import drawn
from trace.annotation.item import Item
from trace.errors import DataError

SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=8)
SOME = SIZES.flatmap(lambda sizes: st.tuples(st.just(sizes), st.integers(0, sum(sizes) - 1)))


def pool(sizes: Sequence[int]) -> list[Item]:
    return [
        Item(id=f"{s}-{i}", form="f", texts={}, labels={}, stratum=f"s{s}", cluster="c")
        for s, size in enumerate(sizes)
        for i in range(size)
    ]


def shares(sizes: Sequence[int], n: int, seed: int = 0) -> list[int]:
    counts = Counter(item.stratum for item in drawn(pool(sizes), n, seed))
    return [counts[f"s{s}"] for s in range(len(sizes))]


@given(SIZES, st.integers(0, 400), st.integers(0, 5), st.randoms(use_true_random=False))
def test_what_is_drawn(sizes: list[int], n: int, seed: int, order: random.Random) -> None:
    items = pool(sizes)
    found = drawn(items, n, seed)
    assert len(found) == len({item.id for item in found}) == min(n, len(items))
    order.shuffle(items)
    assert drawn(items, n, seed) == found


@given(SOME)
def test_every_stratum_is_there_where_the_number_allows(some: tuple[list[int], int]) -> None:
    sizes, n = some
    found = shares(sizes, n)
    assert all(k <= size for k, size in zip(found, sizes, strict=True))
    assert min(found) >= 1 or n < len(sizes)


@given(SOME)
def test_largest_remainder_where_nobody_is_short(some: tuple[list[int], int]) -> None:
    """Each gets its quota rounded either way; a larger remainder is never passed over."""
    sizes, n = some
    total = sum(sizes)
    assume(n < len(sizes) or all(n * k >= total for k in sizes))
    quotas, found = [n * k / total for k in sizes], shares(sizes, n)
    assert all(floor(q) <= k <= ceil(q) for q, k in zip(quotas, found, strict=True))
    up = [q % 1 for q, k in zip(quotas, found, strict=True) if k > floor(q)]
    down = [q % 1 for q, k in zip(quotas, found, strict=True) if k == floor(q) and q % 1]
    assert min(up, default=1) >= max(down, default=0) - 1e-9


@pytest.mark.parametrize(
    ("sizes", "n", "expected"),
    [
        # The textbook example of the largest remainder (100,000 votes, 10 seats), in hundreds. Two
        # are short here and get one, so the others share 8 of 908: 4.14, 1.41, 1.39, 1.06.
        ((470, 160, 158, 120, 61, 31), 10, [4, 2, 1, 1, 1, 1]),
        ((470, 160, 158, 120, 61, 31), 5, [2, 1, 1, 1, 0, 0]),  # 2.35, .8, .79, .6, .31, .16
        ((90, 10), 10, [9, 1]),
        ((98, 1, 1), 10, [8, 1, 1]),  # the rare ones at the expense of the others
        ((5, 2, 2, 1, 1, 1), 6, [1] * 6),  # those of two are short once the rare ones have theirs
        ((3, 4), 100, [3, 4]),
        ((3, 4), 0, [0, 0]),
    ],
)
def test_known_shares(sizes: Sequence[int], n: int, expected: list[int]) -> None:
    assert shares(sizes, n) == expected


def test_ties_and_members_are_drawn_evenly() -> None:
    firsts = Counter(shares((5, 5, 5), 1, seed).index(1) for seed in range(600))
    assert chisquare([firsts[i] for i in range(3)]).pvalue > 0.001
    members = Counter(item.id for seed in range(600) for item in drawn(pool([10]), 3, seed))
    assert chisquare([members[f"0-{i}"] for i in range(10)]).pvalue > 0.001


def test_two_items_of_one_name_are_refused() -> None:
    with pytest.raises(DataError, match="two items are called 0-1"):
        drawn([*pool([3]), *pool([2])[1:]], 2, 0)
