"""Splits for nested cross-validation, in which versions of one item stay together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from trace.errors import ConfigError, DataError

Rows: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Row numbers: those that are fitted to and those that are predicted.

    `inner` divides `train` in the same way again; its numbers count within `train`.
    """

    train: Rows
    test: Rows
    inner: tuple[tuple[Rows, Rows], ...]


def split(
    positive: NDArray[np.bool_],
    group: Sequence[Hashable],
    *,
    folds: int,
    inner_folds: int,
    seed: int,
) -> tuple[Fold, ...]:
    """Stratified folds of whole groups, each with inner folds of its training rows.

    Args:
        positive: the class of each row, [n].
        group: the group of each row, [n].
        folds: outer folds.
        inner_folds: folds of each outer fold's training rows.
        seed: of the order in which groups are dealt out.

    Raises:
        DataError: there is one class only, or one group.
        ConfigError: there are too few groups, or a class is missing on one side of a fold.
    """
    if positive.all() or not positive.any():
        raise DataError(
            f"All {len(positive)} samples are {'positive' if positive.any() else 'negative'}: "
            "nothing is to be told apart. Choose labels that both occur, by probe.positive and "
            "probe.negative."
        )
    code = _codes(group)
    outer = _deal(positive, code, folds, seed, "probe.folds")
    made = []
    for train, test in outer:
        inner = _deal(positive[train], code[train], inner_folds, seed, "probe.inner_folds")
        made.append(Fold(train=train, test=test, inner=tuple(inner)))
    return tuple(made)


def _codes(group: Sequence[Hashable]) -> Rows:
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(one, len(known)) for one in group], dtype=np.intp)


def _deal(
    positive: NDArray[np.bool_], code: Rows, folds: int, seed: int, key: str
) -> list[tuple[Rows, Rows]]:
    count = len(np.unique(code))
    if count < 2:
        raise DataError(
            "group: all samples share one, and what is told from one group can be tried on no "
            "other. Give every item its own, versions of an item the same."
        )
    if count < folds:
        raise ConfigError(f"{key}: {folds} is more than the {count} groups. Use {count} or fewer.")
    for name, rows in (("positive", positive), ("negative", ~positive)):
        having = len(np.unique(code[rows]))
        if having < folds:
            raise _vanished(key, folds, name, f"only {having} groups have one")
    dealer = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    dealt = [(train, test) for train, test in dealer.split(positive, positive, code)]
    for train, test in dealt:
        for rows in (train, test):
            if positive[rows].all() or not positive[rows].any():
                name = "negative" if positive[rows].all() else "positive"
                raise _vanished(key, folds, name, "groups are too large or too mixed")
    return dealt


def _vanished(key: str, folds: int, name: str, why: str) -> ConfigError:
    return ConfigError(
        f"{key}: with {folds}, a fold has no {name} sample ({why}). Use fewer folds, or labels of "
        "which more samples are there."
    )
