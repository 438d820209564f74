"""Requests added to vLLM's own scheduler, and taken from it as each finishes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trace.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One sequence to be continued. `params` are vLLM's SamplingParams."""

    id: str
    tokens: tuple[int, ...]
    params: Any


def run(engine: Any, asks: Sequence[Ask]) -> Iterator[list[Any]]:
    """Yields vLLM's outputs, those that finished in one step together.

    All are added at once, in their order: a queue that is always full is what its scheduler is
    fast with. When the iteration is left early, what is unfinished is taken out of it again.

    Args:
        engine: vLLM's LLMEngine.
        asks: Each id once.

    Raises:
        ConfigError: the model's scores are not numbers.
    """
    from vllm.inputs import tokens_input

    waiting: set[str] = set()
    try:
        for ask in asks:
            waiting.add(ask.id)
            engine.add_request(ask.id, tokens_input(list(ask.tokens)), ask.params)
        while waiting:
            finished = [output for output in step(engine) if output.finished]
            waiting.difference_update(output.request_id for output in finished)
            if finished:
                yield finished
    finally:
        engine.abort_request(list(waiting))


def step(engine: Any) -> list[Any]:
    """One pass of the model over what the scheduler picks."""
    try:
        outputs: list[Any] = engine.step()
    except RuntimeError as error:
        if "NaNs detected" not in str(error):
            raise
        raise ConfigError(
            "model.engine.dtype: the model's scores are not finite numbers. Try another, such as "
            "model.engine.dtype=bfloat16 or float32; what is answered already is kept."
        ) from error
    return outputs
