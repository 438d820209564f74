"""Shortcut probe 3: does the wording of half the payload templates give the other half away?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from trace.benchmarks.tracesafe.audit.collection import Collection, by_class, cluster_of
from trace.benchmarks.tracesafe.audit.probing import auc_metric, folds, undefined
from trace.benchmarks.tracesafe.audit.templates import templates
from trace.benchmarks.tracesafe.audit.wording import Wording
from trace.records import Json

_BUCKETS = 2**18
_KEPT = 1000


def probe_templates(collection: Collection, *, draws: int, seed: int) -> dict[str, Json]:
    """Class -> `auc` on templates not trained on, how many `templates`, and their `source`.

    In every fold (clusters stay whole) one classifier learns from one half of the templates and
    scores the mutants of the other half, and the other way round; both score the benign records.
    All scores are pooled, so a benign record counts twice.
    """
    everything = _grams(Wording.of(collection.records))
    row = {record.id: i for i, record in enumerate(collection.records)}
    benign = collection.benign
    found: dict[str, Json] = {}
    for class_, mutants in by_class(collection.mutants).items():
        told = templates(mutants)
        records = [*mutants, *benign]
        halves = told.halves()
        found[class_.name] = {"templates": len(set(told.names)), "source": told.source}
        unsafe = np.array([True] * len(mutants) + [False] * len(benign))
        clusters = [cluster_of(record) for record in records]
        splits = folds(unsafe.tolist(), clusters, seed=seed)
        if halves is None or isinstance(splits, str):
            reason = "all payloads are of one template" if halves is None else str(splits)
            found[class_.name]["auc"] = undefined(reason, unsafe.tolist())
            continue
        first = np.array([*halves, *[False] * len(benign)])
        rows = everything[[row[record.id] for record in records]]
        tested, scores = _crossed(rows, unsafe, first, splits)
        found[class_.name]["auc"] = auc_metric(
            [bool(unsafe[i]) for i in tested],
            scores,
            [clusters[i] for i in tested],
            of=unsafe.tolist(),
            draws=draws,
            seed=seed,
        )
    return found


def _crossed(
    rows: csr_matrix,
    unsafe: NDArray[np.bool_],
    first: NDArray[np.bool_],
    splits: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
) -> tuple[list[int], list[float]]:
    """Which records were scored, and the scores. Where a half has no mutant to learn from, none."""
    tested: list[int] = []
    scores: list[float] = []
    for train, test in splits:
        for half in (True, False):
            learnt = train[~unsafe[train] | (first[train] == half)]
            asked = test[~unsafe[test] | (first[test] != half)]
            if not unsafe[learnt].any() or not len(asked):
                continue
            fitted = clone(_MODEL).fit(rows[learnt], unsafe[learnt])
            scores += map(float, fitted.predict_proba(rows[asked])[:, 1])
            tested += map(int, asked)
    return tested, scores


def _grams(wording: Wording) -> csr_matrix:
    """1 where a record has a run of 3 to 5 characters, [records, buckets]."""
    vectorizer = HashingVectorizer(
        analyzer="char",
        ngram_range=(3, 5),
        n_features=_BUCKETS,
        binary=True,
        norm=None,
        alternate_sign=False,
        dtype=np.float32,
    )
    found = csr_matrix(wording.membership @ vectorizer.transform(wording.texts))
    found.data[:] = 1
    return found


_MODEL: Pipeline = make_pipeline(
    SelectKBest(chi2, k=_KEPT), LogisticRegression(solver="liblinear", class_weight="balanced")
)
"""Selection first: a payload is a hundredth of the text of a record, and would drown in it."""
