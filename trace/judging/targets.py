"""What of a sample a guard judges, as the conversation that guards are made for."""

from __future__ import annotations

import json
from collections.abc import Mapping

from trace.errors import ConfigError
from trace.judging.guards.base import Conversation, Target
from trace.records import Json, Sample

_STEPS = ("tools", "trajectory", "trace")


def conversation(sample: Sample) -> tuple[Target, Conversation]:
    """The target that a sample's view holds, and the conversation that shows it.

    A reasoning trace stands as the assistant's turn after its prompt, and so does a trajectory, as
    text: the tools, then a line a step.

    Raises:
        ConfigError: the view holds nothing that a guard could be shown.
    """
    view = sample.view
    if any(name in view for name in _STEPS):
        query = str(view.get("user_query", view.get("trace", {}).get("user_query", "")))
        return "trajectory", Conversation(user=query, assistant=_told(view))
    user = next((view[name] for name in ("prompt", "data") if name in view), None)
    if user is not None:
        for name, target in _TURNS.items():
            if name in view:
                return target, Conversation(user=_text(user), assistant=_text(view[name]))
        return "prompt", Conversation(user=_text(user))
    raise ConfigError(
        f"model.guard: a guard cannot be shown the sections {', '.join(view)}. Choose a model "
        "without a guard's template."
    )


_TURNS: Mapping[str, Target] = {
    "reasoning": "reasoning",
    "response": "response",
    "text": "response",
}


def _told(view: Mapping[str, Json]) -> str:
    whole = view.get("trace")
    steps = view.get("trajectory", []) if whole is None else whole["trace"]
    tools = view.get("tools", []) if whole is None else whole["tool_lists"]
    lines = [f"{step['role']}: {_text(step['content'])}" for step in steps]
    return "\n".join(["Tools:", *map(_text, tools), "Trajectory:", *lines])


def _text(content: Json) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
