"""How a group is declared: values set once, checked when the object is built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

from trace.errors import ConfigError

T = TypeVar("T")


def _set_once(self: object, name: str, value: Any) -> None:
    if name in self.__dict__:
        raise AttributeError(f"{type(self).__name__}.{name} is set once; use dataclasses.replace")
    object.__setattr__(self, name, value)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def config(cls: type[T]) -> type[T]:
    """A keyword-only dataclass whose fields are set once.

    `frozen=True` will not do: OmegaConf makes such nodes read-only, and Hydra cannot merge them.
    """
    made = dataclass(kw_only=True)(cls)
    made.__setattr__ = _set_once  # type: ignore[method-assign]
    return made


def check(ok: bool, key: str, problem: str, instead: str) -> None:
    """Raises the one kind of message that a wrong value gets."""
    if not ok:
        raise ConfigError(f"{key}: {problem}. {instead}")


def check_choice(key: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuses a value that is not one of `choices`, naming them."""
    check(
        value in choices, key, f"{value!r} is not a choice", f"Choose one of {', '.join(choices)}."
    )
