"""The clustered intervals of both areas against resampling done by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from trace.stats.auc import auc_interval, auprc_interval


def planted(seed: int, clusters: int) -> tuple[list[bool], list[float], list[str]]:
    """Scores that share a cluster effect and are rounded, so that many are tied."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=clusters)
    names = np.repeat([f"c{i}" for i in range(clusters)], sizes)
    unsafe = rng.random(len(names)) < 0.5
    effect = np.repeat(rng.normal(size=clusters), sizes)
    scores = np.round(unsafe * 0.8 + effect + rng.normal(size=len(names)), 1)
    return unsafe.tolist(), scores.tolist(), names.tolist()


def by_hand(
    unsafe: list[bool], scores: list[float], clusters: list[str], draws: int
) -> NDArray[np.float64]:
    rng = np.random.default_rng(11)
    gold, score = np.array(unsafe), np.array(scores)
    members = [np.flatnonzero(np.array(clusters) == name) for name in dict.fromkeys(clusters)]
    values = []
    for _ in range(draws):
        drawn = rng.integers(len(members), size=len(members))
        rows = np.concatenate([members[i] for i in drawn])
        won = score[rows][gold[rows]][:, None] - score[rows][~gold[rows]]
        values.append(((won > 0) + (won == 0) / 2).mean())
    return np.quantile(values, (0.025, 0.975))


@pytest.mark.parametrize("seed", [0, 1])
def test_the_interval_is_that_of_resampling_whole_clusters(seed: int) -> None:
    unsafe, scores, clusters = planted(seed, 40)
    found = auc_interval(unsafe, scores, clusters, draws=8000, rng=np.random.default_rng(0))
    low, high = by_hand(unsafe, scores, clusters, 3000)
    assert found.low == pytest.approx(low, abs=0.012)
    assert found.high == pytest.approx(high, abs=0.012)
    assert found.clusters == 40


def test_every_draw_of_separated_scores_is_one() -> None:
    found = auc_interval(
        [True, False] * 10,
        [1.0, 0.0] * 10,
        [str(i // 2) for i in range(20)],
        draws=200,
        rng=np.random.default_rng(0),
    )
    assert (found.low, found.high) == (1.0, 1.0)


def test_equal_scores_are_half() -> None:
    found = auc_interval(
        [True, False] * 10,
        [0.3] * 20,
        [str(i // 2) for i in range(20)],
        draws=200,
        rng=np.random.default_rng(0),
    )
    assert (found.low, found.high) == (0.5, 0.5)


def test_the_order_of_records_and_the_names_of_clusters_do_not_matter() -> None:
    unsafe, scores, clusters = planted(2, 12)
    order = np.random.default_rng(3).permutation(len(unsafe))
    one = auc_interval(unsafe, scores, clusters, draws=500, rng=np.random.default_rng(0))
    other = auc_interval(
        [unsafe[i] for i in order],
        [scores[i] for i in order],
        [f"renamed {clusters[i]}" for i in order],
        draws=500,
        rng=np.random.default_rng(0),
    )
    assert one == other


def test_draws_without_both_kinds_are_counted_as_undefined() -> None:
    found = auc_interval(
        [True, False], [1.0, 0.0], ["a", "b"], draws=2000, rng=np.random.default_rng(0)
    )
    assert found.undefined == pytest.approx(0.5, abs=0.05)  # aa and bb of the four draws
    assert found.low == 1.0


def test_one_kind_alone_has_no_interval() -> None:
    found = auc_interval(
        [True] * 4, [1.0, 2.0, 3.0, 4.0], list("abcd"), draws=100, rng=np.random.default_rng(0)
    )
    assert found.low is None
    assert found.reason


def test_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="2 labels, 1 scores"):
        auc_interval([True, False], [1.0], ["a", "b"], draws=10, rng=np.random.default_rng(0))


@pytest.mark.parametrize("seed", [0, 1])
def test_the_interval_of_the_average_precision(seed: int) -> None:
    unsafe, scores, clusters = planted(seed, 40)
    gold, score = np.array(unsafe), np.array(scores)
    members = [np.flatnonzero(np.array(clusters) == name) for name in dict.fromkeys(clusters)]
    rng = np.random.default_rng(11)
    values = []
    for _ in range(2000):
        rows = np.concatenate([members[i] for i in rng.integers(40, size=40)])
        values.append(average_precision_score(gold[rows], score[rows]))
    found = auprc_interval(unsafe, scores, clusters, draws=8000, rng=np.random.default_rng(0))
    low, high = np.quantile(values, (0.025, 0.975))
    assert found.low == pytest.approx(low, abs=0.015)
    assert found.high == pytest.approx(high, abs=0.015)


def test_the_average_precision_of_one_draw_is_that_of_its_records() -> None:
    """Clusters that are all alike: each draw is so many copies of one."""
    unsafe, scores = [True, False, True, False, True], [0.9, 0.9, 0.5, 0.4, 0.1]
    found = auprc_interval(
        unsafe * 5, scores * 5, [i // 5 for i in range(25)], draws=50, rng=np.random.default_rng(0)
    )
    expected = average_precision_score(unsafe, scores)
    assert found.low == pytest.approx(expected, abs=1e-12)
    assert found.high == pytest.approx(expected, abs=1e-12)


def test_one_kind_alone_has_no_average_precision() -> None:
    for kind in (True, False):
        found = auprc_interval(
            [kind] * 4, [1.0, 2.0, 3.0, 4.0], list("abcd"), draws=100, rng=np.random.default_rng(0)
        )
        assert (found.low, found.undefined) == (None, 1.0)
