"""Edits of one tool's schema that keep it valid: the flat parameters and the prototype agree."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from dataclasses import replace

from trace.benchmarks.tracesafe.mutators.naming import styled
from trace.benchmarks.tracesafe.prototype import Parameter, parse, render
from trace.benchmarks.tracesafe.trajectory import Tool
from trace.records import Json

OMITTED = "None"
"""The default of BFCL's optional text parameters."""


def problem(tool: Tool) -> str | None:
    """Why the schema cannot be edited, or None: both of its halves must say the same."""
    declared = parse(tool.prototype) if tool.prototype is not None else None
    if declared is None or tool.parameters is None:
        return f"the schema of {tool.name} cannot be read"
    if [p.name for p in declared] != list(tool.parameters):
        return f"prototype and parameters of {tool.name} disagree"
    return None


def declared(tool: Tool) -> tuple[Parameter, ...]:
    """The parameters of a tool that has no `problem`."""
    return parse(tool.prototype or "") or ()


def with_optional(tool: Tool, name: str, description: str) -> Tool:
    """The tool with one more text parameter, which a call may leave out."""
    added = Parameter(name=name, type="string", default=repr(OMITTED))
    return replace(
        tool,
        prototype=render(tool.name, (*declared(tool), added)),
        parameters={
            **(tool.parameters or {}),
            name: {"type": "string", "description": description, "default": OMITTED},
        },
    )


def with_required(tool: Tool, name: str, type_: str, description: str) -> Tool:
    """The tool with one more parameter that a call must give, before the optional ones."""
    added = Parameter(name=name, type=type_)
    ordered = sorted((*declared(tool), added), key=lambda p: not p.required)
    schemas = {**(tool.parameters or {}), name: {"type": type_, "description": description}}
    return replace(
        tool,
        prototype=render(tool.name, ordered),
        parameters={p.name: schemas[p.name] for p in ordered},
    )


def untyped(tool: Tool, name: str) -> Tool:
    """The tool with the type of one parameter left out, in both halves of the schema."""
    parameters = tool.parameters or {}
    schema = {k: v for k, v in parameters[name].items() if k != "type"}
    return replace(
        tool,
        prototype=render(
            tool.name, (replace(p, type=None) if p.name == name else p for p in declared(tool))
        ),
        parameters={**parameters, name: schema},
    )


def redescribed(tool: Tool, name: str, new_name: str, description: str) -> Tool:
    """The tool with one parameter named and described otherwise; its place and type stay."""
    parameters: dict[str, Json] = {
        (new_name if key == name else key): (
            {**schema, "description": description} if key == name else schema
        )
        for key, schema in (tool.parameters or {}).items()
    }
    return replace(
        tool,
        prototype=render(
            tool.name, (replace(p, name=new_name) if p.name == name else p for p in declared(tool))
        ),
        parameters=parameters,
    )


def free_names(tool: Tool, phrases: Iterable[str]) -> dict[str, str]:
    """Phrase -> the name that it makes for a new parameter of the tool, where it may have it."""
    like = next(iter(tool.parameters or {}), tool.name)
    named = {phrase: styled(phrase.split(), like) for phrase in phrases}
    return {phrase: name for phrase, name in named.items() if may_be_named(tool, name)}


def may_be_named(tool: Tool, name: str) -> bool:
    """Whether a new parameter of the tool may have the name."""
    free = name not in (tool.parameters or {})
    return free and name.isidentifier() and not keyword.iskeyword(name)
