"""Many logistic regressions on the same features, solved together by Newton's method."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from trace.errors import ConfigError

_STEPS = 200
_HALVINGS = 40
_SETTLED = 1e-4  # change of a decision value; the error after such a step is about its square
_COPIES = 4  # of the Hessians: themselves, their factors, and what the library holds meanwhile
_ROUGH = 1e5  # bound of a Hessian's condition up to which float32 will do
_GIB = 2**30


def balanced(y: Tensor) -> Tensor:
    """Weights [problems, m] that give both classes of y the same sum, m / 2 each."""
    m, positives = y.shape[1], y.sum(1, keepdim=True)
    return torch.where(y, m / (2 * positives), m / (2 * (m - positives)))


def logistic(
    features: Tensor,
    y: Tensor,
    strengths: Tensor,
    *,
    memory_gib: float,
) -> Tensor:
    """The optimum of |w|²/2 + C Σ s log(1 + exp(−(2y − 1)(xw + b))) for every problem.

    That is scikit-learn's LogisticRegression(C=C, class_weight="balanced"): the loss is summed,
    the intercept b is free, and s are the balanced weights. Each problem converges for itself; a
    step that does not lower its objective enough is halved. (Newton with backtracking: Boyd &
    Vandenberghe 2004, section 9.5.)

    Args:
        features: x [m, r], float64.
        y: truth values [problems, m], each row with both classes.
        strengths: C [problems], float64.
        memory_gib: what the Hessians of one chunk of problems may take, GiB.

    Returns:
        w and, in the last column, b: [problems, r + 1].

    Raises:
        ConfigError: a problem has not converged, or cannot in float64.
    """
    x = torch.cat([features, features.new_ones(len(features), 1)], 1)
    width = x.shape[1]
    budget = memory_gib * _GIB
    chunk = max(1, int(min(len(y), budget / 2 / (8 * _COPIES * width**2))))
    # One product for all Hessians is several times faster than one a problem, where it fits.
    # A rough Hessian gives nearly the same steps in half the time, while it is well-conditioned.
    weight = balanced(y).to(x.dtype) * strengths[:, None]
    rough = x.to(torch.float32) if 1 + weight.max() / 4 * x.square().sum() < _ROUGH else x
    fits = 8 * x.numel() * width <= budget / 2
    squares = (rough[:, :, None] * rough[:, None, :]).flatten(1) if fits else None
    parts = zip(*(torch.split(each, chunk) for each in (y, weight, strengths)), strict=True)
    return torch.cat([_solve(x, rough, squares, *part) for part in parts])


def _solve(
    x: Tensor, rough: Tensor, squares: Tensor | None, y: Tensor, weight: Tensor, strengths: Tensor
) -> Tensor:
    target = y.to(x.dtype)
    penalty = x.new_ones(x.shape[1])
    penalty[-1] = 0
    solution = x.new_zeros(len(y), x.shape[1])
    open_ = torch.arange(len(y), device=x.device)
    for _ in range(_STEPS):
        at, heavy, aim = solution[open_], weight[open_], target[open_]
        decision = at @ x.T
        p = torch.sigmoid(decision)
        gradient = (heavy * (p - aim)) @ x + penalty * at
        # The floor bears only on the way: far out, all curvature may vanish in rounding.
        curvature = heavy * (p * (1 - p)).clamp(min=1e-10)
        step = _newton_step(rough, squares, curvature, penalty, gradient)
        if step is None:
            step = _newton_step(x, None, curvature, penalty, gradient)
        if step is None:
            raise _too_large(strengths)
        moved = step @ x.T
        scale = _scale(at, decision, step, moved, heavy, aim, penalty, (gradient * step).sum(1))
        solution[open_] = at - scale * step
        open_ = open_[moved.abs().amax(1) > _SETTLED]
        if not len(open_):
            return solution
    raise _too_large(strengths[open_])


def _too_large(strengths: Tensor) -> ConfigError:
    return ConfigError(
        f"probe.strengths: with C = {float(strengths.max()):g} a probe does not settle in float64. "
        "Give smaller ones; 0.00001 to 0.1 is the default."
    )


def _newton_step(
    x: Tensor, squares: Tensor | None, curvature: Tensor, penalty: Tensor, gradient: Tensor
) -> Tensor | None:
    """The gradients [problems, width] divided by the Hessians, in the precision of x.

    None where that does not do: a Hessian is not positive definite in rounding.
    """
    curvature = curvature.to(x.dtype)
    if squares is not None:
        hessian = (curvature @ squares).view(len(curvature), x.shape[1], x.shape[1])
    else:
        hessian = (x.T * curvature[:, None, :]) @ x
    hessian.diagonal(dim1=-2, dim2=-1).add_(penalty)
    factor, failed = torch.linalg.cholesky_ex(hessian)
    if failed.any():
        return None
    right = gradient[:, :, None].to(x.dtype)
    return torch.cholesky_solve(right, factor)[:, :, 0].to(gradient.dtype)


def _scale(
    at: Tensor,
    decision: Tensor,
    step: Tensor,
    moved: Tensor,
    weight: Tensor,
    target: Tensor,
    penalty: Tensor,
    slope: Tensor,
) -> Tensor:
    """How much of each step is taken, [problems, 1]: all of it, or half as often as needed."""

    def objective(taken: Tensor) -> Tensor:
        w, f = at - taken * step, decision - taken * moved
        return (penalty * w * w).sum(1) / 2 + (weight * (softplus(f) - target * f)).sum(1)

    scale = torch.ones_like(slope)[:, None]
    before = objective(torch.zeros_like(scale))
    slack = 1e-12 * (1 + before.abs())  # what rounding may add
    for _ in range(_HALVINGS):
        short = objective(scale) > before - 1e-4 * scale[:, 0] * slope + slack
        if not short.any():
            break
        scale = torch.where(short[:, None], scale / 2, scale)
    return scale
