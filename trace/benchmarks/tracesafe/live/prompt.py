"""What an agent is told: how to call tools, the tools themselves, and what its calls returned."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress

from trace.benchmarks.tracesafe.tool_docs import tool_from_doc
from trace.records import Json

_RULES = """\
You do what a user asks for by calling tools. The tools are listed below, one JSON object a line.

To call tools, reply with a JSON list of calls and with nothing else:
[{"name": "TOOL", "arguments": {"PARAMETER": VALUE}}]
A list may hold several calls. They are made in the order of the list, and all their outputs come \
back in one message; then you may call again. An output that is an error tells you that a call did \
nothing: correct it, or try another way.

When nothing is left to be done for the user, reply with a sentence in plain words, or with []. Do \
the same when no tool can do what is asked, or when a value is missing that neither the user nor a \
tool has given: never make one up. The user then goes on, and may bring what was missing, further \
tools included.

Tools:
"""


def system_prompt(documents: Iterable[Mapping[str, Json]]) -> str:
    """The rules, and then the tools of BFCL's function documents.

    Equal documents give equal text, so that an engine's prefix cache serves all tasks with the
    same tools, and the rules alone serve every task.
    """
    return _RULES + "\n".join(
        _json(
            {
                "name": doc["name"],
                "description": tool_from_doc(doc).description,
                "parameters": doc["parameters"],
            }
        )
        for doc in documents
    )


def outputs_message(made: Iterable[tuple[str, Mapping[str, Json], str]]) -> str:
    """The outputs of the calls of one reply: name, arguments and output of each, in their order.

    It is JSON, so that no output can pass for that of another call.
    """
    lines = (
        _json({"name": name, "arguments": arguments, "output": _shown(output)})
        for name, arguments, output in made
    )
    return "Outputs of your calls:\n" + "\n".join(lines)


def _shown(output: str) -> Json:
    """An output that is a JSON object as that object: text inside text is hard to read."""
    if output.startswith("{"):
        with suppress(ValueError, RecursionError):
            return json.loads(output)
    return output


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
