"""Half of the items to make a vector from, the other half to try it on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from trace.errors import ConfigError


def halves(
    groups: Sequence[str], positive: Sequence[bool], seed: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Splits samples by group, each half with about the same share of positives.

    A difference in means separates the very samples it was made from even on noise, so what it
    does is measured on items that it never saw.

    Args:
        groups: the item that each sample is a version of; one never stands in both halves.
        positive: the class of each sample.
        seed: of the shuffle.

    Returns:
        The samples to build from, and those held out, each in order.

    Raises:
        ConfigError: a class has fewer than two groups, or is missing in the half to build from.
    """
    labels = np.asarray(positive, dtype=bool)
    names = np.asarray(groups, dtype=str)
    for side, mask in (("positive", labels), ("negative", ~labels)):
        if (count := len(set(names[mask]))) < 2:
            raise ConfigError(
                f"probe.{side}: {count} item{'s' if count != 1 else ''} with such an answer, and "
                "each half needs one. Name other labels, or take a run with more items."
            )
    cut = StratifiedGroupKFold(n_splits=2, shuffle=True, random_state=seed)
    build, held_out = next(iter(cut.split(labels, labels, names)))
    if len(set(labels[build].tolist())) < 2:
        raise ConfigError(
            f"seed={seed}: the half of the items that the vector is made from has one class only. "
            "Take another seed, or a run with more items."
        )
    return tuple(build.tolist()), tuple(held_out.tolist())
