"""The prototype string of a tool: the only place of the released format that says what is required.

`def tail(file_name: string, lines: integer = 10) -> Any: pass`: no default means required.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter. `type` and `default` are source text; None where there is none."""

    name: str
    type: str | None = None
    default: str | None = None

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is None

    def __str__(self) -> str:
        hint = "" if self.type is None else f": {self.type}"
        if self.default is None:
            return f"{self.name}{hint}"
        return f"{self.name}{hint} = {self.default}"


@lru_cache(maxsize=4096)  # the same few prototypes stand in every record
def parse(prototype: str) -> tuple[Parameter, ...] | None:
    """The parameters of a prototype, in order; None if it is not one.

    A prototype without a body (`def ls(a=False):`, as the released mutations write) is read too.
    """
    for source in (prototype, f"{prototype.rstrip().removesuffix(':')}: pass"):
        try:
            tree = ast.parse(source.strip())
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
        if len(tree.body) == 1 and isinstance(function := tree.body[0], ast.FunctionDef):
            return _parameters(function.args)
    return None


def _parameters(args: ast.arguments) -> tuple[Parameter, ...]:
    positional = [*args.posonlyargs, *args.args]
    bare = len(positional) - len(args.defaults)
    defaults: list[ast.expr | None] = [None] * bare
    defaults += args.defaults
    pairs = [
        *zip(positional, defaults, strict=True),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ]
    return tuple(
        Parameter(
            name=arg.arg,
            type=ast.unparse(arg.annotation) if arg.annotation else None,
            default=ast.unparse(default) if default else None,
        )
        for arg, default in pairs
    )


def render(name: str, parameters: Iterable[Parameter]) -> str:
    """The prototype as the released data write it."""
    return f"def {name}({', '.join(str(p) for p in parameters)}) -> Any: pass"
