"""An agent's reply, read as calls or as the end of its turn. Nothing is evaluated or repaired.

A call that is almost one is `unreadable`, not the end of a turn: guessing would put calls into a
trajectory that its agent did not make.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from trace.benchmarks.tracesafe.call_syntax import WrittenCall, parse_call
from trace.errors import DataError
from trace.records import Json

_TAG = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_ANY_TAG = re.compile(r"</?tool_call>")
_FENCE = re.compile(r"^```[\w-]*[ \t]*\n(.*?)\n[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_BARE_CALL = re.compile(r"[A-Za-z_]\w*\((?:.*\)\Z|\s*(?:\w+\s*=|['\"\[{]))", re.DOTALL)
_CALL_LINE = re.compile(r"^[ \t]*\[?[A-Za-z_][\w.]*\(.*\)\]?[ \t,;]*$", re.MULTILINE)
_NAME, _ARGUMENTS = re.compile(r'"name"\s*:'), re.compile(r'"(?:arguments|parameters)"\s*:')
_FIELDS = {"name", "arguments", "parameters", "id", "type"}  # the last three: other models' habits


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Calls to be made in this order; or why there is no telling. Neither: the turn is over."""

    calls: tuple[WrittenCall, ...] = ()
    unreadable: str | None = None


class _UnreadableError(ValueError):
    """Why a text that looks like calls is none; a general clause, so that equal ones count."""


def read_reply(text: str) -> Reply:
    """Reads one reply without its reasoning. Never fails.

    Calls are a JSON list of objects or one object, with `name` and `arguments`; or a list of
    calls written in Python with literals, or one such call. They are the whole reply, stand in
    one fenced block of it, or are the JSON in each of its `<tool_call>` blocks. Plain text, an
    empty list and an empty reply end the turn.
    """
    try:
        return Reply(calls=tuple(_read(text.strip())))
    except _UnreadableError as error:
        return Reply(unreadable=str(error))


def _read(text: str) -> Sequence[WrittenCall]:
    if _is_meant(text):
        return _calls(text)
    if _ANY_TAG.search(text):
        if _ANY_TAG.search(_TAG.sub("", text)):
            raise _UnreadableError("a tool_call tag stands alone")
        return [call for block in _TAG.findall(text) for call in _json_calls(block)]
    fenced = [block.strip() for block in _FENCE.findall(text) if _is_meant(block.strip())]
    if len(fenced) > 1:  # the later ones are often written after outputs that were made up
        raise _UnreadableError("calls stand in several code blocks")
    if fenced:
        return _calls(fenced[0])
    if _CALL_LINE.search(text) or (_NAME.search(text) and _ARGUMENTS.search(text)):
        raise _UnreadableError("calls stand among other text")
    return ()


def _is_meant(text: str) -> bool:
    """Whether the text can only be meant as calls."""
    return text.startswith(("[", "{")) or _BARE_CALL.match(text) is not None


def _calls(text: str) -> Sequence[WrittenCall]:
    if text.startswith("{") or _is_json(text):
        return _json_calls(text)
    return _python_calls(text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _json_calls(text: str) -> list[WrittenCall]:
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except _UnreadableError:
        raise
    except (ValueError, RecursionError) as error:
        raise _UnreadableError("it is not valid JSON") from error
    return [_call(item) for item in (value if isinstance(value, list) else [value])]


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _UnreadableError("an object has a key twice")
    return made


def _call(item: Json) -> WrittenCall:
    if not isinstance(item, dict):
        raise _UnreadableError("an item of the list is no call")
    name = item.get("name")
    if not isinstance(name, str) or not name:
        raise _UnreadableError("a call has no name")
    if item.keys() - _FIELDS or {"arguments", "parameters"} <= item.keys():
        raise _UnreadableError("a call has fields that no call has")
    arguments = item.get("arguments", item.get("parameters", {}))
    if not isinstance(arguments, dict):
        raise _UnreadableError("the arguments of a call are no object")
    return WrittenCall(name=name, positional=(), keywords=_checked(arguments))


def _python_calls(text: str) -> list[WrittenCall]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a text of a model's, not code of ours
            body = ast.parse(text, mode="eval").body
            nodes = body.elts if isinstance(body, ast.List | ast.Tuple) else [body]
            return [_python_call(node) for node in nodes]
    except (SyntaxError, DataError, ValueError, MemoryError, RecursionError) as error:
        if isinstance(error, _UnreadableError):
            raise
        raise _UnreadableError("it is neither JSON nor calls with literal arguments") from error


def _python_call(node: ast.expr) -> WrittenCall:
    call = parse_call(ast.unparse(node))
    if isinstance(node, ast.Call) and len(node.keywords) > len(call.keywords):
        raise _UnreadableError("a call has an argument twice")
    return WrittenCall(
        name=call.name,
        positional=tuple(_checked(list(call.positional))),
        keywords=_checked(dict(call.keywords)),
    )


def _checked(arguments: Json) -> Json:
    """The arguments, if a line of JSON can hold them: no NaN, no tuple, no half of a character."""
    try:
        text = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        if text.encode("utf-8") and json.loads(text) == arguments:
            return arguments
    except (ValueError, TypeError, RecursionError):
        pass
    raise _UnreadableError("an argument is no JSON value")
