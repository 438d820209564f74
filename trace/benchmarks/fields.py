"""An object of a file whose fields are checked as they are taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trace.errors import DataError
from trace.records import Json


@dataclass(frozen=True)
class Fields:
    """An object of a file, whose fields are checked as they are taken.

    `at` is its file and line, for the messages: each method raises DataError where a field is
    missing or not of its kind.
    """

    line: Any
    at: str

    def take(self, name: str, kind: type) -> Any:
        """A field of a kind."""
        if not isinstance(self.line, dict) or name not in self.line:
            raise DataError(f"{self.at}: has no {name}.")
        value = self.line[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise DataError(f"{self.at}: {name}: {value!r:.40} should be {_KINDS[kind]}.")
        return value

    def text(self, name: str) -> str:
        """A text that is not empty."""
        value: str = self.take(name, str)
        if not value.strip():
            raise DataError(f"{self.at}: {name}: is empty.")
        return value

    def choice(self, name: str, choices: tuple[Any, ...]) -> Any:
        """One of some texts."""
        value = self.text(name)
        if value not in choices:
            raise DataError(f"{self.at}: {name}: {value!r:.40} should be {' or '.join(choices)}.")
        return value

    def optional(self, name: str) -> str | None:
        """A text; None where it is null or not there."""
        if not isinstance(self.line, dict) or self.line.get(name) is None:
            return None
        return self.text(name)

    def mapping(self, name: str) -> Mapping[str, Json]:
        """An object; empty where it is null or not there."""
        if self.line.get(name) is None:
            return {}
        value: Mapping[str, Json] = self.take(name, dict)
        return value


_KINDS: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    list: "a list",
    dict: "an object",
    bool: "true or false",
}
