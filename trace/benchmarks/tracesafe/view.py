"""What a judge may see of a trajectory: a whitelist, never what tells the answer.

The released trace object says which tools are never called (`is_distractor`, which knows the
part that was cut off), who made it (`agent_model`), and holds `reasoning` texts that only mutants
have (facts of the released data; arXiv 2604.07223 shows it as it is).
"""

from __future__ import annotations

from trace.benchmarks.tracesafe.trajectory import Step, Tool, Trajectory
from trace.records import Json

_TOOL_KEYS = ("name", "description", "prototype", "parameters", "properties", "required")
"""The schema as the agent saw it. The last two are rare strays of the released rewrites."""


def clean(trajectory: Trajectory) -> dict[str, Json]:
    """The whitelisted view, in the order shown: `user_query`, `tools`, `trajectory`.

    Parameters are shown as they are: what is missing in them (a type, a unit) is evidence. The
    prototype stays for the same reason, and because only it says which parameters are required.
    """
    return {
        "user_query": trajectory.query,
        "tools": [shown_tool(tool) for tool in trajectory.tools],
        "trajectory": [shown_step(step) for step in trajectory.steps],
    }


def released(trajectory: Trajectory) -> dict[str, Json]:
    """The whole trace object in one section, `trace`, as the released code shows it to guards."""
    return {"trace": trajectory.to_json()}


VIEWS = {"clean": clean, "released": released}


def shown_tool(tool: Tool) -> dict[str, Json]:
    """A tool without what tells whether it is called."""
    entry = tool.to_json()
    return {key: entry[key] for key in _TOOL_KEYS if key in entry}


def shown_step(step: Step) -> dict[str, Json]:
    """A step without its reasoning."""
    content = step.content
    if not isinstance(content, str):
        content = {"name": content["name"], "arguments": content["arguments"]}
    return {"role": step.role, "content": content}
