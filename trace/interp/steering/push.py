"""Adding vectors to the residual stream while a model runs, and leaving it as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch

from trace.errors import ConfigError
from trace.interp.activations.layers import decoder_layers

Tokens = Literal["all", "generated"]
NOTHING = -0.0
"""The number whose addition changes no float at all; +0.0 would make a zero of the other sign."""


class Pushing:
    """What the hook adds, and where.

    By default the rows of every forward are those of `additions`, and their last token stands
    last (padding on the left, or none). `aim` says otherwise.
    """

    def __init__(self, additions: torch.Tensor, tokens: Tokens) -> None:
        self._additions = additions
        self._tokens = tokens
        self._rows: Sequence[int] = range(len(additions))
        self._last: Sequence[int] | None = None
        self._chosen = additions
        self.fired = 0

    def aim(self, rows: Sequence[int], last: Sequence[int] | None) -> None:
        """Tells what the next forwards hold.

        Args:
            rows: the row of `additions` behind each row; none switches the push off.
            last: where in the next forward each row's last token stands; None where it is the
                last of all.
        """
        if list(rows) != list(self._rows):
            index = torch.tensor(list(rows), dtype=torch.long, device=self._additions.device)
            self._chosen = self._additions[index]
        self._rows, self._last = rows, last

    def hook(self, module: torch.nn.Module, inputs: Any, output: Any) -> Any:
        """For `register_forward_hook`: the layer's output with the vectors added, in its shape."""
        self.fired += 1
        if not len(self._rows):
            return output
        stream = output[0] if isinstance(output, tuple) else output
        if stream.ndim != 3:
            raise ConfigError(
                f"model.id: the residual stream of this architecture has {stream.ndim} dimensions "
                "and not [rows, tokens, width], so it cannot be steered. Take another model."
            )
        if stream.shape[0] != len(self._rows) or stream.shape[2] != self._chosen.shape[1]:
            raise ConfigError(
                f"steering.vector: {len(self._rows)} rows of width {self._chosen.shape[1]} are to "
                f"be added to a stream of shape {list(stream.shape)}. Give a vector of this model."
            )
        pushed_stream = self._add(stream)
        return (pushed_stream, *output[1:]) if isinstance(output, tuple) else pushed_stream

    def _add(self, stream: torch.Tensor) -> torch.Tensor:
        added = self._chosen.to(stream)
        if self._tokens == "all":
            return stream + added[:, None]
        out = stream.clone()
        if self._last is None:
            out[:, -1] += added
        else:
            rows = torch.arange(len(self._rows), device=stream.device)
            out[rows, torch.tensor(self._last, device=stream.device)] += added
        return out


@contextmanager
def pushed(
    model: Any, layer: int, vectors: torch.Tensor, coefficients: Sequence[float], tokens: Tokens
) -> Iterator[Pushing]:
    """Within, `coefficients[i] * vector` is added to row i behind a decoder layer.

    Works with cached generation, with padding on the left, and in any batch whose rows are those
    of `coefficients`; `Pushing.aim` tells of others. The product is made in float32 and rounded
    once to the stream's dtype. A coefficient of 0 adds nothing: the row is bitwise the unpushed.

    Args:
        model: a transformers `…ForCausalLM`; its hooks are left as they were, whatever happens.
        layer: counted from 0.
        vectors: [d] for all rows, or [rows, d].
        coefficients: one a row.
        tokens: all; or generated, the last token of each forward: that of the prompt, whose
            output is the answer's first token, and every later one.

    Raises:
        ConfigError: the model has no such layer, another width, or never ran it as a module
            (compiled or fused models do not).
    """
    layers = decoder_layers(model)
    if not 0 <= layer < len(layers):
        raise ConfigError(
            f"steering.layer={layer}: the model has layers 0 to {len(layers) - 1}. Choose one."
        )
    times = torch.tensor(coefficients, dtype=torch.float32)[:, None]
    additions = torch.where(times == 0, NOTHING, times * vectors.float())
    pushing = Pushing(additions.to(model.device), tokens)
    handle = layers[layer].register_forward_hook(pushing.hook)
    try:
        yield pushing
    finally:
        handle.remove()
    if not pushing.fired:
        raise ConfigError(
            f"steering.layer={layer}: the layer was never run as a module of its own, so nothing "
            "was pushed. Compiled and fused models cannot be steered: load it with the hf engine."
        )
