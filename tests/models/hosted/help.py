"""What the tests of hosted models share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.models.hosted.server import verdict_of
from trace import config
from trace.records import Completion, Request


def settings(url: str = "http://127.0.0.1:1/v1", **given: Any) -> config.HostedModel:
    """A hosted model; keys of the engine are told from keys of the model by their names."""
    names = ("concurrency", "timeout", "attempts", "max_cost_usd", "max_requests")
    engine = {"timeout": 1.0} | {name: given.pop(name) for name in names if name in given}
    return config.HostedModel(
        **({"name": "served", "id": "snap", "base_url": url} | given),
        engine=config.OpenAIEngine(**engine),
    )


def ask(count: int) -> list[Request]:
    return [Request(messages=({"role": "user", "content": f"item {i}"},)) for i in range(count)]


def flat(batches: Iterable[list[Completion]]) -> list[Completion]:
    return [completion for batch in batches for completion in batch]


def drain(batches: Iterable[list[Completion]], into: list[Completion]) -> None:
    """Like `flat`, but what came before an error stays."""
    for batch in batches:
        into += batch


def right(request: Request) -> str:
    return verdict_of(request.messages[0]["content"])
