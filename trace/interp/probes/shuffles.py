"""What chance gives: the labels, dealt out to the groups anew."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def labelings(
    positive: NDArray[np.bool_], group: Sequence[Hashable], count: int, *, seed: int
) -> NDArray[np.bool_]:
    """The labels as they are, and `count` shuffles of them: [count + 1, n].

    Groups are what is exchangeable, not rows: groups of equal size exchange their labels as a
    whole, in the order of their rows. A group that holds as many of one class as of the other, as
    a pair of versions does, may also swap its classes: where all groups are such pairs, nothing
    else could change. (Restricted permutation: Good 2005, section 3.7.)
    """
    rng = np.random.default_rng(seed)
    made = np.tile(positive, (count + 1, 1))
    for rows in _by_size(group):
        held = positive[rows]  # [groups, size]
        even = _even(held)
        for labeling in made[1:]:
            order = rng.permutation(len(rows))
            labeling[rows] = held[order]
            if even.any():
                swapped = even[order] & (rng.random(len(rows)) < 0.5)
                labeling[rows] ^= swapped[:, None]
    return made


def distinct(positive: NDArray[np.bool_], group: Sequence[Hashable]) -> int:
    """How many different labelings such shuffles can give."""
    ways = 1
    for rows in _by_size(group):
        held = positive[rows]
        even = _even(held)
        same = held ^ (even & held[:, 0])[:, None]  # as it is before or after a swap
        kinds = Counter(map(tuple, same.tolist()))
        ways *= 2 ** int(even.sum())
        ways *= math.factorial(len(rows)) // math.prod(map(math.factorial, kinds.values()))
    return ways


def _even(held: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which groups, of labels [groups, size], hold as many of one class as of the other."""
    even: NDArray[np.bool_] = 2 * held.sum(1) == held.shape[1]
    return even


def _by_size(group: Sequence[Hashable]) -> list[NDArray[np.intp]]:
    """The rows of all groups of one size, [groups, size], for each size."""
    members: dict[Hashable, list[int]] = defaultdict(list)
    for row, one in enumerate(group):
        members[one].append(row)
    sizes: dict[int, list[list[int]]] = defaultdict(list)
    for rows in members.values():
        sizes[len(rows)].append(rows)
    return [np.array(rows, dtype=np.intp) for rows in sizes.values()]


def p_value(observed: float, null: ArrayLike) -> float:
    """(k + 1) / (B + 1), k of B shuffles being at least as good as the labels themselves.

    The labels count as one of their own shuffles, so it is never 0. (Phipson & Smyth 2010,
    Statistical Applications in Genetics and Molecular Biology 9:39.)
    """
    values = np.asarray(null, dtype=np.float64)
    at_least = int((values >= observed - 1e-12).sum())  # equal but for rounding is a tie
    return (at_least + 1) / (len(values) + 1)


def shuffles_needed(layers: int, level: float) -> int:
    """The fewest shuffles with which a p can stay at `level` after Bonferroni over `layers`."""
    return math.ceil(layers / level - 1e-9) - 1
