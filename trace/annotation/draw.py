"""A random sample of items, spread over the strata in proportion."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from trace.annotation.item import Item
from trace.errors import DataError
from trace.records import digest


def drawn(items: Iterable[Item], n: int, seed: int) -> list[Item]:
    """`n` items in all, or all of them where there are no more.

    Each stratum gets its share by the method of the largest remainder, and at least one where `n`
    allows, so that rare ones are seen. Neither who is drawn nor the order, which is random, depends
    on the order given.

    Args:
        items: to draw from.
        n: how many, 0 or more.
        seed: of the draw.

    Raises:
        DataError: two items have the same id.
    """
    strata: dict[str, list[Item]] = defaultdict(list)
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise DataError(
                f"two items are called {item.id}. Remove one of them, or give it another id."
            )
        seen.add(item.id)
        strata[item.stratum].append(item)

    def place(item: Item) -> str:
        return digest([seed, item.id])

    shares = _shares({name: len(members) for name, members in strata.items()}, n, seed)
    chosen = [i for name, k in shares.items() for i in sorted(strata[name], key=place)[:k]]
    return sorted(chosen, key=place)


def _shares(sizes: Mapping[str, int], n: int, seed: int) -> dict[str, int]:
    """How many of each stratum; ties are broken at random."""
    left, total = n, sum(sizes.values())
    if left >= total:
        return dict(sizes)
    shares: dict[str, int] = {}
    if left >= len(sizes):
        # Who gets one in spite of a smaller share takes it from the others, so that one of them
        # may now be short.
        while short := [s for s, k in sizes.items() if s not in shares and left * k < total]:
            shares |= dict.fromkeys(short, 1)
            left -= len(short)
            total -= sum(sizes[name] for name in short)
    rest = {s: divmod(left * k, total) for s, k in sizes.items() if s not in shares}
    shares |= {name: whole for name, (whole, _) in rest.items()}
    left -= sum(whole for whole, _ in rest.values())
    largest = sorted(rest, key=lambda name: (-rest[name][1], digest([seed, name])))
    for name in largest[:left]:
        shares[name] += 1
    return shares
