"""How far two labellings of the same items agree, or several annotators together."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trace.annotation.label import Label
from trace.report.agreement import coefficient
from trace.report.entry import Metric, entry, from_rate, with_interval
from trace.stats.rates import rate
from trace.stats.resampling import cluster_bootstrap
from trace.stats.token_f1 import token_f1, tokens

Pair: TypeAlias = tuple[Label | None, Label | None]

# It splits Chinese, and has the words of any other language as they are.
_LANGUAGE = "zh"


def compared(
    pairs: Sequence[Pair],
    clusters: Sequence[Hashable],
    *,
    of: str,
    marked: Collection[str],
    draws: int,
    seed: int,
) -> dict[str, Metric]:
    """Raw agreement, Cohen's kappa and, where anything is marked, the overlap of the evidence.

    Items that one side has no label for count as neither equal nor different; the bounds of the
    raw agreement say what they could make of it.

    Args:
        pairs: the two labels of each item, None where a side has none.
        clusters: the cluster of each item, [pairs].
        of: what the items are, for the reason of an undefined number.
        marked: the values that pieces are marked for.
        draws: bootstrap resamples.
        seed: of the resampling.

    Returns:
        `agreement` with a Wilson interval, `kappa` and `evidence` resampled by cluster.
    """
    votes = [[label.value if label else None for label in pair] for pair in pairs]
    both = [pair for pair in votes if None not in pair]
    equal = sum(a == b for a, b in both)
    raw = rate(equal, len(both) - equal, len(votes) - len(both), unscored_as="exclude", of=of)
    kappa = coefficient("cohen", votes, clusters, draws=draws, seed=seed)
    if raw.reason is not None:
        kappa |= {"reason": raw.reason}
    found = {"agreement": from_rate(raw), "kappa": kappa}
    if marked:
        found["evidence"] = _evidence(pairs, clusters, marked, draws=draws, seed=seed)
    return found


def _evidence(
    pairs: Sequence[Pair],
    clusters: Sequence[Hashable],
    marked: Collection[str],
    *,
    draws: int,
    seed: int,
) -> Metric:
    """The mean TokenF1 of the pieces, over items with the same label that has pieces.

    An item on which one side has no piece with a word in it is not scored.
    """
    alike = [
        (_pieces(a), _pieces(b), cluster)
        for (a, b), cluster in zip(pairs, clusters, strict=True)
        if a and b and a.value == b.value and a.value in marked
    ]
    scored = [(token_f1(a, b, _LANGUAGE).f1, cluster) for a, b, cluster in alike if a and b]
    metric = entry(
        sum(f1 for f1, _ in scored) / len(scored) if scored else None,
        n=len(scored),
        n_unscored=len(alike) - len(scored),
        reason=f"no item that both call {' or '.join(sorted(marked))} has pieces marked by both",
    )
    if not scored:
        return metric
    rng = np.random.default_rng(seed)
    interval = cluster_bootstrap(
        [(f1, 1.0) for f1, _ in scored], [c for _, c in scored], _mean, draws=draws, rng=rng
    )
    return with_interval(metric, interval)


def _pieces(label: Label) -> list[str]:
    pieces = [span.text for spans in label.spans.values() for span in spans]
    return pieces if any(tokens(piece, _LANGUAGE) for piece in pieces) else []


def _mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    value: NDArray[np.float64] = sums[:, 0] / sums[:, 1]
    return value
