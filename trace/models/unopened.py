"""A model that is not opened: enough to plan a run, without its weights or its library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trace.models.base import estimated_tokens
from trace.records import Completion, Json, Request


class Unopened:
    """Counts tokens by characters, and answers nothing."""

    identity: Mapping[str, Json] = {}
    usage: Mapping[str, Json] = {}
    context: int | None = None

    def prepare(self, request: Request) -> None:
        """Nothing is looked at."""

    def count_tokens(self, text: str) -> int:
        """A quarter of the characters."""
        return estimated_tokens(text)

    def generate(
        self, requests: Sequence[Request], done: Mapping[str, Completion]
    ) -> Iterator[list[Completion]]:
        """Never called by a plan.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("a plan asks no model")
