"""Activations on the disk: one safetensors file a batch, named by what is in it."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from trace.errors import DataError
from trace.interp.activations.tokens import Row
from trace.models.hf.batches import prefill_batches
from trace.records import Json, digest
from trace.tracking.files import TEMPORARY, atomic_path
from trace.tracking.progress import progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Rows that go through the model together. `numbers` are their places among the samples."""

    path: Path
    rows: tuple[Row, ...]
    numbers: tuple[int, ...]


def planned(
    rows: Sequence[Row],
    layers: Sequence[int],
    *,
    tokens: int,
    identity: Mapping[str, Json],
    folder: Path,
) -> list[Shard]:
    """Cuts the rows into batches of at most `tokens` tokens, the longest rows first.

    A shard's name is a hash of the model and of all that can change a number in it, the rows that
    are computed beside it too. So what is there need not be computed again.
    """
    shards = []
    for batch in prefill_batches([len(row.ids) for row in rows], tokens):
        members = [rows[i] for i in batch]
        content = {
            "model": dict(identity),
            "layers": list(layers),
            "rows": [[list(row.ids), row.start, row.stop] for row in members],
        }
        path = folder / f"{digest(content)[:16]}.safetensors"
        shards.append(Shard(path=path, rows=tuple(members), numbers=tuple(batch)))
    return shards


def assembled(shards: Sequence[Shard], layers: Sequence[int]) -> torch.Tensor:
    """All shards as one float32 tensor [samples, layers, d], in the order of the samples.

    It lies on the disk, in a file that goes with it, and comes into memory where it is looked at:
    there may be more of it than memory.

    Raises:
        DataError: a shard cannot be read, or holds what is no finite number.
    """
    x = torch.empty(0)
    for shard in shards:
        part = _loaded(shard, layers)
        if not len(x):
            count = sum(len(one.rows) for one in shards)
            x = _on_disk((count, *part.shape[1:]), shard.path.parent)
        x[list(shard.numbers)] = part
    return x


def _on_disk(shape: Sequence[int], folder: Path) -> torch.Tensor:
    with tempfile.NamedTemporaryFile(dir=folder, prefix=TEMPORARY) as file:
        size = math.prod(shape)
        return torch.from_file(file.name, shared=True, size=size, dtype=torch.float32).view(*shape)


def _loaded(shard: Shard, layers: Sequence[int]) -> torch.Tensor:
    try:
        part = load_file(shard.path)["x"]
    except (OSError, SafetensorError, KeyError) as error:
        raise DataError(
            f"{shard.path}: these activations cannot be read ({error}). "
            "Delete the file, and they are computed again."
        ) from None
    broken = (~part.isfinite().all(-1)).nonzero()
    if len(broken):
        shard.path.unlink()  # else it would be found again after its cause was removed
        row, layer = broken[0].tolist()
        raise DataError(
            f"sample {shard.rows[row].id}: its activations behind layer {layers[layer]} are not "
            "finite numbers. Use model.engine.dtype=bfloat16 or float32, or look at the weights."
        )
    return part


class ShardWriter(Callback):  # type: ignore[misc]  # untyped
    """Writes each batch as soon as it is computed, and shows the progress of the first process."""

    def __init__(self, shards: Sequence[Shard], title: str) -> None:
        self.shards = shards
        self.title = title
        self._shown = ExitStack()
        self._meter: Any = None

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begins to show the progress."""
        if trainer.is_global_zero:
            mine = self.shards[:: trainer.world_size]
            total = sum(len(shard.rows) for shard in mine)
            self._meter = self._shown.enter_context(progress(total, self.title))

    def on_predict_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: torch.Tensor,
        batch: int,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Writes one shard."""
        shard = self.shards[batch]
        with atomic_path(shard.path) as path:
            save_file({"x": outputs}, path)
        if self._meter is not None:
            self._meter.advance(len(shard.rows))

    def on_predict_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Ends the progress."""
        self._shown.close()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Ends the progress."""
        self._shown.close()
