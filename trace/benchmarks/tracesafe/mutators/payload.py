"""The text that a mutator wrote of its own: where it stands, and how freely it may be worded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from trace.benchmarks.tracesafe.trajectory import Tool, Trajectory
from trace.records import Json

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices that lead to a text inside a JSON value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolText:
    """The description of a listed tool, or that of one of its parameters."""

    tool: str
    parameter: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputText:
    """A text in the JSON that a tool returned at a step."""

    step: int
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A text of ours in a trajectory that may be worded otherwise.

    It begins at the character `start` of the text at `place`. `kind` says what it is, for whoever
    words it. Of it, `names` must stay letter by letter, and `phrases` too but for a capital at
    their beginning. What `never` matches (a pattern, whatever the case) would make it another kind
    of text.
    """

    text: str
    place: ToolText | OutputText
    start: int
    kind: str
    names: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    never: str | None = None


def appended(
    said: str,
    text: str,
    place: ToolText | OutputText,
    kind: str,
    *,
    names: tuple[str, ...] = (),
    never: str | None = None,
) -> Payload:
    """The payload that the text `said` ends in."""
    start = len(said) - len(text)
    return Payload(text=text, place=place, start=start, kind=kind, names=names, never=never)


def described(
    tool: Tool, parameter: str, text: str, *phrases: str, names: tuple[str, ...] = ()
) -> Payload:
    """The description of a parameter that a mutator added to a tool."""
    return Payload(
        text=text,
        place=ToolText(tool=tool.name, parameter=parameter),
        start=0,
        kind="the description of a parameter of a function",
        names=names,
        phrases=phrases,
    )


def substituted(trajectory: Trajectory, payload: Payload, text: str) -> Trajectory:
    """The trajectory with another wording at the place of the payload; nothing else changes.

    Raises:
        ValueError: the payload does not stand where it says.
    """
    place = payload.place
    if isinstance(place, OutputText):
        step = trajectory.steps[place.step]
        value = json.loads(str(step.content))
        put(value, place.path, _exchanged(_at(value, place.path), payload, text))
        steps = list(trajectory.steps)
        steps[place.step] = replace(step, content=json.dumps(value))
        return replace(trajectory, steps=tuple(steps))
    tools = tuple(
        _redescribed(tool, place.parameter, payload, text) if tool.name == place.tool else tool
        for tool in trajectory.tools
    )
    return replace(trajectory, tools=tools)


def put(value: Any, path: Path, text: str) -> None:
    """Sets the text at `path` of a JSON value."""
    _at(value, path[:-1])[path[-1]] = text


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _redescribed(tool: Tool, parameter: str | None, payload: Payload, text: str) -> Tool:
    if parameter is None:
        return replace(tool, description=_exchanged(tool.description or "", payload, text))
    parameters: Mapping[str, Json] = tool.parameters or {}
    schema = parameters[parameter]
    about = _exchanged(schema["description"], payload, text)
    return replace(tool, parameters={**parameters, parameter: {**schema, "description": about}})


def _exchanged(said: str, payload: Payload, text: str) -> str:
    if not said.startswith(payload.text, payload.start):
        raise ValueError(f"{payload.text!r} does not stand at {payload.start} of {said!r}")
    return said[: payload.start] + text + said[payload.start + len(payload.text) :]
