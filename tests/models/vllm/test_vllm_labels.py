"""Labels as a tree of tokens, without a model."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.models.vllm.labels import Tokens, forks, summed

TOKENS = st.lists(st.integers(0, 3), min_size=1, max_size=5).map(tuple)


def no_label_begins_another(labels: list[Tokens]) -> list[Tokens]:
    return [a for a in labels if not any(b != a and a[: len(b)] == b for b in labels)]


LABELS = st.lists(TOKENS, min_size=1, max_size=8, unique=True).map(no_label_begins_another)


def test_forks_of_labels_that_share_their_beginning() -> None:
    assert forks([(7,), (4, 5), (4, 6, 9)]) == {(): [7, 4], (4,): [5, 6], (4, 6): [9]}


def test_one_pass_is_enough_for_labels_of_one_token() -> None:
    assert forks([(7,), (4,)]) == {(): [7, 4]}


@given(LABELS)
def test_a_walk_down_the_tree_ends_at_some_label(labels: list[Tokens]) -> None:
    even = {at: dict.fromkeys(then, -math.log(len(then))) for at, then in forks(labels).items()}
    assert sum(map(math.exp, summed(labels, even))) == pytest.approx(1)


@given(LABELS)
def test_every_token_of_a_label_counts_once(labels: list[Tokens]) -> None:
    one = {at: dict.fromkeys(then, -1.0) for at, then in forks(labels).items()}
    assert summed(labels, one) == [-len(label) for label in labels]
