from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from trace.stats import resampling
from trace.stats.resampling import cluster_bootstrap

Array = NDArray[Any]


def balanced_accuracy(sums: Array) -> Array:
    return np.asarray((sums[:, 0] / sums[:, 1] + sums[:, 2] / sums[:, 3]) / 2)


def share(sums: Array) -> Array:
    return np.asarray(sums[:, 0] / sums[:, 1])


def judgements(seed: int, n: int, clusters: int) -> tuple[Array, list[str]]:
    """Columns (hits, unsafe, passes, safe) of n records."""
    rng = np.random.default_rng(seed)
    unsafe, right = rng.random(n) < 0.6, rng.random(n) < 0.7
    columns = np.stack([unsafe & right, unsafe, ~unsafe & right, ~unsafe], axis=1)
    return columns.astype(int), [f"task_{c}" for c in rng.integers(0, clusters, n)]


def test_agrees_with_every_resample_there_is() -> None:
    """Six clusters, two of them alike, have 6**6 ordered resamples: enumerate them all."""
    columns = np.array([[3, 4, 1, 2], [3, 4, 1, 2], [0, 5, 2, 3], [4, 4, 1, 1], [1, 2, 0, 4],
                        [2, 3, 3, 3]])  # fmt: skip
    exact = balanced_accuracy(
        np.array(
            [columns[list(pick)].sum(axis=0) for pick in itertools.product(range(6), repeat=6)]
        )
    )
    found = cluster_bootstrap(
        columns, list("abcdef"), balanced_accuracy, draws=40_000, rng=np.random.default_rng(1)
    )
    # Four standard errors of an estimated tail probability of 0.025.
    slack = 4 * math.sqrt(0.025 * 0.975 / 40_000)
    for end, tail in ((found.low, 0.025), (found.high, 0.975)):
        assert end is not None
        assert np.mean(exact < end - 1e-9) <= tail + slack
        assert np.mean(exact <= end + 1e-9) >= tail - slack


def test_agrees_with_a_slow_loop_over_whole_clusters() -> None:
    columns, clusters = judgements(3, 500, 40)
    names = np.array(clusters)
    rng = np.random.default_rng(99)
    slow = []
    for _ in range(3000):
        picked = rng.choice(np.unique(names), size=len(set(clusters)), replace=True)
        rows = np.concatenate([np.flatnonzero(names == name) for name in picked])
        slow.append(balanced_accuracy(columns[rows].sum(axis=0, keepdims=True))[0])
    found = cluster_bootstrap(
        columns, clusters, balanced_accuracy, draws=20_000, rng=np.random.default_rng(1)
    )
    # The quantiles of 3,000 draws are known to about 0.05 standard deviations.
    assert (found.low, found.high) == pytest.approx(
        tuple(np.quantile(slow, [0.025, 0.975])), abs=0.2 * float(np.std(slow))
    )


def test_interval_widens_as_the_intraclass_correlation_says() -> None:
    """SE grows by sqrt(1 + (m - 1) ICC): 1.84 for 13 judgements a sample and an ICC of 0.2."""
    m, groups, icc = 13, 400, 0.2
    rng = np.random.default_rng(7)
    a = 0.7 * (1 - icc) / icc
    chance = rng.beta(a, a * 0.3 / 0.7, size=groups)
    right = (rng.random((groups, m)) < chance[:, None]).astype(int)
    between = m * right.mean(axis=1).var(ddof=1)
    within = right.var(axis=1, ddof=1).mean()
    found_icc = (between - within) / (between + (m - 1) * within)  # one-way analysis of variance
    assert found_icc == pytest.approx(icc, abs=0.04)

    columns = np.stack([right.ravel(), np.ones(groups * m, dtype=int)], axis=1)
    widths = []
    for clusters in (np.repeat(np.arange(groups), m).tolist(), list(range(groups * m))):
        found = cluster_bootstrap(
            columns, clusters, share, draws=20_000, rng=np.random.default_rng(0)
        )
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    assert widths[0] / widths[1] == pytest.approx(math.sqrt(1 + (m - 1) * found_icc), rel=0.04)
    assert widths[0] / widths[1] > 1.6


