"""How hard a push is, beside what flows there anyway."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from trace import config
from trace.errors import ConfigError
from trace.interp.activations.capture import captured
from trace.interp.activations.tokens import Row, UnreadableError, row_of
from trace.interp.labelled import Labelled
from trace.interp.steering.direction import Direction
from trace.interp.steering.padded import opened, padded
from trace.models.local import TextSide


def median_norm(settings: config.Model, labelled: Sequence[Labelled], layer: int) -> float:
    """The median length of the residual stream behind a layer, over the tokens of `labelled`.

    Prompts and answers, in float32; without padding, and without the first token of each, where
    the massive activations of the beginning-of-sequence or sink token stand (Sun et al. 2024). A
    median does not mind the few sinks that stand elsewhere.

    Raises:
        ConfigError: the engine is not transformers, or its layers cannot be told.
    """
    model = opened(settings)
    rows = [_whole(model.text, one) for one in labelled]
    lengths: list[torch.Tensor] = []
    for batch in padded(rows, model.engine.prefill_tokens):
        with torch.inference_mode(), captured(model.model, [layer], _norms) as seen:
            ids = batch.ids.to(model.model.device)
            model.model(input_ids=ids, use_cache=False, logits_to_keep=1)
        lengths += [
            norms[1 : len(row.ids)] for row, norms in zip(batch.rows, seen[layer], strict=True)
        ]
    return float(np.median(torch.cat(lengths).numpy()))


def _norms(stream: torch.Tensor) -> torch.Tensor:
    """[rows, positions, d] -> [rows, positions]."""
    lengths: torch.Tensor = stream.float().norm(dim=-1)
    return lengths.cpu()


def _whole(text: TextSide, one: Labelled) -> Row:
    try:
        return row_of(text, one, "response_last")
    except UnreadableError:  # an empty answer, or one that the context cuts off
        return row_of(text, one, "prompt_end")


def strength(alpha: float, unit: str, direction: Direction, median: float) -> float:
    """What the vector is multiplied by (`Push.alpha`) for `steering.alpha` in `steering.unit`.

    Args:
        alpha: as configured.
        unit: raw, or median_norm: then the push is `alpha` times as long as the median stream.
        direction: what is pushed along.
        median: as `median_norm` measures it.
    """
    return alpha if unit == "raw" else alpha * median / direction.norm


def ratio(times: float, direction: Direction, median: float) -> float:
    """The length of the push over the median length of the stream; `times` is `Push.alpha`."""
    return abs(times) * direction.norm / median


def check_fits(times: float, direction: Direction, dtype: str) -> None:
    """Looks whether the push can be written in the model's numbers.

    Args:
        times: `Push.alpha`.
        direction: what is pushed along.
        dtype: of the model's engine, such as float16.

    Raises:
        ConfigError: it overflows.
    """
    largest = abs(times) * float(direction.values.abs().max())
    most = torch.finfo(getattr(torch, dtype)).max
    if largest > most:
        raise ConfigError(
            f"steering.alpha: {times:g} times the vector has numbers up to {largest:g}, and "
            f"{dtype} ends at {most:g}. Push less"
            + (", or use model.engine.dtype=bfloat16." if dtype == "float16" else ".")
        )
