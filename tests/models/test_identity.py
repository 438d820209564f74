"""What is logged was split by a style of reasoning, which is therefore part of every key."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trace import config
from trace.models.open import make
from trace.records import Request

ENGINES: dict[str, Callable[[str], config.Model]] = {
    "hf": lambda style: config.Model(
        name="m", asset="smollm2", reasoning=style, engine=config.HfEngine()
    ),
    "vllm": lambda style: config.Model(
        name="m", asset="smollm2", reasoning=style, engine=config.VllmEngine()
    ),
    "openai_compatible": lambda style: config.HostedModel(
        name="m", id="m", reasoning=style, base_url="https://host.example/v1",
        engine=config.OpenAIEngine(),
    ),
    "mock": lambda style: config.MockModel(
        name="m", rates={"default": 1.0}, reasoning=style, engine=config.MockEngine()
    ),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_another_style_of_reasoning_is_asked_anew(engine: str) -> None:
    request = Request(messages=({"role": "user", "content": "Hello."},))
    keys = {}
    for style in ("think", "gemma", "harmony", "none", "think"):
        settings = ENGINES[engine](style)
        keys[style] = request.key(make(settings.engine, settings).identity)
    assert len(set(keys.values())) == 4
