"""Which architectures this engine computes rightly, told from a model's description."""

from __future__ import annotations

import inspect
from typing import Any

from transformers import AutoModelForCausalLM

from trace.errors import ConfigError

ATTENTION = frozenset({"full_attention", "sliding_attention", "chunked_attention"})
"""Kinds of layers whose state is the keys and values of every position."""


def check_architecture(config: Any, *, scores: bool) -> None:
    """Refuses what the cache of this engine would compute wrongly.

    Padding on the right is invisible to attention only: a recurrent or convolutional layer carries
    it on. Labels are scored side by side, each at the same positions, which a model has to be told.

    Args:
        config: a transformers text config.
        scores: whether likelihoods of labels are asked for.

    Raises:
        ConfigError: the model has other layers than attention, or takes no positions.
    """
    cls = AutoModelForCausalLM._model_mapping.get(type(config), None)
    fields = inspect.signature(cls.forward).parameters if cls else ()
    strange = sorted(set(getattr(config, "layer_types", None) or ()) - ATTENTION)
    if strange or (cls and (cls._is_stateful or "past_key_values" not in fields)):
        layers = f" ({', '.join(strange)})" if strange else ""
        raise ConfigError(
            f"model/engine=hf: a model of type {config.model_type} has layers that are no "
            f"attention{layers}, which this engine does not compute. Use model/engine=vllm."
        )
    unplaced = getattr(config, "alibi", False) or (cls and "position_ids" not in fields)
    if scores and unplaced:
        raise ConfigError(
            f"protocol.answer=score: a model of type {config.model_type} takes no positions, so "
            "its labels cannot be read side by side. Use protocol.answer=generate, or "
            "model/engine=vllm."
        )
