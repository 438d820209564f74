"""What every engine offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from trace.records import Completion, Json, Request


class Model(Protocol):
    """Answers requests."""

    @property
    def identity(self) -> Mapping[str, Json]:
        """All that tells this model from another, and is part of every key.

        It is known without loading weights: a run that is answered by the log loads none.
        """
        ...

    @property
    def usage(self) -> Mapping[str, Json]:
        """What the last `generate` used of a paid service; empty where nothing is paid for."""
        ...

    def prepare(self, request: Request) -> None:
        """Finds out, without loading weights, whether a request like this can be asked at all.

        Raises:
            TraceError: it cannot; nothing has been written yet.
        """
        ...

    @property
    def context(self) -> int | None:
        """How many tokens a prompt and its answer may have together; None where nobody tells.

        Raises:
            ConfigError: an engine of this process has to know, and the model does not tell.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """How many tokens the text has for this model, without any template."""
        ...

    def generate(
        self, requests: Sequence[Request], done: Mapping[str, Completion]
    ) -> Iterator[list[Completion]]:
        """Yields finished batches, in any order; each is logged as one piece.

        Numbers depend on the shape of a batch. So the batches are planned from all requests, also
        those that are done, and a batch of which anything is missing is made whole again.

        Args:
            requests: The full list, each key once.
            done: Key -> completion of those that are answered already.
        """
        ...


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has where no tokenizer is at hand: a quarter of its characters.

    That is what English text has; Chinese text has several times more.
    """
    return len(text) // 4
