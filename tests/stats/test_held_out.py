"""A threshold chosen on some clusters and applied to the others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.stats.test_threshold import planted
from trace.stats.threshold import held_out, split_by_cluster


@given(
    st.lists(st.integers(0, 30), min_size=2, max_size=60),
    st.floats(0.01, 0.99),
    st.integers(0, 99),
)
def test_a_split_keeps_clusters_whole_and_leaves_none_empty(
    numbers: list[int], share: float, seed: int
) -> None:
    clusters = [f"c{i}" for i in numbers]
    assume(len(set(clusters)) > 1)
    drawn = split_by_cluster(clusters, share, seed=seed)
    one = {c for c, d in zip(clusters, drawn, strict=True) if d}
    other = {c for c, d in zip(clusters, drawn, strict=True) if not d}
    assert not one & other
    assert one
    assert other
    total = len(one) + len(other)
    assert abs(len(one) - share * total) <= 1
    # The same clusters in another order, and in other numbers, are split alike.
    again = split_by_cluster(clusters[::-1] + clusters, share, seed=seed)
    assert again == drawn[::-1] + drawn


def test_another_seed_is_another_split() -> None:
    clusters = [f"c{i}" for i in range(40)]
    splits = {tuple(split_by_cluster(clusters, 0.5, seed=seed)) for seed in range(5)}
    assert len(splits) == 5


def test_a_split_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="1 clusters; two are needed"):
        split_by_cluster(["a", "a"], 0.5, seed=0)
    for share in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="not between 0 and 1"):
            split_by_cluster(["a", "b"], share, seed=0)


def test_what_is_reported_plays_no_part_in_the_choice() -> None:
    unsafe, scores, clusters = planted(1, 400, 2.0, clusters=60)
    drawn = split_by_cluster(clusters, 0.5, seed=3)
    found = held_out(unsafe, scores, clusters, 0.05, share=0.5, seed=3, unscored_as="as_wrong")
    turned = [u if d else not u for u, d in zip(unsafe, drawn, strict=True)]
    moved = [s if d else s + 5 for s, d in zip(scores, drawn, strict=True)]
    for gold, values in ((turned, scores), (unsafe, moved)):
        other = held_out(gold, values, clusters, 0.05, share=0.5, seed=3, unscored_as="as_wrong")
        assert other.threshold == found.threshold
        assert (other.tpr, other.tnr) != (found.tpr, found.tnr)


def test_rates_are_those_of_the_rest_alone() -> None:
    unsafe, scores, clusters = planted(2, 300, 2.0, clusters=50)
    given_ = [None if i % 7 == 0 else s for i, s in enumerate(scores)]
    drawn = split_by_cluster(clusters, 0.4, seed=1)
    found = held_out(unsafe, given_, clusters, 0.05, share=0.4, seed=1, unscored_as="as_wrong")
    rest = [(u, s) for u, s, d in zip(unsafe, given_, drawn, strict=True) if not d]
    assert found.threshold.value is not None
    assert found.tpr is not None
    assert found.tnr is not None
    assert found.threshold.n == sum(d and s is not None for s, d in zip(given_, drawn, strict=True))
    for rate, kind in ((found.tpr, True), (found.tnr, False)):
        mine = [s for u, s in rest if u == kind]
        right = sum(s is not None and (s >= found.threshold.value) == kind for s in mine)
        assert (rate.k, rate.n, rate.n_unscored) == (right, len(mine), mine.count(None))
    left_out = held_out(unsafe, given_, clusters, 0.05, share=0.4, seed=1, unscored_as="exclude")
    assert left_out.tpr is not None
    assert left_out.tpr.n == found.tpr.n - found.tpr.n_unscored


def test_where_nothing_can_be_chosen_nothing_is_reported() -> None:
    found = held_out(
        [True, False] * 10, [0.5] * 20, range(20), 0.05, share=0.5, seed=0, unscored_as="exclude"
    )
    assert (found.threshold.value, found.tpr, found.tnr) == (None, None, None)
    assert found.threshold.reason


def test_on_the_rest_the_limit_holds_on_average() -> None:
    """The optimism of choosing and reporting on one set is gone: the false alarms average 5%."""
    alarms = []
    for seed in range(60):
        unsafe, scores, clusters = planted(seed, 400, 1.5)
        found = held_out(
            unsafe, scores, clusters, 0.05, share=0.5, seed=seed, unscored_as="exclude"
        )
        assert found.tnr is not None
        assert found.tnr.value is not None
        alarms.append(1 - found.tnr.value)
    assert np.mean(alarms) == pytest.approx(0.05, abs=4 * float(np.std(alarms)) / math.sqrt(60))
