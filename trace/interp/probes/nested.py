"""One outer fold of nested cross-validation, for many labelings of the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from trace.interp.probes.fitting import Fit
from trace.interp.probes.folds import Fold


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nested:
    """Out-of-fold `decisions` [splits, layers, labelings, n] and the `strengths` chosen for them.

    The latter are C, [splits, layers, labelings, folds]; both are float64.
    """

    decisions: Tensor
    strengths: Tensor


def one_by_one(
    x: Tensor,
    labelings: Tensor,
    splits: Sequence[tuple[Fold, ...]],
    *,
    strengths: Sequence[float],
    fit: Fit,
) -> Nested:
    """Every layer in every fold of every split, in a plain loop, where x is.

    Args:
        x: the activations, [n, layers, d].
        labelings: truth values [labelings, n].
        splits: each with the same number of folds.
        strengths: the C to choose from.
        fit: the solver of one fold.
    """
    grid = torch.tensor(sorted(strengths), dtype=torch.float64)
    shape = (len(splits), x.shape[1], len(labelings))
    decisions = torch.zeros(*shape, len(x), dtype=torch.float64)
    chosen = torch.zeros(*shape, len(splits[0]), dtype=torch.float64)
    for (s, split), layer in product(enumerate(splits), range(x.shape[1])):
        for at, fold in enumerate(split):
            values, c = predict_fold(x[:, layer], labelings, fold, grid, fit)
            decisions[s, layer][:, torch.as_tensor(fold.test)] = values
            chosen[s, layer, :, at] = c
    return Nested(decisions=decisions, strengths=chosen)


def predict_fold(
    x: Tensor, labelings: Tensor, fold: Fold, strengths: Tensor, fit: Fit
) -> tuple[Tensor, Tensor]:
    """Chooses C on the inner folds, fits with it to all training rows, predicts the test rows.

    All that is learnt, the standardisation and C too, comes from the training rows. C has the
    highest balanced accuracy of the pooled inner predictions, the smallest of equals.

    Args:
        x: one layer, [n, d].
        labelings: truth values [labelings, n].
        fold: the rows.
        strengths: the C to choose from, ascending, float64.
        fit: the solver.

    Returns:
        Decision values [labelings, test rows] and chosen C [labelings]. A training fold of one
        class, which shuffles can bring about, predicts that class.
    """
    train, test = _on(x, fold.train), _on(x, fold.test)
    y = labelings[:, train]
    chosen = _chosen(x, train, y, fold, strengths, fit)
    return _decisions(fit, x, train, test, y, chosen), chosen


def chosen_strengths(
    x: Tensor, labelings: Tensor, fold: Fold, strengths: Tensor, fit: Fit
) -> Tensor:
    """The C [labelings] that `predict_fold` fits with."""
    train = _on(x, fold.train)
    return _chosen(x, train, labelings[:, train], fold, strengths, fit)


def _chosen(x: Tensor, train: Tensor, y: Tensor, fold: Fold, strengths: Tensor, fit: Fit) -> Tensor:
    if len(strengths) == 1:
        return strengths.expand(len(y))
    predicted = torch.zeros(len(strengths), *y.shape, dtype=torch.bool, device=y.device)
    for inner_train, inner_test in fold.inner:
        fitted, held_out = _on(x, inner_train), _on(x, inner_test)
        values = _decisions(
            fit,
            x,
            train[fitted],
            train[held_out],
            y[:, fitted].repeat(len(strengths), 1),
            strengths.repeat_interleave(len(y)),
        )
        predicted[:, :, held_out] = values.view(len(strengths), len(y), -1) > 0
    return strengths[balanced_accuracy(predicted, y).argmax(0)]


def balanced_accuracy(predicted: Tensor, y: Tensor) -> Tensor:
    """The mean of the shares of positives and of negatives that are predicted right, [...].

    Args:
        predicted: truth values [..., n].
        y: truth values that broadcast against them. Without both classes the result is NaN.
    """
    hits = (predicted & y).sum(-1) / y.sum(-1)
    return (hits + (~predicted & ~y).sum(-1) / (~y).sum(-1)) / 2


def _decisions(
    fit: Fit, x: Tensor, train: Tensor, test: Tensor, y: Tensor, strengths: Tensor
) -> Tensor:
    mixed = y.any(1) & ~y.all(1)
    only = y[:, :1].to(torch.float64) * 2 - 1
    values = only.expand(-1, len(test)).clone()
    if mixed.any():
        values[mixed] = fit.decisions(x, train, test, y[mixed], strengths[mixed])
    return values


def _on(x: Tensor, rows: object) -> Tensor:
    return torch.as_tensor(rows, device=x.device)
