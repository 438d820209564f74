"""Kappa over strata that have labels of their own."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from trace.stats.agreement import agreement, stratified_agreement


def rated(labels: str, n: int, seed: int) -> list[list[str]]:
    luck = np.random.default_rng(seed)
    return [[str(luck.choice(list(labels))) for _ in range(5)] for _ in range(n)]


def test_it_is_the_mean_of_statsmodels_kappas_by_items() -> None:
    strata = [rated("aab", 30, 1), rated("xyz", 90, 2)]
    each = [fleiss_kappa(aggregate_raters(np.array(votes))[0]) for votes in strata]
    found = stratified_agreement("fleiss", strata)
    assert found.value == pytest.approx((30 * each[0] + 90 * each[1]) / 120, abs=1e-12)
    assert found.n == 120


def test_pooled_labels_would_agree_where_raters_do_not() -> None:
    """Random votes: to know the stratum is no agreement."""
    strata = [rated("ab", 200, 3), rated("xy", 200, 4)]
    pooled = agreement("fleiss", [row for votes in strata for row in votes])
    found = stratified_agreement("fleiss", strata)
    assert pooled.value is not None
    assert pooled.value > 0.3
    assert found.value == pytest.approx(0, abs=0.05)


def test_a_stratum_of_one_label_is_left_out_and_nothing_else_has_a_reason() -> None:
    same = [["a"] * 5] * 10
    votes = rated("xyz", 20, 5)
    found = stratified_agreement("fleiss", [same, votes])
    assert (found.value, found.n) == (agreement("fleiss", votes).value, 20)
    alone = stratified_agreement("fleiss", [same])
    assert alone.value is None
    assert alone.reason == "every vote is 'a'"
    assert stratified_agreement("fleiss", []).reason == "no items"
