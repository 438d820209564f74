"""The intervals of agreement: whole clusters are resampled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stats.test_agreement import KINDS, MANY, TABLES
from trace.stats.agreement import Kind, Votes, agreement, agreement_interval


def clustered(seed: int, clusters: int) -> tuple[list[list[str | None]], list[str]]:
    """Two raters whose agreement varies by cluster, some votes missing."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, clusters)
    names = np.repeat([f"c{i}" for i in range(clusters)], sizes)
    agree = np.repeat(rng.beta(2, 1, clusters), sizes)
    first = rng.random(len(names)) < 0.4
    second = np.where(rng.random(len(names)) < agree, first, ~first)
    gone = rng.random((len(names), 2)) < 0.1
    votes = [
        [None if lost else "ab"[int(v)] for v, lost in zip(pair, losses, strict=True)]
        for pair, losses in zip(zip(first, second, strict=True), gone, strict=True)
    ]
    return votes, names.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_is_that_of_resampling_whole_clusters(kind: Kind) -> None:
    votes, clusters = clustered(1, 30)
    rng = np.random.default_rng(7)
    members = [
        [row for row, c in zip(votes, clusters, strict=True) if c == name]
        for name in dict.fromkeys(clusters)
    ]
    by_hand = []
    for _ in range(1500):
        drawn = rng.integers(len(members), size=len(members))
        value = agreement(kind, [row for i in drawn for row in members[i]]).value
        assert value is not None
        by_hand.append(value)
    found = agreement_interval(kind, votes, clusters, draws=6000, rng=np.random.default_rng(0))
    slack = 0.2 * float(np.std(by_hand))
    assert found.low == pytest.approx(float(np.quantile(by_hand, 0.025)), abs=slack)
    assert found.high == pytest.approx(float(np.quantile(by_hand, 0.975)), abs=slack)
    paired = {c for row, c in zip(votes, clusters, strict=True) if None not in row}
    assert found.clusters == len(paired)


def test_only_clusters_of_paired_items_are_resampled() -> None:
    votes: Votes = [["a", "a"], ["a", "b"], ["b", "b"], ["a", None]]
    found = agreement_interval(
        "cohen", votes, ["p", "q", "q", "alone"], draws=50, rng=np.random.default_rng(0)
    )
    assert found.clusters == 2
    nothing = agreement_interval(
        "fleiss", [["a", None]], ["p"], draws=50, rng=np.random.default_rng(0)
    )
    assert (nothing.low, nothing.reason) == (None, "no samples")


def test_draws_in_which_chance_is_all_are_told() -> None:
    found = agreement_interval(
        "cohen", [["a", "a"], ["b", "b"]], ["p", "q"], draws=4000, rng=np.random.default_rng(0)
    )
    assert found.undefined == pytest.approx(0.5, abs=0.04)  # pp and qq of four draws
    assert (found.low, found.high) == (1.0, 1.0)


@settings(max_examples=30)
@given(TABLES, st.sampled_from(MANY))
def test_the_interval_never_has_an_error_of_its_own(
    votes: list[list[str | None]], kind: Kind
) -> None:
    found = agreement_interval(
        kind, votes, range(len(votes)), draws=30, rng=np.random.default_rng(0)
    )
    assert (found.low is None) == (found.reason is not None)
