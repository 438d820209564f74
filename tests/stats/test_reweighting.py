from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from trace.stats import reweighting
from trace.stats.resampling import cluster_bootstrap
from trace.stats.reweighting import canonical_order, reweighted_bootstrap

Array = NDArray[np.float64]


def planted() -> tuple[NDArray[np.int64], list[int]]:
    rng = np.random.default_rng(1)
    clusters = rng.integers(0, 25, 200)
    return (rng.random(200) < 0.2 + 0.5 * (clusters % 2)).astype(np.int64), clusters.tolist()


def test_a_mean_has_the_interval_of_its_sums() -> None:
    hits, clusters = planted()
    columns = np.stack([hits, np.ones_like(hits)], axis=1)

    def share(sums: Array) -> Array:
        return np.asarray(sums[:, 0] / sums[:, 1])

    def mean(times: Array) -> Array:
        return np.asarray((times @ hits) / times.sum(axis=1))

    one = cluster_bootstrap(columns, clusters, share, draws=20_000, rng=np.random.default_rng(2))
    other = reweighted_bootstrap(clusters, mean, draws=20_000, rng=np.random.default_rng(3))
    assert other.low == pytest.approx(one.low, abs=0.006)
    assert other.high == pytest.approx(one.high, abs=0.006)
    assert (other.clusters, other.draws, other.undefined) == (25, 20_000, 0.0)


def test_a_draw_is_of_whole_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    _, clusters = planted()
    monkeypatch.setattr(reweighting, "_CELLS", 3 * len(clusters))  # three draws a block
    seen: list[Array] = []

    def note(times: Array) -> Array:
        seen.append(times)
        return np.zeros(len(times))

    reweighted_bootstrap(clusters, note, draws=50, rng=np.random.default_rng(0))
    times = np.concatenate(seen)
    assert len(times) == 50
    for name in set(clusters):
        members = times[:, np.array(clusters) == name]
        assert (members == members[:, :1]).all()
    firsts = [clusters.index(name) for name in set(clusters)]
    assert (times[:, firsts].sum(axis=1) == 25).all()


def test_what_has_no_interval_says_why() -> None:
    def undefined(times: Array) -> Array:
        return np.full(len(times), np.nan)

    rng = np.random.default_rng(0)
    assert reweighted_bootstrap([], undefined, draws=5, rng=rng).reason == "no samples"
    one = reweighted_bootstrap(["a", "a"], undefined, draws=5, rng=rng)
    assert one.reason == "one cluster cannot be resampled"
    two = reweighted_bootstrap(["a", "b"], undefined, draws=5, rng=rng)
    assert (two.low, two.undefined) == (None, 1.0)
    assert two.reason == "the statistic is undefined in every draw"
    with pytest.raises(ValueError, match="draws is 0"):
        reweighted_bootstrap(["a", "b"], undefined, draws=0, rng=rng)


def test_the_canonical_order_tells_only_what_the_records_hold() -> None:
    records = [(0.5, 1.0), (0.1, 0.0), (0.5, 1.0), (0.1, 0.0), (0.7, 0.0)]
    clusters = ["b", "b", "a", "a", "c"]
    seen = set()
    for order in itertools.permutations(range(5)):
        for names in ({"a": 1, "b": 2, "c": 3}, {"a": "z", "b": "y", "c": "x"}):
            shown = [records[i] for i in order], [names[clusters[i]] for i in order]
            places = canonical_order(*shown)
            assert sorted(places) == list(range(5))
            first_seen = {c: i for i, c in enumerate(dict.fromkeys(shown[1][p] for p in places))}
            seen.add(tuple((shown[0][p], first_seen[shown[1][p]]) for p in places))
    assert len(seen) == 1
    with pytest.raises(ValueError, match="shorter"):
        canonical_order(records, clusters[:4])
