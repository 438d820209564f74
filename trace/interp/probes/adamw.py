"""Probes fitted by minibatches, for activations that do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping
from torch import Tensor
from torch.nn.functional import softplus
from torch.utils.data import DataLoader, TensorDataset

from trace import config
from trace.interp.probes.newton import balanced
from trace.interp.probes.row_space import Scaling, floored
from trace.interp.probes.solver import run

_ROWS = 256  # of a minibatch
_EPOCHS = 500
_COPIES = 6  # of the weights: themselves, gradient, two moments, and what a step takes


class Minibatches(lightning.LightningModule):  # type: ignore[misc]  # the library has no types here
    """All problems at once: weights [problems, d] of standardised activations.

    The objective is that of `newton.logistic` over C m. AdamW's own decay is off, as it would not
    be the L2 penalty. The weights are stored in units of min(1, C m), which lets one learning rate
    do for all strengths.
    """

    def __init__(
        self,
        x: Tensor,
        scale: Scaling,
        projection: Tensor | None,
        y: Tensor,
        strengths: Tensor,
    ) -> None:
        """The rows that x [n, d] is read by come with the minibatches; y [problems, m]."""
        super().__init__()
        m = y.shape[1]
        width = x.shape[1] if projection is None else projection.shape[1]
        self.x, self.scale, self.projection = x, scale, projection
        self.register_buffer("y", y.to(torch.float64))
        self.register_buffer("weight", balanced(y).to(torch.float64))
        self.register_buffer("unit", (strengths * m).clamp(max=1)[:, None])
        self.register_buffer("penalty", 1 / (2 * strengths * m))
        self.stored = torch.nn.Parameter(torch.zeros(len(y), width, dtype=torch.float64))
        self.intercept = torch.nn.Parameter(torch.zeros(len(y), 1, dtype=torch.float64))

    @property
    def solution(self) -> tuple[Tensor, Tensor]:
        """The weights w [problems, d] and the intercepts b [problems]."""
        return (self.stored * self.unit).detach(), self.intercept[:, 0].detach()

    def training_step(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """The summed objective of all problems on some rows; each is independent of the others."""
        at, rows = batch
        features = self.scale(self.x[rows.to(self.x.device)])
        if self.projection is not None:
            features = features @ self.projection
        w = self.stored * self.unit
        decision = w @ features.to(w).T + self.intercept
        loss = self.weight[:, at] * (softplus(decision) - self.y[:, at] * decision)
        objective = loss.mean(1) + self.penalty * (w * w).sum(1)
        self.log("objective", objective.mean(), on_step=False, on_epoch=True, batch_size=len(at))
        return torch.sum(objective)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """AdamW without decay."""
        return torch.optim.AdamW(self.parameters(), lr=0.01, weight_decay=0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdamwFit:
    """By AdamW, stopped when the training objective has settled. The row order has a fixed seed.

    Only a minibatch of activations, the statistics of the features and the weights are in memory.
    """

    trainer: config.Trainer
    memory_gib: float
    projection: Tensor | None = None

    def decisions(
        self, x: Tensor, train: Tensor, test: Tensor, y: Tensor, strengths: Tensor
    ) -> Tensor:
        """As `Fit` says."""
        w, b = self.weights(x, train, y, strengths)
        parts = [x[rows].to(w) @ w.T + b for rows in torch.split(test, _ROWS)]
        return torch.cat(parts).T

    def weights(
        self, x: Tensor, train: Tensor, y: Tensor, strengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """As `Fit` says."""
        scale = _streamed_scaling(x, train)
        chunk = max(1, int(min(len(y), self.memory_gib * 2**30 / (8 * _COPIES * x.shape[1]))))
        parts = [
            self._fit(x, train, scale, some, c)
            for some, c in zip(torch.split(y, chunk), torch.split(strengths, chunk), strict=True)
        ]
        return torch.cat([w for w, _ in parts]), torch.cat([b for _, b in parts])

    def _fit(
        self, x: Tensor, train: Tensor, scale: Scaling, y: Tensor, strengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        module = Minibatches(x, scale, self.projection, y, strengths)
        loader = DataLoader(
            TensorDataset(torch.arange(len(train)), train),
            batch_size=_ROWS,
            shuffle=True,
            generator=torch.Generator().manual_seed(0),
        )
        settled = EarlyStopping(
            "objective", min_delta=1e-5, patience=5, check_on_train_epoch_end=True
        )
        run(module, loader, self.trainer, [settled], max_epochs=_EPOCHS)
        w, b = module.solution
        if self.projection is not None:
            w = w @ self.projection.T
        return scale.raw(w, b)


def _streamed_scaling(x: Tensor, rows: Tensor) -> Scaling:
    """As `row_space.scaling` of x[rows], read in pieces, twice."""

    def pieces() -> Iterator[Tensor]:
        return (x[some].to(torch.float64) for some in torch.split(rows, _ROWS))

    mean = sum((part.sum(0) for part in pieces()), torch.tensor(0.0)) / len(rows)
    variance = sum(((part - mean).square().sum(0) for part in pieces()), torch.tensor(0.0))
    return Scaling(mean=mean, deviation=floored(variance / len(rows)))
