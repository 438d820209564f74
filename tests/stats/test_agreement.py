from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

from trace.stats.agreement import Kind, agreement, agreement_interval, by_pair

KINDS: tuple[Kind, ...] = ("percent", "cohen", "fleiss", "krippendorff")
MANY: tuple[Kind, ...] = ("percent", "fleiss", "krippendorff")

VOTE = st.none() | st.sampled_from("abc")
TABLES = st.integers(2, 5).flatmap(
    lambda raters: st.lists(st.lists(VOTE, min_size=raters, max_size=raters), max_size=20)
)
COMPLETE = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from("abc"), min_size=raters, max_size=raters), min_size=1, max_size=20
    )
)


@given(COMPLETE)
def test_fleiss_agrees_with_statsmodels_where_no_vote_is_missing(votes: list[list[str]]) -> None:
    found = agreement("fleiss", votes)
    if len({v for row in votes for v in row}) == 1:
        assert found.value is None
        assert found.reason == f"every vote is {votes[0][0]!r}"
        return
    table = [[row.count(label) for label in "abc"] for row in votes]
    assert found.value == pytest.approx(float(fleiss_kappa(table)), abs=1e-9)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=25))
def test_cohen_agrees_with_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    first, second = zip(*pairs, strict=True)
    found = agreement("cohen", pairs)
    if len({*first, *second}) == 1:
        assert found.value is None
        assert found.reason
        return
    expected = cohen_kappa_score(first, second, labels=["a", "b", "c"])
    assert found.value == pytest.approx(float(expected), abs=1e-9)


@given(COMPLETE)
def test_alpha_is_fleiss_kappa_corrected_for_the_number_of_votes(votes: list[list[str]]) -> None:
    """Without missing votes, alpha = kappa + (1 - kappa) / votes (Krippendorff 2011)."""
    kappa, alpha = agreement("fleiss", votes).value, agreement("krippendorff", votes).value
    if kappa is None:
        assert alpha is None
        return
    total = len(votes) * len(votes[0])
    assert alpha == pytest.approx(kappa + (1 - kappa) / total, abs=1e-9)


@given(TABLES)
def test_percent_is_the_mean_share_of_equal_pairs(votes: list[list[str | None]]) -> None:
    shares = []
    for row in votes:
        pairs = list(itertools.combinations([v for v in row if v is not None], 2))
        if pairs:
            shares.append(sum(a == b for a, b in pairs) / len(pairs))
    found = agreement("percent", votes)
    assert found.n == len(shares)
    assert found.value == (pytest.approx(float(np.mean(shares))) if shares else None)


@given(TABLES, st.sampled_from(MANY), st.randoms(use_true_random=False))
def test_orders_and_names_play_no_part(
    votes: list[list[str | None]], kind: Kind, random: Any
) -> None:
    expected = agreement(kind, votes)
    columns = list(range(len(votes[0]))) if votes else []
    random.shuffle(columns)
    renamed = {"a": "z", "b": "y", "c": "x", None: None}
    changed = [[renamed[row[j]] for j in columns] for row in votes]
    random.shuffle(changed)
    found = agreement(kind, changed)
    assert found.n == expected.n
    assert found.value == (
        None if expected.value is None else pytest.approx(expected.value, abs=1e-9)
    )


@given(TABLES, st.sampled_from(MANY), st.sampled_from("abc"))
def test_an_item_with_fewer_than_two_votes_counts_for_nothing(
    votes: list[list[str | None]], kind: Kind, vote: str
) -> None:
    if not votes:
        return
    nobody: list[str | None] = [None] * len(votes[0])
    more = [*votes, [vote, *nobody[1:]], nobody]
    found, expected = agreement(kind, more), agreement(kind, votes)
    assert (found.value, found.n) == (expected.value, expected.n)


@given(TABLES, st.sampled_from(MANY))
def test_values_are_in_range_or_have_a_reason(votes: list[list[str | None]], kind: Kind) -> None:
    found = agreement(kind, votes)
    assert (found.value is None) == (found.reason is not None)
    if found.value is not None:
        assert -1 - 1e-9 <= found.value <= 1 + 1e-9
        unanimous = all(len(set(row) - {None}) < 2 for row in votes)
        assert (abs(found.value - 1) < 1e-9) == unanimous


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_undefined_has_a_reason(kind: Kind) -> None:
    assert agreement(kind, []).reason == "no items"
    assert agreement(kind, [["a", None], [None, None]]).reason == "no item has two votes"
    same = agreement(kind, [["a", "a"], ["a", "a"]])
    assert (same.value, same.reason) == (
        (1.0, None) if kind == "percent" else (None, "every vote is 'a'")
    )


def test_planted_raters_agree_as_the_formula_says() -> None:
    """Four raters, each right with probability .8, else one of the two other labels; 15% missing.

    Two agree with .8² + 2 (.1²) = .66; the labels are equally frequent, so chance is a third.
    """
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 6000)
    shift = rng.choice([0, 1, 2], p=[0.8, 0.1, 0.1], size=(6000, 4))
    given_ = (truth[:, None] + shift) % 3
    missing = rng.random((6000, 4)) < 0.15
    votes = [
        [None if gone else "abc"[v] for v, gone in zip(row, lost, strict=True)]
        for row, lost in zip(given_, missing, strict=True)
    ]
    expected = (0.66 - 1 / 3) / (2 / 3)
    for kind in ("fleiss", "krippendorff"):
        assert agreement(cast(Kind, kind), votes).value == pytest.approx(expected, abs=0.02)
    for pair in by_pair(votes, "wxyz").values():
        assert agreement("cohen", pair).value == pytest.approx(expected, abs=0.03)
    assert agreement("percent", votes).value == pytest.approx(0.66, abs=0.02)


def test_pairs_are_of_the_named_raters() -> None:
    found = by_pair([["a", "b", None], ["c", None, "b"]], ["x", "y", "z"])
    assert found == {
        ("x", "y"): [("a", "b"), ("c", None)],
        ("x", "z"): [("a", None), ("c", "b")],
        ("y", "z"): [("b", None), (None, "b")],
    }


def test_wrong_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="rows of"):
        agreement("fleiss", [["a", "b"], ["a", "b", "c"]])
    with pytest.raises(ValueError, match="of two raters, not 3"):
        agreement("cohen", [["a", "b", "c"]])
    with pytest.raises(ValueError, match="no agreement of the kind 'scott'"):
        agreement(cast(Kind, "scott"), [["a", "b"]])
    with pytest.raises(ValueError, match="zip"):
        agreement_interval(
            "fleiss", [["a", "b"]], ["p", "q"], draws=10, rng=np.random.default_rng(0)
        )
