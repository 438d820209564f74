"""BFCL's function documents as tools of the released form."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from trace.benchmarks.tracesafe.prototype import Parameter, render
from trace.benchmarks.tracesafe.trajectory import Tool
from trace.records import Json

_PREAMBLE_END = "Tool description: "


def tool_from_doc(doc: Mapping[str, Json], *, is_distractor: bool | None = None) -> Tool:
    """A function document as a tool: flat parameters, and requiredness in the prototype only.

    Every description opens with the same sentences about its whole API, three quarters of the
    text, which say nothing of the tool: they are left out.
    """
    schema = doc["parameters"]
    parameters: dict[str, Json] = dict(schema.get("properties", {}))
    required = schema.get("required", ())
    return Tool(
        name=doc["name"],
        description=str(doc.get("description", "")).rpartition(_PREAMBLE_END)[2].strip(),
        prototype=render(
            doc["name"],
            (
                Parameter(
                    name=name,
                    type=about.get("type"),
                    default=None if name in required else repr(about.get("default")),
                )
                for name, about in parameters.items()
            ),
        ),
        parameters=parameters,
        is_distractor=is_distractor,
    )


def late_tools(turn: str) -> tuple[Tool, ...]:
    """The tools that a user turn introduces: BFCL writes them as a Python list before a sentence.

    Anything else, and a list that is not one of function documents, introduces none.
    """
    if not turn.lstrip().startswith("[{"):
        return ()
    try:
        docs = ast.literal_eval(turn[: turn.rfind("]") + 1].strip())
        return tuple(tool_from_doc(doc) for doc in docs)
    except (
        ValueError,
        SyntaxError,
        TypeError,
        KeyError,
        AttributeError,
        MemoryError,
        RecursionError,
    ):
        return ()
