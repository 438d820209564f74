"""Layers × folds × strengths × labelings, solved where Lightning says, and picked up again."""

from __future__ import annotations

import hashlib
import pickle
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor
from torch.utils.data import DataLoader

from trace import config
from trace.interp.activations.trainer import interrupts_heard, silent_trainer
from trace.interp.probes.fitting import Fit, NewtonFit
from trace.interp.probes.folds import Fold
from trace.interp.probes.nested import Nested, predict_fold
from trace.tracking.files import atomic_path

_EVERY = 20.0  # seconds between two checkpoints


class Solver(lightning.LightningModule):  # type: ignore[misc]  # the library has no types here
    """A step solves one layer in one outer fold of one split, for all labelings.

    There is no gradient to descend, so the optimisation is manual, and what a checkpoint holds is
    what is solved so far.
    """

    def __init__(
        self,
        x: Tensor,
        labelings: Tensor,
        splits: Sequence[tuple[Fold, ...]],
        strengths: Tensor,
        fit: Fit,
    ) -> None:
        """The activations x are [n, layers, d], the labelings [labelings, n]."""
        super().__init__()
        self.automatic_optimization = False
        self.x, self.splits, self.fit = x, splits, fit
        folds = len(splits[0])
        self.cells = list(product(range(len(splits)), range(x.shape[1]), range(folds)))
        shape = (len(splits), x.shape[1], len(labelings))
        self.register_buffer("labelings", labelings, persistent=False)
        self.register_buffer("strengths", strengths, persistent=False)
        self.register_buffer("decisions", torch.zeros(*shape, len(x), dtype=torch.float64))
        self.register_buffer("chosen", torch.zeros(*shape, folds, dtype=torch.float64))
        self.register_buffer("solved", torch.zeros(len(self.cells), dtype=torch.bool))

    def configure_optimizers(self) -> None:
        """There is nothing to step."""

    def training_step(self, batch: Tensor) -> None:
        """Solves the cell whose number is given."""
        number = int(batch)
        split, layer, at = self.cells[number]
        fold = self.splits[split][at]
        x = self.x[:, layer].to(self.device)
        values, chosen = predict_fold(x, self.labelings, fold, self.strengths, self.fit)
        self.decisions[split, layer][:, torch.as_tensor(fold.test, device=self.device)] = values
        self.chosen[split, layer, :, at] = chosen
        self.solved[number] = True


class _Keeper(Callback):  # type: ignore[misc]
    """Writes a checkpoint now and then: Lightning's own counts the steps of an optimiser."""

    def __init__(self, path: Path) -> None:
        self.path, self.last = path, time.monotonic()

    def on_train_batch_end(self, trainer: Any, *_: object) -> None:
        if time.monotonic() - self.last > _EVERY:
            self._write(trainer)
            self.last = time.monotonic()

    def on_train_end(self, trainer: Any, *_: object) -> None:
        self._write(trainer)

    def on_exception(self, trainer: Any, *_: object) -> None:
        self._write(trainer)

    def _write(self, trainer: Any) -> None:
        with atomic_path(self.path) as path:  # another run may be solving the same
            trainer.save_checkpoint(path)


def solve(
    x: Tensor,
    labelings: Tensor,
    splits: Sequence[tuple[Fold, ...]],
    *,
    strengths: Sequence[float],
    fit: NewtonFit,
    trainer: config.Trainer,
    output_dir: str,
) -> Nested:
    """Nested cross-validation of probes of every layer, for every labeling and split.

    Everything runs on one device. What an earlier run in `output_dir` left unfinished goes on
    where it was: the checkpoint is named after a hash of all that the solution depends on.

    Args:
        x: the activations, [n, layers, d].
        labelings: truth values [labelings, n].
        splits: each with the same number of folds.
        strengths: the C to choose from.
        fit: the solver of one fold.
        trainer: where it runs.
        output_dir: the run directory.
    """
    grid = torch.tensor(sorted(strengths), dtype=torch.float64)
    module = Solver(x, labelings, splits, grid, fit)
    name = _identity(x, labelings, splits, grid, fit.projection)
    path = Path(output_dir) / "probes" / f"solved-{name[:16]}.ckpt"
    _resume(module, path)
    left = torch.nonzero(~module.solved)
    if len(left):
        cells: DataLoader[Any] = DataLoader(left[:, 0], batch_size=1)  # type: ignore[arg-type]
        with _one_thread():
            run(module, cells, trainer, [_Keeper(path)], max_epochs=1)
    return Nested(decisions=module.decisions, strengths=module.chosen)


def run(
    module: lightning.LightningModule,
    rows: DataLoader[Any],
    settings: config.Trainer,
    callbacks: Sequence[Callback],
    *,
    max_epochs: int,
) -> None:
    """Trains a module on one device; an interrupt stays one.

    Raises:
        ConfigError: there is no such device.
    """
    accelerator = settings.accelerator
    if accelerator == "auto" and not torch.cuda.is_available():
        accelerator = "cpu"  # Apple's GPU has no float64
    single = config.Trainer(accelerator=accelerator)
    with warnings.catch_warnings(), interrupts_heard():
        # No optimiser, and no worker processes: what Lightning warns of is meant.
        warnings.filterwarnings("ignore", module=r"lightning\.")
        silent_trainer(single, callbacks, max_epochs=max_epochs).fit(module, rows)
    module.cpu()


def _resume(module: Solver, path: Path) -> None:
    """Takes up what a checkpoint holds, if it is whole: solving again loses nothing but time."""
    if path.exists():
        try:
            kept = torch.load(path, map_location="cpu", weights_only=True)
            module.load_state_dict(kept["state_dict"])
        except (RuntimeError, EOFError, KeyError, pickle.UnpicklingError):
            path.unlink()
            for held in (module.decisions, module.chosen, module.solved):
                held.zero_()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Threads wait for each other longer than such small matrices take, most on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _identity(
    x: Tensor,
    labelings: Tensor,
    splits: Sequence[tuple[Fold, ...]],
    strengths: Tensor,
    projection: Tensor | None,
) -> str:
    seen = hashlib.sha256(repr((x.shape, labelings.shape, len(splits))).encode())
    for layer in range(x.shape[1]):
        seen.update(x[:, layer].contiguous().numpy().tobytes())
    for tensor in (labelings, strengths, projection):
        seen.update(b"" if tensor is None else tensor.contiguous().numpy().tobytes())
    for fold in (fold for split in splits for fold in split):
        for rows in (fold.train, fold.test, *(part for pair in fold.inner for part in pair)):
            seen.update(rows.tobytes() + b";")
    return seen.hexdigest()
