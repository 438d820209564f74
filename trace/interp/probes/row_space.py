"""Activations in the coordinates in which a probe of them is solved."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_FLOOR = 1e-4  # of the features' root mean square deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Mean and deviation of each feature, [d] each, float64."""

    mean: Tensor
    deviation: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """The standardised x [samples, d]."""
        return (x.to(self.mean.dtype) - self.mean) / self.deviation

    def raw(self, weights: Tensor, intercept: Tensor) -> tuple[Tensor, Tensor]:
        """The weights [..., d] and intercept that give the same decisions from x as it was."""
        w = weights / self.deviation
        return w, intercept - w @ self.mean


def scaling(x: Tensor) -> Scaling:
    """Of the samples x [m, d] that a probe is fitted to.

    A feature that hardly varies there is not blown up: its deviation is taken to be at least
    1e-4 of the features' root mean square.
    """
    exact = x.to(torch.float64)
    variance, mean = torch.var_mean(exact, dim=0, correction=0)
    return Scaling(mean=mean, deviation=floored(variance))


def floored(variance: Tensor) -> Tensor:
    """The deviations of features with these variances [d], none too small to divide by."""
    floor = _FLOOR * variance.mean().sqrt()
    return variance.sqrt().clamp(min=float(floor) or 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSpace:
    """Coordinates z in the span of m samples x [m, d]: an L2 penalised optimum lies in it.

    Products of the samples are those of their coordinates, so the solution is the same, in r
    instead of d dimensions (the representer theorem: Schölkopf, Herbrich & Smola 2001).

    `train` are the coordinates [m, r] of the samples, float64. `axes` [d, r], orthonormal columns,
    take others there and the solution back.
    """

    train: Tensor
    axes: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """The coordinates [samples, r] of x [samples, d]."""
        return x @ self.axes

    def back(self, weights: Tensor) -> Tensor:
        """Weights [..., r] of the coordinates as weights [..., d] of the features."""
        return weights @ self.axes.T


def row_space(x: Tensor) -> RowSpace:
    """Of the standardised samples x [m, d], float64.

    With d > m the coordinates are Z = U √Λ of the Gram matrix xxᵀ = U Λ Uᵀ, without the
    eigenvalues that are zero but for rounding. With fewer features they are their own coordinates.
    """
    m, d = x.shape
    if d <= m:
        return RowSpace(train=x, axes=torch.eye(d, dtype=x.dtype, device=x.device))
    values, vectors = torch.linalg.eigh(x @ x.T)
    kept = values > values[-1].clamp(min=0) * d * torch.finfo(x.dtype).eps
    roots, vectors = values[kept].sqrt(), vectors[:, kept]
    return RowSpace(train=vectors * roots, axes=x.T @ (vectors / roots))
