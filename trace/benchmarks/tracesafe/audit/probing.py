"""How a probe is cross-validated: clusters stay whole, scores of all folds are pooled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.pipeline import Pipeline

from trace.benchmarks.tracesafe.audit.collection import Collection, by_class, cluster_of
from trace.benchmarks.tracesafe.released import MutationRecord
from trace.report.entry import Metric, entry, from_estimate, with_interval
from trace.stats.auc import auc_interval
from trace.stats.classification import auroc

FOLDS = 5


def probe_classes(
    collection: Collection,
    features: Callable[[MutationRecord], Any],
    model: Callable[[int], Pipeline],
    *,
    draws: int,
    seed: int,
) -> dict[str, Metric]:
    """The cross-validated AUC of a probe for each class against the benign one.

    Args:
        collection: the records.
        features: what the probe knows of a record.
        model: an unfitted classifier for a seed.
        draws: resamples of the interval.
        seed: folds, classifier and resampling.

    Returns:
        Class -> AUC with its interval by clusters; None with a reason where there are too few.
    """
    benign = collection.benign
    known = {record.id: features(record) for record in collection.records}
    found: dict[str, Metric] = {}
    for class_, mutants in by_class(collection.mutants).items():
        records = [*mutants, *benign]
        unsafe = [True] * len(mutants) + [False] * len(benign)
        clusters = [cluster_of(record) for record in records]
        splits = folds(unsafe, clusters, seed=seed)
        if isinstance(splits, str):
            found[class_.name] = undefined(splits, unsafe)
            continue
        inputs = np.array([known[record.id] for record in records], dtype=object)
        scores = cross_val_predict(model(seed), inputs, unsafe, cv=splits, method="predict_proba")[
            :, 1
        ]
        found[class_.name] = auc_metric(
            unsafe, list(scores), clusters, of=unsafe, draws=draws, seed=seed
        )
    return found


def folds(
    unsafe: Sequence[bool], clusters: Sequence[str], *, seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]] | str:
    """The train and test indices of every fold, or why there can be none.

    No cluster is on both sides, and each fold has about its share of both kinds (scikit-learn's
    StratifiedGroupKFold). The number of folds is five, or the number of clusters of the kind
    that has fewer.
    """
    pairs = list(zip(unsafe, clusters, strict=True))
    n = min(FOLDS, *(len({c for u, c in pairs if u is kind}) for kind in (True, False)))
    if n < 2:
        return "fewer than two clusters of mutants or of benign records"
    splitter = StratifiedGroupKFold(n_splits=n, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer records of a kind than folds
        splits = list(splitter.split(np.zeros(len(pairs)), list(unsafe), list(clusters)))
    gold = np.array(unsafe)
    if any(gold[train].all() or not gold[train].any() for train, _ in splits):
        return "a fold would be trained on one kind of records only"
    return splits


def auc_metric(
    unsafe: Sequence[bool],
    scores: Sequence[float],
    clusters: Sequence[str],
    *,
    of: Sequence[bool],
    draws: int,
    seed: int,
) -> Metric:
    """The AUC of pooled scores with its interval; lower is better.

    Args:
        unsafe: whether each scored record is a mutant; a record may be scored more than once.
        scores: of each, the higher the more likely a mutant.
        clusters: of each.
        of: whether each record is a mutant; every record once.
        draws: resamples of the interval.
        seed: of the resampling.

    Returns:
        The entry; `n` counts records, `mutants` those of the class.
    """
    interval = auc_interval(unsafe, scores, clusters, draws=draws, rng=np.random.default_rng(seed))
    metric = from_estimate(auroc(unsafe, scores), total=len(scores))
    return with_interval(metric, interval) | {"higher_is_better": False, **_sizes(of)}


def undefined(reason: str, of: Sequence[bool]) -> Metric:
    """An AUC that cannot be had over records of which `of` tells the mutants."""
    metric = entry(None, n=len(of), n_unscored=0, higher_is_better=False, reason=reason)
    return metric | _sizes(of)


def _sizes(of: Sequence[bool]) -> dict[str, int]:
    return {"n": len(of), "mutants": sum(of)}
