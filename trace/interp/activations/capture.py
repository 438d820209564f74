"""What comes out of decoder layers, seen by forward hooks of our own.

transformers' `output_hidden_states` will not do: its last entry stands behind the final norm, and
whether the others stand before or behind what another hook changes differs between versions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from trace.errors import ConfigError
from trace.interp.activations.layers import LanguageModel, decoder_layers

Take = Callable[[torch.Tensor], torch.Tensor]
"""[rows, positions, d] -> what is kept of it."""


@contextmanager
def captured(model: LanguageModel, layers: Sequence[int], take: Take) -> Iterator[dict[int, Any]]:
    """Keeps what comes out of decoder layers in the one forward that is made inside.

    The hooks stand behind those that are there already, so they see what a steering hook made.

    Args:
        model: the language model; it is as before afterwards, whatever happens.
        layers: their numbers.
        take: called with each layer's output [rows, positions, d], in the model's own dtype.

    Yields:
        layer number -> what `take` returned, filled by the forward.

    Raises:
        ConfigError: a layer was not called exactly once, or its output has other dimensions.
    """
    stack = decoder_layers(model)
    seen: dict[int, Any] = {}
    calls: Counter[int] = Counter()

    def watch(number: int) -> Any:
        def hook(module: torch.nn.Module, args: Any, output: Any) -> None:
            calls[number] += 1
            seen[number] = take(stream_of(output, number))

        return stack[number].register_forward_hook(hook)

    handles: list[Any] = []
    try:
        handles += map(watch, layers)
        yield seen
    finally:
        for handle in handles:
            handle.remove()
    for number in layers:
        if calls[number] != 1:
            raise ConfigError(
                f"model.id: layer {number} of {type(model).__name__} was seen {calls[number]} "
                "times in one forward, so its stream cannot be read. Compiled or replaced layers "
                "call no hooks: use model.engine.quantisation=none, or another model."
            )


def stream_of(output: Any, number: int) -> torch.Tensor:
    """The residual stream [rows, positions, d] in what a layer returned: a tensor or a tuple.

    Raises:
        ConfigError: the stream has other dimensions (several streams side by side).
    """
    hidden: torch.Tensor = output[0] if isinstance(output, tuple) else output
    if hidden.ndim != 3:
        raise ConfigError(
            f"model.id: layer {number} returns {hidden.ndim} dimensions where rows, positions and "
            "width are read. Choose a model with a single residual stream."
        )
    return hidden
