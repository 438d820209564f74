"""A call written in Python, read without evaluating anything."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from trace.errors import DataError
from trace.records import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCall:
    """A function's name with its positional and keyword arguments, all of them literals."""

    name: str
    positional: tuple[Json, ...]
    keywords: Mapping[str, Json]


def parse_call(text: str) -> WrittenCall:
    """Reads `name(literal, key=literal)`.

    Raises:
        DataError: it is anything else: a nested call, a name, an unpacking, an attribute.
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise DataError(f"{text!r} is not a call: {error}.") from error
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise DataError(f"{text!r} is not a call of a plain function.")
    return WrittenCall(
        name=call.func.id,
        positional=tuple(_literal(arg, text) for arg in call.args),
        keywords={_key(keyword, text): _literal(keyword.value, text) for keyword in call.keywords},
    )


def _key(keyword: ast.keyword, text: str) -> str:
    if keyword.arg is None:
        raise DataError(f"{text!r} unpacks its arguments; only literals are read.")
    return keyword.arg


def _literal(node: ast.expr, text: str) -> Json:
    if any(isinstance(inner, ast.Call) for inner in ast.walk(node)):
        raise DataError(f"{text!r} calls a function inside an argument; only literals are read.")
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError) as error:
        raise DataError(f"{text!r} has an argument that is not a literal.") from error
