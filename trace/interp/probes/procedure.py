"""How the settings say that probes are fitted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trace import config
from trace.interp.probes.adamw import AdamwFit
from trace.interp.probes.curve import Array, Flags
from trace.interp.probes.fitted import Probes, fit_all
from trace.interp.probes.fitting import NewtonFit
from trace.interp.probes.folds import Fold
from trace.interp.probes.nested import Nested, one_by_one
from trace.interp.probes.solver import solve
from trace.interp.stream import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """How probes are fitted: exactly or by minibatches, where, and with which strengths."""

    settings: config.Probe
    trainer: config.Trainer
    output_dir: str

    def fit(self, projection: Tensor | None = None) -> NewtonFit | AdamwFit:
        """The solver; with a `projection` [d, k], of activations brought to k dimensions."""
        memory = self.settings.memory_gib
        if self.settings.optimizer == "newton":
            return NewtonFit(memory_gib=memory, projection=projection)
        return AdamwFit(trainer=self.trainer, memory_gib=memory, projection=projection)

    def one(
        self,
        x: Tensor,
        labelings: Flags,
        folds: tuple[Fold, ...],
        projection: Tensor | None = None,
    ) -> tuple[Array, Array]:
        """Nested cross-validation on one split.

        Args:
            x: [n, layers, d].
            labelings: [labelings, n], the labels as they are first.
            folds: the split.
            projection: as for `fit`.

        Returns:
            Decisions [layers, labelings, n], and the C chosen for the labels as they are, [layers,
            folds].
        """
        made = self._nested(x, labelings, [folds], projection)
        return made.decisions[0].numpy(), made.strengths[0, :, 0].numpy()

    def again(self, x: Tensor, positive: Flags, splits: Sequence[tuple[Fold, ...]]) -> Array:
        """Decisions [splits, layers, n] about the labels as they are on other splits, if any."""
        if not splits:
            return np.empty((0, x.shape[1], len(positive)))
        made = self._nested(x, positive[None], splits, None)
        decisions: Array = made.decisions[:, :, 0].numpy()
        return decisions

    def probes(
        self, stream: Stream, positive: Sequence[bool], group: Sequence[Hashable], *, seed: int
    ) -> Probes:
        """Probes of every layer, fitted to all samples; C chosen on `folds` folds of them.

        Raises:
            DataError: there is one class only.
            ConfigError: there are too few groups, or a class is missing on one side of a fold.
        """
        return fit_all(
            stream,
            positive,
            group,
            folds=self.settings.folds,
            strengths=self.settings.strengths,
            seed=seed,
            fit=self.fit(),
        )

    def _nested(
        self,
        x: Tensor,
        labelings: Flags,
        splits: Sequence[tuple[Fold, ...]],
        projection: Tensor | None,
    ) -> Nested:
        flags, strengths = torch.from_numpy(labelings), self.settings.strengths
        fit = self.fit(projection)
        if isinstance(fit, AdamwFit):
            return one_by_one(x, flags, splits, strengths=strengths, fit=fit)
        return solve(
            x,
            flags,
            splits,
            strengths=strengths,
            fit=fit,
            trainer=self.trainer,
            output_dir=self.output_dir,
        )
