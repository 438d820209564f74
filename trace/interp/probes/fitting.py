"""One way to fit probes to some rows of one layer: exactly, all problems together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from trace.interp.probes.newton import logistic
from trace.interp.probes.row_space import RowSpace, Scaling, row_space, scaling


class Fit(Protocol):
    """Fits L2 logistic probes with balanced class weights to standardised activations.

    x [n, d] are the activations of one layer; `train` and `test` are row numbers, m and t of them;
    y [problems, m] are labelings of the training rows, each with both classes; `strengths`
    [problems] are C, float64.
    """

    def decisions(
        self, x: Tensor, train: Tensor, test: Tensor, y: Tensor, strengths: Tensor
    ) -> Tensor:
        """The decision values of the test rows, [problems, t], float64."""
        ...

    def weights(
        self, x: Tensor, train: Tensor, y: Tensor, strengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The w [problems, d] and b [problems], float64, for activations as they are."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NewtonFit:
    """By Newton's method in the row space of the training rows.

    With a `projection` [d, k] the standardised activations are brought to k dimensions first.
    """

    memory_gib: float
    projection: Tensor | None = None

    def decisions(
        self, x: Tensor, train: Tensor, test: Tensor, y: Tensor, strengths: Tensor
    ) -> Tensor:
        """As `Fit` says."""
        scale, space, solved = self._solve(x, train, y, strengths)
        return solved[:, :-1] @ space(self._projected(scale(x[test]))).T + solved[:, -1:]

    def weights(
        self, x: Tensor, train: Tensor, y: Tensor, strengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """As `Fit` says."""
        scale, space, solved = self._solve(x, train, y, strengths)
        w = space.back(solved[:, :-1])
        if self.projection is not None:
            w = w @ self.projection.to(w).T
        return scale.raw(w, solved[:, -1])

    def _projected(self, standardised: Tensor) -> Tensor:
        if self.projection is None:
            return standardised
        return standardised @ self.projection.to(standardised)

    def _solve(
        self, x: Tensor, train: Tensor, y: Tensor, strengths: Tensor
    ) -> tuple[Scaling, RowSpace, Tensor]:
        rows = x[train]
        scale = scaling(rows)
        space = row_space(self._projected(scale(rows)))
        return scale, space, logistic(space.train, y, strengths, memory_gib=self.memory_gib)


def random_projection(d: int, k: int, seed: int) -> Tensor:
    """A Gaussian matrix [d, k], float64, that keeps lengths on average.

    (Johnson & Lindenstrauss 1984; Dasgupta & Gupta 2003.)
    """
    made = torch.randn(d, k, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.div(made, k**0.5)
