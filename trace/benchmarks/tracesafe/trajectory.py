"""The released trace object: a user's query, the tools shown, and the steps taken."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from trace.errors import DataError
from trace.records import Json

T = TypeVar("T")
_KINDS = {str: "text", dict: "an object", list: "a list", bool: "true or false"}
_TOOL_FIELDS = {"description": str, "prototype": str, "parameters": dict, "is_distractor": bool}
_CONSTANTS = ("domain", "scenario_description", "environment")
ROLES = ("user", "agent", "tool")


def need(value: Mapping[str, Json], key: str, kind: type[T], where: str) -> T:
    """The field `key`, which must be there and of `kind`.

    Raises:
        DataError: it is not, with `where` and the field's name.
    """
    if key not in value:
        raise DataError(f"{where}.{key}: this required field is missing.")
    if not isinstance(found := value[key], kind):
        raise DataError(f"{where}.{key}: should be {_KINDS[kind]}, is {_named(found)}.")
    return found


def maybe(value: Mapping[str, Json], key: str, kind: type[T], where: str) -> T | None:
    """Like `need`, but the field may be absent."""
    return need(value, key, kind, where) if key in value else None


def _named(value: Json) -> str:
    if value is None:
        return "null"
    return next((words for kind, words in _KINDS.items() if isinstance(value, kind)), repr(value))


def _rest(value: Mapping[str, Json], known: Collection[str]) -> dict[str, Json]:
    return {k: v for k, v in value.items() if k not in known}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """An entry of `tool_lists`. `parameters` is flat: parameter -> its schema.

    What is not of the usual type is kept in `extra`, not refused: some mutators have a language
    model rewrite the entry, and a malformed schema is then the evidence.
    """

    name: str
    description: str | None = None
    prototype: str | None = None
    parameters: Mapping[str, Json] | None = None
    is_distractor: bool | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json, where: str) -> Tool:
        """Reads one entry.

        Raises:
            DataError: it is not an object, or has no name.
        """
        if not isinstance(value, dict):
            raise DataError(f"{where}: a tool should be an object, is {_named(value)}.")
        usual = {
            key: value[key]
            for key, kind in _TOOL_FIELDS.items()
            if key in value and isinstance(value[key], kind)
        }
        return cls(
            name=need(value, "name", str, where), **usual, extra=_rest(value, ("name", *usual))
        )

    def to_json(self) -> dict[str, Json]:
        """The entry as released; what it did not have stays absent."""
        known = {
            "name": self.name,
            "description": self.description,
            "prototype": self.prototype,
            "parameters": self.parameters,
            "is_distractor": self.is_distractor,
        }
        return {k: v for k, v in known.items() if v is not None} | dict(self.extra)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step. An agent's content is a call (`name`, `arguments`, and what else stands there)."""

    role: str
    content: str | Mapping[str, Json]
    extra: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json, where: str) -> Step:
        """Reads one step.

        Raises:
            DataError: it is not a step of a user, an agent or a tool.
        """
        if not isinstance(value, dict):
            raise DataError(f"{where}: a step should be an object, is {_named(value)}.")
        role = need(value, "role", str, where)
        if role not in ROLES:
            raise DataError(f"{where}.role: {role!r} is none of {', '.join(ROLES)}.")
        if "content" not in value:
            raise DataError(f"{where}.content: this required field is missing.")
        content = value["content"]
        if isinstance(content, dict) and role == "agent":
            need(content, "name", str, f"{where}.content")
            need(content, "arguments", dict, f"{where}.content")
        elif not isinstance(content, str):
            wanted = "text or a call" if role == "agent" else "text"
            raise DataError(f"{where}.content: should be {wanted}, is {_named(content)}.")
        return cls(role=role, content=content, extra=_rest(value, ("role", "content")))

    def to_json(self) -> dict[str, Json]:
        """The step as released."""
        return {"role": self.role, "content": self.content, **self.extra}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call and the index of its step."""

    index: int
    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """A trace object. `constants` are the keys that say nothing (the same in all records)."""

    query: str
    tools: tuple[Tool, ...]
    steps: tuple[Step, ...]
    agent_model: str
    constants: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json, where: str) -> Trajectory:
        """Reads a trace object; unknown keys are kept.

        Raises:
            DataError: a field is missing or of the wrong type; it names `where` and the field.
        """
        if not isinstance(value, dict):
            raise DataError(f"{where}: a trace should be an object, is {_named(value)}.")
        tools = need(value, "tool_lists", list, where)
        steps: list[Any] = need(value, "trace", list, where)
        if not steps:
            raise DataError(f"{where}.trace: holds no step.")
        return cls(
            query=need(value, "user_query", str, where),
            tools=tuple(
                Tool.from_json(tool, f"{where}.tool_lists[{i}]") for i, tool in enumerate(tools)
            ),
            steps=tuple(
                Step.from_json(step, f"{where}.trace[{i}]") for i, step in enumerate(steps)
            ),
            agent_model=need(value, "agent_model", str, where),
            constants=_rest(value, ("user_query", "tool_lists", "trace", "agent_model")),
        )

    def to_json(self) -> dict[str, Json]:
        """The trace object as released, keys in the released order."""
        head = {k: self.constants[k] for k in _CONSTANTS if k in self.constants}
        body = {
            "tool_lists": [tool.to_json() for tool in self.tools],
            "trace": [step.to_json() for step in self.steps],
            "agent_model": self.agent_model,
        }
        domain = {k: head.pop(k) for k in ("domain",) if k in head}
        return domain | {"user_query": self.query} | head | body | _rest(self.constants, _CONSTANTS)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls, in order."""
        return tuple(
            Call(index=i, name=step.content["name"], arguments=step.content["arguments"])
            for i, step in enumerate(self.steps)
            if step.role == "agent" and not isinstance(step.content, str)
        )