@given(st.integers(0, 2**32), st.integers(2, 60), st.integers(2, 30), st.randoms())
@settings(max_examples=50)
def test_order_and_names_play_no_part(seed: int, n: int, groups: int, shuffle: Any) -> None:
    columns, clusters = judgements(seed, n, groups)
    order = list(range(n))
    shuffle.shuffle(order)
    renamed = [(clusters[i], "renamed") for i in order]

    def run(table: Array, names: Any) -> Any:
        rng = np.random.default_rng(5)
        return cluster_bootstrap(table, names, balanced_accuracy, draws=50, rng=rng)

    found = run(columns, clusters)
    assert found == run(columns[order], renamed)
    if found.low is not None:
        assert 0 <= found.low <= found.high <= 1


def test_blocks_bound_the_memory_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, clusters = judgements(11, 300, 60)

    def run() -> tuple[Any, list[int]]:
        rows: list[int] = []

        def watched(sums: Array) -> Array:
            rows.append(len(sums))
            return balanced_accuracy(sums)

        rng = np.random.default_rng(2)
        return cluster_bootstrap(columns, clusters, watched, draws=500, rng=rng), rows

    whole, blocks = run()
    assert blocks == [500]
    monkeypatch.setattr(resampling, "_CELLS", 700)
    cut, blocks = run()
    assert max(blocks) <= 700 // 10
    assert sum(blocks) == 500
    assert cut == whole


def test_undefined_draws_are_left_out_and_their_share_is_told() -> None:
    """The only safe cluster of ten is missing from a share (9/10)**10 of the draws."""
    columns = np.array([[1, 1, 0, 0], [0, 1, 0, 0]] * 5)
    columns[0] = [0, 0, 1, 1]
    found = cluster_bootstrap(
        columns, list(range(10)), balanced_accuracy, draws=20_000, rng=np.random.default_rng(0)
    )
    assert found.undefined == pytest.approx(0.9**10, abs=0.015)
    assert found.low is not None
    assert found.high is not None
    assert 0.5 <= found.low < found.high <= 1


def test_no_interval_is_none_with_a_reason() -> None:
    rng = np.random.default_rng(0)
    one = cluster_bootstrap([[1, 2], [0, 3]], ["a", "a"], share, draws=10, rng=rng)
    assert (one.low, one.high, one.undefined) == (None, None, None)
    assert one.reason == "one cluster cannot be resampled"
    empty = cluster_bootstrap(np.zeros((0, 2)), [], share, draws=10, rng=rng)
    assert (empty.low, empty.reason) == (None, "no samples")
    never = cluster_bootstrap([[0, 0], [0, 0]], ["a", "b"], share, draws=10, rng=rng)
    assert (never.low, never.undefined) == (None, 1.0)
    assert never.reason == "the statistic is undefined in every draw"


@pytest.mark.parametrize(("clusters", "few"), [(19, True), (20, False)])
def test_few_clusters_are_flagged(clusters: int, few: bool) -> None:
    columns = [[i % 2, 1] for i in range(clusters)]
    rng = np.random.default_rng(0)
    found = cluster_bootstrap(columns, list(range(clusters)), share, draws=10, rng=rng)
    assert (found.clusters, found.few_clusters) == (clusters, few)


def test_the_seed_decides() -> None:
    columns, clusters = judgements(1, 200, 50)

    def run(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        return cluster_bootstrap(columns, clusters, balanced_accuracy, draws=200, rng=rng)

    assert run(4) == run(4)
    assert run(4) != run(5)


def test_what_does_not_fit_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="do not match 1"):
        cluster_bootstrap([[1, 2], [3, 4]], ["a"], share, draws=10, rng=rng)
    with pytest.raises(ValueError, match="do not match"):
        cluster_bootstrap([1, 2], ["a", "b"], share, draws=10, rng=rng)
    with pytest.raises(ValueError, match="draws is 0"):
        cluster_bootstrap([[1, 2], [3, 4]], ["a", "b"], share, draws=0, rng=rng)
