"""A share of the prompts of every group of category and language."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from trace.benchmarks.evidence.near_duplicates import NearDuplicates
from trace.benchmarks.evidence.prompts import Group, Prompt
from trace.benchmarks.evidence.triple import Language
from trace.records import canonical, digest

SPARE = 1000
"""How many prompts of a group are kept in memory whatever the share, to draw others from."""

_Stratum = tuple[Language, str | None]  # within which prompts are compared: language and attack


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What became of a group: prompts found, distinct texts, those to draw, and those drawn.

    `near_duplicates` are those that were met while drawing and passed over for the next.
    """

    found: int
    distinct: int
    due: int
    near_duplicates: int
    drawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The prompts drawn, sorted by group and id, and the count of every group, sorted too."""

    prompts: tuple[Prompt, ...]
    counts: Mapping[Group, Count]


def due(share: float, size: int) -> int:
    """How many to draw from a group: the share of its size, halves up, and at least one.

    The product is exact: 0.29 of 50 is 14.5, and becomes 15.
    """
    exact = (Decimal(str(share)) * size).to_integral_value(rounding=ROUND_HALF_UP)
    return min(size, max(1, int(exact)))


def sample(prompts: Iterable[Prompt], *, share: float, seed: int) -> Drawn:
    """Draws a share of every group, without near-duplicates among what is drawn.

    The prompts of a group are taken in an order that the seed and each one's id decide, whatever
    order they come in. One that repeats or nearly repeats a prompt already drawn, of the same
    language and attack in any group, is passed over and the next one taken, so that the counts are
    exact as long as a group has enough prompts that differ. Near-duplicates are looked for among
    what may be drawn rather than in the whole source: the source is read once, and a group keeps
    no more in memory than twice its share and `SPARE` prompts.

    Args:
        prompts: of all groups, in any order.
        share: above 0, up to 1.
        seed: decides which are drawn.
    """
    pools: dict[Group, _Pool] = {}
    for prompt in prompts:
        pools.setdefault(prompt.group, _Pool(share, seed)).add(prompt)
    strata = _strata(pool for _, pool in sorted(pools.items()))
    counts, ids, drawn = {}, set[str](), list[Prompt]()
    for group, pool in sorted(pools.items()):
        wanted, passed_over, taken = due(share, len(pool.seen)), 0, list[Prompt]()
        for prompt in pool.in_order():
            if len(taken) == wanted:
                break
            if prompt.id in ids or not strata[_stratum(prompt)].take(prompt.text):
                passed_over += 1
            else:
                ids.add(prompt.id)
                taken.append(prompt)
        drawn += sorted(taken, key=lambda prompt: prompt.id)
        counts[group] = Count(
            found=pool.found,
            distinct=len(pool.seen),
            due=wanted,
            near_duplicates=passed_over,
            drawn=len(taken),
        )
    return Drawn(prompts=tuple(drawn), counts=counts)


def whole(prompts: Iterable[Prompt]) -> Drawn:
    """Every prompt, near-duplicates too, in the order and with the counts of `sample`."""
    unique = {prompt.id: prompt for prompt in prompts}
    sizes = Counter(prompt.group for prompt in unique.values())
    return Drawn(
        prompts=tuple(sorted(unique.values(), key=lambda prompt: (prompt.group, prompt.id))),
        counts={
            group: Count(found=size, distinct=size, due=size, near_duplicates=0, drawn=size)
            for group, size in sorted(sizes.items())
        },
    )


class _Pool:
    """The prompts of a group that come first: those below twice the share, and `SPARE` in any case.

    Which ones these are does not depend on the order in which they are added.
    """

    def __init__(self, share: float, seed: int) -> None:
        self.found = 0
        self.seen: set[int] = set()
        self._seed = seed
        self._bound = 2 * share * 2**64
        self._kept: dict[int, Prompt] = {}
        self._first: list[int] = []  # a heap of the SPARE lowest places, negated

    def add(self, prompt: Prompt) -> None:
        place = int(digest([self._seed, prompt.id])[:16], 16)
        self.found += 1
        if place in self.seen:
            if place in self._kept:  # the same text again: which record stays is not left to order
                self._kept[place] = min(self._kept[place], prompt, key=_record)
            return
        self.seen.add(place)
        self._kept[place] = prompt
        heapq.heappush(self._first, -place)
        if len(self._first) > SPARE:
            last = -heapq.heappop(self._first)
            if last >= self._bound:
                del self._kept[last]

    def in_order(self) -> Iterator[Prompt]:
        return (self._kept[place] for place in sorted(self._kept))


def _strata(pools: Iterable[_Pool]) -> dict[_Stratum, NearDuplicates]:
    texts: defaultdict[_Stratum, list[str]] = defaultdict(list)
    for pool in pools:
        for prompt in pool.in_order():
            texts[_stratum(prompt)].append(prompt.text)
    return {
        (language, attack): NearDuplicates(some, language, wrapped=attack is not None)
        for (language, attack), some in texts.items()
    }


def _stratum(prompt: Prompt) -> _Stratum:
    return prompt.language, prompt.attack


def _record(prompt: Prompt) -> str:
    return canonical(prompt.to_json())
