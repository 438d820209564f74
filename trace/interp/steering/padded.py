"""Prompts with their answers as batches of tokens, for one forward of the unsteered model each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from trace import config
from trace.errors import ConfigError
from trace.interp.activations.tokens import Row
from trace.models.hf.batches import prefill_batches
from trace.models.hf.engine import HfModel
from trace.models.open import open_model


@dataclass(frozen=True, slots=True, kw_only=True)
class Padded:
    """Rows and their tokens [rows, width]. The padding on the right is hidden by causality.

    `numbers` are the rows' places among all.
    """

    ids: torch.Tensor
    rows: list[Row]
    numbers: list[int]


def opened(settings: config.Model) -> HfModel:
    """The warm model of a configuration.

    Raises:
        ConfigError: its engine is not transformers.
    """
    if not isinstance(settings.engine, config.HfEngine):
        raise ConfigError(
            f"model/engine: {settings.engine.name} cannot be steered. Use model/engine=hf."
        )
    model = open_model(settings)
    assert isinstance(model, HfModel)
    return model


def padded(rows: Sequence[Row], tokens: int) -> Iterator[Padded]:
    """Batches of at most `tokens` tokens, padding counted, the longest rows first."""
    for numbers in prefill_batches([len(row.ids) for row in rows], tokens):
        members = [rows[i] for i in numbers]
        ids = torch.zeros(len(members), len(members[0].ids), dtype=torch.long)
        for i, row in enumerate(members):
            ids[i, : len(row.ids)] = torch.tensor(row.ids)
        yield Padded(ids=ids, rows=members, numbers=numbers)
