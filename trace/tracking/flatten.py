"""Nested results as the flat names and plain cells that W&B shows, sorts and filters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from trace.records import Json

Path: TypeAlias = tuple[str, ...]
Cell: TypeAlias = str | int | float | bool | None

MAX_COLUMNS = 64
"""Columns of a table; the fields beyond stand together in one more, `more`, as JSON."""


def numbers_and_reasons(metrics: Mapping[str, Json]) -> tuple[dict[str, float], dict[str, str]]:
    """The numbers of a metrics.json under flat names, and the reasons of its undefined values.

    The `value` of a metric takes the metric's own name, its other numbers add theirs (`tpr`,
    `tpr_low`); breakdowns begin with their axis. Nulls are left out.
    """
    found = [
        (path, leaf)
        for part in ("metrics", "breakdowns")
        for path, leaf in _leaves(metrics.get(part, {}))
    ]
    numbers = [(p, v) for p, v in found if isinstance(v, int | float) and not isinstance(v, bool)]
    reasons = [(p, v) for p, v in found if isinstance(v, str) and p[-1:] == ("reason",)]
    names = _names([path for path, _ in (*numbers, *reasons)])
    return (
        {names[path]: value for path, value in numbers},
        {names[path]: value for path, value in reasons},
    )


def columns(rows: Sequence[Mapping[str, Json]]) -> tuple[list[str], list[list[Cell]]]:
    """Rows as column names, in the order first seen, and cells.

    A nested field becomes a column of its own. A column holds one kind of value, as W&B demands:
    numbers, booleans or text; lists and mixtures become text, in JSON.
    """
    flat = [dict(_fields(row)) for row in rows]
    paths = list(dict.fromkeys(path for row in flat for path in row))
    kept, more = paths[:MAX_COLUMNS], paths[MAX_COLUMNS:]
    names = _names(kept)
    table = [_column([row.get(path) for row in flat]) for path in kept]
    if more:
        rest = [{".".join(p): row[p] for p in more if row.get(p) is not None} for row in flat]
        table.append([_text(fields) if fields else None for fields in rest])
    titles = [names[path] for path in kept] + ["more"] * bool(more)
    return titles, [list(cells) for cells in zip(*table, strict=True)]


def _leaves(node: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    children: Iterable[tuple[Json, Json]]
    if isinstance(node, Mapping):
        children = node.items()
    elif isinstance(node, list | tuple):
        children = enumerate(node)
    else:
        yield path, node
        return
    for key, child in children:
        yield from _leaves(child, path if key == "value" else (*path, str(key)))


def _fields(row: Mapping[str, Json], path: Path = ()) -> Iterator[tuple[Path, Json]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _fields(value, (*path, str(key)))
        else:
            yield (*path, str(key)), value


def _names(paths: Iterable[Path]) -> dict[Path, str]:
    # W&B sorts and filters by names of letters, digits and `_` only, and hides those that begin
    # with `_`. Where that makes two alike, the later ones are numbered.
    names: dict[Path, str] = {}
    taken: set[str] = set()
    for path in paths:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", "_".join(path)).strip("_")
        base = name = plain if plain[:1].isalpha() else f"m_{plain}".rstrip("_")
        number = 1
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        names[path] = name
    return names


def _column(values: Sequence[Json]) -> list[Cell]:
    kinds = {_kind(value) for value in values if value is not None}
    if kinds <= {"boolean"} or kinds <= {"number"}:
        return list(values)
    return [None if value is None else _text(value) for value in values]


def _kind(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "text"


def _text(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # A lone surrogate in a model's answer would make the whole table unwritable.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
