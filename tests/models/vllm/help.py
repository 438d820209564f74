"""What the tests of the vLLM engine share."""

from __future__ import annotations

from typing import Any

from trace import config
from trace.models.base import Model
from trace.records import Completion, Request, Sampling


def settings(**engine: Any) -> config.Model:
    given = {"dtype": "float32", "eager": True, "cpu_cache_gib": 1, "max_rows": 16} | engine
    return config.Model(
        name="smollm2",
        asset="smollm2",
        reasoning="none",
        context=2048,
        engine=config.VllmEngine(**given),
    )


def ask(text: str, **changes: Any) -> Request:
    return Request(
        messages=({"role": "user", "content": text},),
        **{"sampling": Sampling(max_new_tokens=12)} | changes,
    )


def answers(
    model: Model, requests: list[Request], done: dict[str, Completion] | None = None
) -> dict[str, Completion]:
    """The completions by key; one that comes twice is an error."""
    made = [c for batch in model.generate(requests, done or {}) for c in batch]
    out = {c.key: c for c in made}
    assert len(out) == len(made)
    return out


def texts(model: Model, requests: list[Request]) -> list[str]:
    """The answers in the order of the requests."""
    made = answers(model, requests)
    return [made[request.key(model.identity)].text for request in requests]
