"""A rate corrected for the errors of the judge that it was counted by."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

_Z = float(stats.norm.ppf(0.975))


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion:
    """`share` of `n` observations; `n` is effective, so not always whole, where they cluster."""

    share: float | None
    n: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A corrected rate as a fraction with its 95% interval.

    `raw` is the estimate before it was brought into [0, 1], `clipped` whether it had to be: then
    the sensitivity or the specificity of the labelled subset does not hold for what was counted,
    or the rate is near an end. All are None, with a `reason`, where nothing can be corrected.
    """

    value: float | None
    low: float | None
    high: float | None
    raw: float | None
    clipped: bool
    sensitivity: float | None
    specificity: float | None
    reason: str | None = None


def proportion(hits: Sequence[bool], clusters: Sequence[Hashable]) -> Proportion:
    """A share, and of how many independent observations it is worth.

    The effective number is n / design effect × (t[n − 1] / t[clusters − 1])², at most n, with the
    quantiles of Student's t at 0.975 (Korn & Graubard 1998, Survey Methodology 24:193-201). The
    design effect compares the linearised variance between clusters with that of independent
    observations. Where all observations are alike it cannot be seen, and each cluster counts once.

    Args:
        hits: whether each observation is one of those counted.
        clusters: the cluster of each.

    Raises:
        ValueError: the lengths differ.
    """
    if len(hits) != len(clusters):
        raise ValueError(f"{len(hits)} observations, {len(clusters)} clusters")
    n = len(hits)
    if not n:
        return Proportion(share=None, n=0)
    index = {cluster: i for i, cluster in enumerate(dict.fromkeys(clusters))}
    groups = len(index)
    share = sum(map(bool, hits)) / n
    if share in (0, 1) or groups == 1:
        return Proportion(share=share, n=groups)
    member = [index[cluster] for cluster in clusters]
    away = np.bincount(member, weights=np.asarray(hits, dtype=float) - share)
    between = groups / (groups - 1) * float(away @ away) / n**2
    design_effect = max(1.0, between / (share * (1 - share) / (n - 1)))
    few = stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, groups - 1)
    return Proportion(share=share, n=n / design_effect * float(few) ** 2)


def corrected_rate(
    flagged: Proportion, sensitivity: Proportion, specificity: Proportion
) -> Corrected:
    """The rate of unsafe items behind the rate of flagged ones (Rogan & Gladen 1978).

    (flagged + specificity − 1) / (sensitivity + specificity − 1); Am. J. Epidemiol. 107:71-76. The
    interval is that of Lang & Reiczigel 2014 (Prev. Vet. Med. 113:13-22, equations 6, 7, 16 and
    17), which carries the uncertainty of all three proportions. It takes them as independent: where
    the labelled subset is part of what was counted, it is a little too wide.

    It holds only if the judge errs on what was counted as on the labelled subset. Verdicts that
    are not ok belong in none of the three.

    Args:
        flagged: of all items with a verdict, those the judge called unsafe.
        sensitivity: of the labelled unsafe items, those it called unsafe.
        specificity: of the labelled safe items, those it called safe.

    Returns:
        No value, with a reason, when one of the three has no observation; or when sensitivity +
        specificity − 1 is not above 0 at the 95% level, since then any rate of unsafe items could
        lie behind the flagged ones.
    """

    def none(reason: str) -> Corrected:
        return Corrected(
            value=None,
            low=None,
            high=None,
            raw=None,
            clipped=False,
            sensitivity=sensitivity.share,
            specificity=specificity.share,
            reason=reason,
        )

    if flagged.share is None:
        return none("no item has a verdict")
    if sensitivity.share is None or specificity.share is None:
        kind = "unsafe" if sensitivity.share is None else "safe"
        return none(f"no {kind} item of the labelled subset has a verdict")
    rate, n_rate = _smoothed(flagged.share, flagged.n, _Z**2)
    found, n_found = _smoothed(sensitivity.share, sensitivity.n, 2)
    cleared, n_cleared = _smoothed(specificity.share, specificity.n, 2)
    var_found, var_cleared = found * (1 - found) / n_found, cleared * (1 - cleared) / n_cleared
    informed = found + cleared - 1
    youden = sensitivity.share + specificity.share - 1
    if youden <= 0 or informed <= _Z * math.sqrt(var_found + var_cleared):
        return none(
            f"sensitivity {sensitivity.share:.2f} and specificity {specificity.share:.2f} of the "
            "labelled subset are too near to chance to correct by"
        )
    raw = (flagged.share + specificity.share - 1) / youden
    centre = (rate + cleared - 1) / informed
    shift = 2 * _Z**2 * (centre * var_found - (1 - centre) * var_cleared)
    variance = rate * (1 - rate) / n_rate + centre**2 * var_found + (1 - centre) ** 2 * var_cleared
    half = _Z * math.sqrt(variance) / informed
    value = _within(raw)
    return Corrected(
        value=value,
        # The interval is not centred on the estimate; at an end of [0, 1] it may just miss it.
        low=min(value, _within(centre + shift - half)),
        high=max(value, _within(centre + shift + half)),
        raw=raw,
        clipped=raw != value,
        sensitivity=sensitivity.share,
        specificity=specificity.share,
    )


def _smoothed(share: float, n: float, more: float) -> tuple[float, float]:
    """The share after `more` observations, half of them hits, and the new number."""
    return (n * share + more / 2) / (n + more), n + more


def _within(value: float) -> float:
    return min(1.0, max(0.0, value))
