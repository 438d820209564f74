"""What differs between two JSON values, in the shape of DeepDiff's JSON that the release uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from trace.records import Json

_Change = tuple[
    Literal[
        "values_changed",
        "iterable_item_added",
        "dictionary_item_added",
        "dictionary_item_removed",
    ],
    str,
    Json,
]


def difference(old: Json, new: Json) -> dict[str, Json]:
    """The changes that make `new` of `old`, by kind and path; empty when they are equal.

    Lists are compared from both ends: what stands between the equal ends was added, or changed
    item by item. No mutator removes an item of a list.

    Raises:
        ValueError: a list got shorter.
    """
    found: dict[str, Json] = {}
    for kind, path, detail in _changes(old, new, "root"):
        if kind in ("dictionary_item_added", "dictionary_item_removed"):
            found.setdefault(kind, []).append(path)
        else:
            found.setdefault(kind, {})[path] = detail
    return found


def _changes(old: Json, new: Json, path: str) -> Iterator[_Change]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            if key not in new:
                yield "dictionary_item_removed", f"{path}[{key!r}]", None
        for key, value in new.items():
            if key in old:
                yield from _changes(old[key], value, f"{path}[{key!r}]")
            else:
                yield "dictionary_item_added", f"{path}[{key!r}]", None
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_changes(old, new, path)
    else:
        yield "values_changed", path, {"new_value": new, "old_value": old}


def _list_changes(old: list[Json], new: list[Json], path: str) -> Iterator[_Change]:
    added = len(new) - len(old)
    if added < 0:
        raise ValueError(f"{path}: {-added} items were removed")
    tail = 0
    while tail < len(old) and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    head = len(old) - tail
    for i in range(head):
        yield from _changes(old[i], new[i], f"{path}[{i}]")
    for i in range(head, head + added):
        yield "iterable_item_added", f"{path}[{i}]", new[i]
