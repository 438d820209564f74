"""One entry of metrics.json: a number and all that must stand beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # tables and figures are made without the statistics libraries
    from trace.stats.classification import Estimate
    from trace.stats.rates import Rate
    from trace.stats.resampling import BootstrapInterval

Metric: TypeAlias = dict[str, Any]
"""value, n, n_unscored, low, high, interval, unit, higher_is_better, bounds; `reason` when the
value is null; `bootstrap` when an interval was, or should have been, resampled."""


def number(value: float | None) -> float | None:
    """Kept to 12 significant digits: libraries that differ in the last bit give the same file."""
    return None if value is None else float(f"{value:.12g}")


def entry(
    value: float | None,
    *,
    n: int,
    n_unscored: int,
    higher_is_better: bool | None = True,
    bounds: tuple[float, float] | None = None,
    reason: str | None = None,
) -> Metric:
    """A fraction without an interval; `reason` says why `value` is None, if it is."""
    metric: Metric = {
        "value": number(value),
        "n": n,
        "n_unscored": n_unscored,
        "low": None,
        "high": None,
        "interval": None,
        "unit": "fraction",
        "higher_is_better": higher_is_better,
        "bounds": None if bounds is None else [number(b) for b in bounds],
    }
    return metric if value is not None else metric | {"reason": reason}


def from_rate(rate: Rate, *, higher_is_better: bool = True) -> Metric:
    """A rate with its Wilson interval."""
    metric = entry(
        rate.value,
        n=rate.n,
        n_unscored=rate.n_unscored,
        higher_is_better=higher_is_better,
        bounds=rate.bounds,
        reason=rate.reason,
    )
    if rate.value is None:
        return metric
    return metric | {"low": number(rate.low), "high": number(rate.high), "interval": "wilson"}


def from_rates(
    tpr: Rate,
    tnr: Rate,
    combine: Callable[[float, float], float],
    *,
    falls_in_tnr: bool = False,
    higher_is_better: bool | None = True,
) -> Metric:
    """What `combine` makes of both rates; it rises in TPR, and in TNR unless told otherwise."""
    value = bounds = None
    if tpr.value is not None and tnr.value is not None:
        value = combine(tpr.value, tnr.value)
    if tpr.bounds is not None and tnr.bounds is not None:
        low, high = tnr.bounds[::-1] if falls_in_tnr else tnr.bounds
        bounds = (combine(tpr.bounds[0], low), combine(tpr.bounds[1], high))
    return entry(
        value,
        n=tpr.n + tnr.n,
        n_unscored=tpr.n_unscored + tnr.n_unscored,
        higher_is_better=higher_is_better,
        bounds=bounds,
        reason="; ".join(rate.reason for rate in (tpr, tnr) if rate.reason),
    )


def from_estimate(estimate: Estimate, *, total: int) -> Metric:
    """An estimate over those of `total` samples that it can use."""
    return entry(
        estimate.value, n=estimate.n, n_unscored=total - estimate.n, reason=estimate.reason
    )


def with_interval(metric: Metric, interval: BootstrapInterval) -> Metric:
    """The metric with a resampled interval, or with the reason that it has none."""
    if metric["value"] is None:
        return metric
    note = {
        "clusters": interval.clusters,
        "few_clusters": interval.few_clusters,
        "draws": interval.draws,
        "undefined": number(interval.undefined),
    }
    if interval.reason is not None:
        return metric | {"bootstrap": note | {"reason": interval.reason}}
    return metric | {
        "low": number(interval.low),
        "high": number(interval.high),
        "interval": "bootstrap-cluster",
        "bootstrap": note,
    }
