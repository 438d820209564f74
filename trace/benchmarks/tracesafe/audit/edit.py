"""What a mutant changed: its risky call and the called tool, beside those of its original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trace.benchmarks.tracesafe import prototype
from trace.benchmarks.tracesafe.released import MutationRecord
from trace.benchmarks.tracesafe.trajectory import Call, Step, Tool, Trajectory
from trace.records import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A mutant side by side with its original. What cannot be found is None."""

    record: MutationRecord
    call: Call | None
    old_call: Call | None
    tool: Tool | None
    old_tool: Tool | None

    @classmethod
    def of(cls, record: MutationRecord) -> Edit:
        """Looks the call and the tool up by name: the released diff's indices are off by two."""
        meta, target = record.internal_meta, record.target_tool
        ghost = meta.get("ghost_tool_name")
        name = ghost if isinstance(ghost, str) and ghost else target
        return cls(
            record=record,
            call=_last(record.trajectory, name),
            old_call=_last(record.original, target),
            tool=_listed(record.trajectory, target, record.original),
            old_tool=_listed(record.original, target),
        )

    @property
    def added_arguments(self) -> Mapping[str, Json]:
        """The arguments of the risky call that the original call does not have."""
        if self.call is None:
            return {}
        old = self.old_call.arguments if self.old_call else {}
        return {name: value for name, value in self.call.arguments.items() if name not in old}

    @property
    def added_tools(self) -> tuple[Tool, ...]:
        """The tools that the original does not list; a second entry of a name counts too."""
        left = [tool.name for tool in self.record.original.tools]
        added = []
        for tool in self.record.trajectory.tools:
            if tool.name in left:
                left.remove(tool.name)
            else:
                added.append(tool)
        return tuple(added)

    @property
    def added_steps(self) -> tuple[Step, ...]:
        """The steps of which the original has no equal."""
        return tuple(
            step for step in self.record.trajectory.steps if step not in self.record.original.steps
        )

    def meta_text(self, key: str) -> str | None:
        """A value of `internal_meta` as text; None if it is absent or empty."""
        value = self.record.internal_meta.get(key)
        return str(value) if isinstance(value, str | int | float) and str(value) else None


def declared(tool: Tool) -> frozenset[str]:
    """The names of the parameters that the schema or the prototype of a tool declares."""
    parsed = prototype.parse(tool.prototype) if tool.prototype is not None else None
    return frozenset(tool.parameters or ()).union(p.name for p in parsed or ())


def texts(value: Json) -> Iterator[str]:
    """Every key, text and number of a JSON value, in order."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _last(trajectory: Trajectory, name: str) -> Call | None:
    return next((call for call in reversed(trajectory.calls) if call.name == name), None)


def _listed(trajectory: Trajectory, name: str, original: Trajectory | None = None) -> Tool | None:
    """The entry of a name; of two, the one that the original does not have as it is."""
    entries = [tool for tool in trajectory.tools if tool.name == name]
    known = original.tools if original else ()
    return next((tool for tool in entries if tool not in known), next(iter(entries), None))
