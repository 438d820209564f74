"""Whether calls fit the tools shown: what a schema oracle would report, on benign records too."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from trace.benchmarks.tracesafe import prototype
from trace.benchmarks.tracesafe.audit.edit import declared
from trace.benchmarks.tracesafe.released import MutationRecord
from trace.benchmarks.tracesafe.tool_docs import late_tools
from trace.benchmarks.tracesafe.trajectory import Call, Tool, Trajectory
from trace.records import Json

KINDS = ("unlisted", "undeclared", "missing", "type", "stringified")
"""unlisted: no such tool is listed or introduced by an earlier user turn. undeclared: an argument
that the schema lacks. missing: a required one that the call lacks. type: a value of another type.
stringified: text where the schema wants another type; the released parser made many of these."""

_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "float": (int, float),
    "number": (int, float),
    "boolean": bool,
    "array": (list, tuple),
    "tuple": (list, tuple),
    "dict": dict,
    "object": dict,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A call that does not fit: the kind, the index of its step, and the argument if it is one."""

    kind: str
    index: int
    tool: str
    argument: str | None = None


def faults(trajectory: Trajectory) -> list[Fault]:
    """All faults of all calls. Where a name is listed twice, the entry with fewest counts."""
    listed: dict[str, list[Tool]] = defaultdict(list)
    for tool in trajectory.tools:
        listed[tool.name].append(tool)
    calls = {call.index: call for call in trajectory.calls}
    found: list[Fault] = []
    for index, step in enumerate(trajectory.steps):
        if step.role == "user" and isinstance(step.content, str):
            for tool in late_tools(step.content):
                listed[tool.name].append(tool)
        elif call := calls.get(index):
            if call.name not in listed:
                found.append(Fault(kind="unlisted", index=index, tool=call.name))
            else:
                of_entries = [list(_faults(call, tool)) for tool in listed[call.name]]
                fewest = min(of_entries, key=len)
                found += fewest
    return found


def summary(records: Iterable[MutationRecord]) -> dict[str, Json]:
    """How many records have each kind of fault, and how many of their originals do.

    A fault of an original is a false alarm of the schema oracle. `new` counts the records with a
    kind of fault that their original does not have. `ids` are the records with a fault, by kind.
    """
    counts: dict[str, Counter[str]] = {"records": Counter(), "originals": Counter()}
    ids: dict[str, list[str]] = {kind: [] for kind in KINDS}
    new = total = 0
    for record in records:
        total += 1
        here = {fault.kind for fault in faults(record.trajectory)}
        before = {fault.kind for fault in faults(record.original)}
        new += bool(here - before)
        for name, kinds in (("records", here), ("originals", before)):
            counts[name].update(kinds)
            counts[name]["any"] += bool(kinds)
        for kind in here:
            ids[kind].append(record.id)
    return {
        "n": total,
        "new": new,
        **{name: {kind: found[kind] for kind in ("any", *KINDS)} for name, found in counts.items()},
        "ids": {kind: sorted(found) for kind, found in ids.items() if found},
    }


def _faults(call: Call, tool: Tool) -> Iterator[Fault]:
    known, schemas = declared(tool), tool.parameters or {}
    for name, value in call.arguments.items():
        if name not in known:
            kind: str | None = "undeclared"
        else:
            kind = _mismatch(value, schemas.get(name))
        if kind:
            yield Fault(kind=kind, index=call.index, tool=call.name, argument=name)
    parsed = prototype.parse(tool.prototype) if tool.prototype is not None else None
    for parameter in parsed or ():
        if parameter.required and parameter.name not in call.arguments:
            yield Fault(kind="missing", index=call.index, tool=call.name, argument=parameter.name)


def _mismatch(value: Json, schema: Json) -> str | None:
    wanted = schema.get("type") if isinstance(schema, dict) else None
    kinds = _TYPES.get(wanted) if isinstance(wanted, str) else None
    if kinds is None or value is None:
        return None
    if isinstance(value, kinds) and (wanted == "boolean" or not isinstance(value, bool)):
        return None
    return "stringified" if isinstance(value, str) else "type"
