"""A language model as a Lightning module that predicts activations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from lightning.pytorch import LightningModule

from trace import config
from trace.errors import ConfigError
from trace.interp.activations import silence  # noqa: F401
from trace.interp.activations.capture import captured
from trace.interp.activations.layers import LanguageModel
from trace.interp.activations.tokens import Row
from trace.models.hf.engine import HfModel, is_out_of_memory
from trace.models.open import open_model


class Reader(LightningModule):  # type: ignore[misc]  # untyped
    """Reads batches of rows. Each process has its own copy of the model, loaded where it runs.

    The model is no submodule: Lightning would move it, and with a device map or quantised weights
    it has to stay where it was put. A single process uses the warm model of the configuration on
    the device that `model.engine` names; several use the devices that the trainer gives them.
    """

    def __init__(
        self, settings: config.Model, batches: Sequence[Sequence[Row]], layers: Sequence[int]
    ) -> None:
        super().__init__()
        self.settings = settings
        self.batches = batches
        self.layers = tuple(layers)
        self._opened: HfModel | None = None

    def setup(self, stage: str) -> None:
        """Loads the model in this process."""
        settings, engine = self.settings, self.settings.engine
        assert isinstance(engine, config.HfEngine)
        if self.trainer.world_size > 1 and engine.device_map is None:
            here = str(self.trainer.strategy.root_device)
            settings = replace(settings, engine=replace(engine, device=here))
        opened = open_model(settings)
        assert isinstance(opened, HfModel)
        self._opened = opened

    def teardown(self, stage: str) -> None:
        """Leaves the model to `open_model`, which frees it when another is opened."""
        self._opened = None

    def predict_dataloader(self) -> list[int]:
        """The numbers of the batches that this process reads."""
        return list(range(len(self.batches)))[self.trainer.global_rank :: self.trainer.world_size]

    def predict_step(self, batch: int) -> torch.Tensor:
        """Activations [rows, layers, d] of a batch, float32, on the CPU.

        Raises:
            ConfigError: memory does not suffice for the batch.
        """
        assert self._opened is not None
        rows = self.batches[batch]
        try:
            return read_rows(self._opened.model, rows, self.layers)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        raise ConfigError(
            f"model.engine.prefill_tokens: out of memory with {len(rows)} rows of up to "
            f"{max(len(row.ids) for row in rows)} tokens. Give fewer, or use a smaller model."
        )


@torch.inference_mode()
def read_rows(model: LanguageModel, rows: Sequence[Row], layers: Sequence[int]) -> torch.Tensor:
    """Activations [rows, layers, d] of rows in one forward, float32, on the CPU.

    The padding stands on the right, where a causal model cannot see it: no mask is needed, and a
    row's numbers are those that it has alone.
    """

    def take(hidden: torch.Tensor) -> torch.Tensor:
        means = [
            hidden[i, row.start : row.stop].mean(0, dtype=torch.float32)
            for i, row in enumerate(rows)
        ]
        return torch.stack(means).cpu()

    width = max(len(row.ids) for row in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = torch.tensor(row.ids)
    with captured(model, layers, take) as seen:
        model(input_ids=ids.to(model.device), use_cache=False, logits_to_keep=1)
    return torch.stack([seen[layer] for layer in layers], dim=1)
