"""Where a model's decoder layers are, and which of them are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from trace.errors import ConfigError

LanguageModel = Any
"""A transformers `…ForCausalLM`."""


def decoder_layers(model: LanguageModel) -> torch.nn.ModuleList:
    """The stack of decoder layers, in their order.

    It is the list of modules that is as long as the text model's configuration says. Architectures
    name it differently, and one that sees has a second stack, for pictures.

    Raises:
        ConfigError: there is none, or several that could be meant.
    """
    count = model.config.get_text_config().num_hidden_layers
    found: dict[str, torch.nn.ModuleList] = {}
    for name, module in model.named_modules():
        inside = any(name.startswith(f"{outer}.") for outer in found)  # a layer's own experts
        if isinstance(module, torch.nn.ModuleList) and len(module) == count and not inside:
            found[name] = module
    if not found:
        raise ConfigError(
            f"model.id: {type(model).__name__} has no list of {count} decoder layers, so its "
            "stream can be neither read nor pushed. Choose a decoder-only language model."
        )
    if len(found) > 1:
        raise ConfigError(
            f"model.id: {type(model).__name__} has several stacks of {count} layers "
            f"({', '.join(found)}), and which one writes cannot be told. "
            "Choose the text-only version of the model."
        )
    return next(iter(found.values()))


def chosen_layers(count: int, wanted: str | Sequence[int]) -> tuple[int, ...]:
    """The numbers of the layers that are read, ascending, from 0; the last is always among them.

    Args:
        count: how many decoder layers the model has.
        wanted: every_4th, all, or layer numbers.

    Raises:
        ConfigError: the model has no such layer.
    """
    last = count - 1
    if isinstance(wanted, str):
        return tuple(sorted({*range(0, count, {"all": 1, "every_4th": 4}[wanted]), last}))
    if missing := [number for number in wanted if not 0 <= number <= last]:
        raise ConfigError(
            f"probe.layers: the model has no layer {missing[0]}; it has {count}, counted from 0 "
            f"to {last}. Choose among these, or use all."
        )
    return tuple(sorted({*wanted, last}))
