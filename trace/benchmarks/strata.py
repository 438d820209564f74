"""A number of items of each stratum, chosen so that a larger number only adds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from trace.records import digest


class Named(Protocol):
    """What has an id."""

    @property
    def id(self) -> str:
        """Tells it from every other, and chooses with the seed whether it is taken."""
        ...


T = TypeVar("T", bound=Named)


def limited(
    items: Sequence[T], limit: int | None, seed: int, stratum: Callable[[T], str]
) -> tuple[T, ...]:
    """At most `limit` items a stratum, in the order given; all of them when it is None."""
    if limit is None:
        return tuple(items)
    strata: dict[str, list[str]] = defaultdict(list)
    for item in items:
        strata[stratum(item)].append(item.id)
    kept = {
        id_
        for ids in strata.values()
        for id_ in sorted(ids, key=lambda id_: digest([seed, id_]))[:limit]
    }
    return tuple(item for item in items if item.id in kept)
