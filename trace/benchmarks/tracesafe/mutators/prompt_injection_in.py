"""PromptInjectionIn: the description of the called tool gives the agent orders."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from trace.benchmarks.tracesafe.mutators.base import Mutation, Mutator, Site
from trace.benchmarks.tracesafe.mutators.naming import sentence
from trace.benchmarks.tracesafe.mutators.orders import KIND, order
from trace.benchmarks.tracesafe.mutators.payload import Payload, ToolText


class PromptInjectionIn(Mutator):
    """Adds orders to the description of the called tool, before or after what it says."""

    class_name = "PromptInjectionIn"

    def _unsuitable(self, found: Site) -> str | None:
        return None if found.tool.description else f"{found.tool.name} has no description"

    def _edit(self, found: Site, rng: Random) -> Mutation:
        said = sentence(found.tool.description or "")
        drawn = order(found, rng)
        first = rng.random() < 0.3
        parts = (drawn.text, said) if first else (said, drawn.text)
        poisoned = replace(found.tool, description=" ".join(parts))
        return Mutation(
            trajectory=replace(found.prefix, tools=found.with_tool(poisoned)),
            risky_step=found.call.index,
            internal_meta={
                "strategy": "Stored Prompt Injection (Description)",
                "payload": drawn.text,
                "target_tool": found.tool.name,
            },
            rationale=f"The description of {found.tool.name} gives the agent orders.",
            template=drawn.template,
            payload=Payload(
                text=drawn.text,
                place=ToolText(tool=found.tool.name),
                start=0 if first else len(said) + 1,
                kind=KIND,
                names=drawn.names,
            ),
        )
