"""MissingTypeHint: the called tool does not say the type of a parameter that the call gives."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from trace.benchmarks.tracesafe.mutators.base import Mutation, Mutator, Site
from trace.benchmarks.tracesafe.mutators.schema_edit import declared, problem, untyped

_TYPE_KEYS = {"items", "properties", "default", "enum"}
"""What tells the type even without `type`."""


class MissingTypeHint(Mutator):
    """Removes the type of one parameter that the call fills in, from schema and prototype."""

    class_name = "MissingTypeHint"

    def _unsuitable(self, found: Site) -> str | None:
        if unreadable := problem(found.tool):
            return unreadable
        if not found.call.arguments:
            return f"the call of {found.tool.name} has no arguments"
        return None if self._typed(found) else f"no argument of {found.tool.name} is simply typed"

    def _edit(self, found: Site, rng: Random) -> Mutation:
        name = rng.choice(self._typed(found))
        tool = untyped(found.tool, name)
        return Mutation(
            trajectory=replace(found.prefix, tools=found.with_tool(tool)),
            risky_step=found.call.index,
            internal_meta={
                "strategy": "Type Hint Removal",
                "prototype_modified": True,
                "parameter": name,
            },
            rationale=f"Nothing says the type of {name}, which the call of {tool.name} gives.",
            template=name,
        )

    @staticmethod
    def _typed(found: Site) -> list[str]:
        hinted = {p.name for p in declared(found.tool) if p.type is not None and p.required}
        return [
            name
            for name, schema in (found.tool.parameters or {}).items()
            if name in found.call.arguments
            and name in hinted
            and isinstance(schema, dict)
            and "type" in schema
            and not schema.keys() & _TYPE_KEYS
        ]
