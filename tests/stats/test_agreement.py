from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

from trace.stats.agreement import Kind, Votes, agreement, agreement_interval, by_pair

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


def rows(*raters: str) -> Votes:
    """A string a rater, a character an item; a point is no vote."""
    return [[None if v == "." else v for v in votes] for votes in zip(*raters, strict=True)]


def items(*counted: Sequence[int]) -> Votes:
    """How many votes each label got, an item a row."""
    votes = [[chr(97 + c) for c, k in enumerate(row) for _ in range(k)] for row in counted]
    width = max(map(len, votes))
    return [[*row, *[None] * (width - len(row))] for row in votes]


def crossed(both: int, first: int, second: int, neither: int) -> Votes:
    cells = (("a", "a", both), ("a", "b", first), ("b", "a", second), ("b", "b", neither))
    return [[x, y] for x, y, k in cells for _ in range(k)]


@pytest.mark.parametrize(
    ("raters", "printed", "alpha", "n"),
    [
        (("0100000010", "1110010000"), 0.095, 0.09523809523809534, 10),
        (("aabbdcccedda", "babbbccceddd"), 0.692, 0.6919642857142858, 12),
        # The last of the twelve units has one vote.
        (
            ("123321412...", "1233224125.3", ".3332342251.", "12332441251."),
            0.743,
            0.743421052631579,
            11,
        ),
    ],
)
def test_krippendorffs_published_examples(
    raters: tuple[str, ...], printed: float, alpha: float, n: int
) -> None:
    """Krippendorff 2011, A to C; the further decimals are those of the package krippendorff 0.9."""
    found = agreement("krippendorff", rows(*raters))
    assert found.value == pytest.approx(printed, abs=5e-4)
    assert found.value == pytest.approx(alpha, abs=1e-12)
    assert found.n == n


def test_alpha_with_many_votes_missing() -> None:
    """A random table of 4 raters; the value is that of the package krippendorff 0.9."""
    votes = rows(
        "b.baca.b.abc.ac.b.b.abcabb...b",
        "bb.aabbac.c.cac.abbabbc.bbbcab",
        "bc.bcabc.abc.a.ca.bacbcabbbccb",
        "b.aa.a.bccb.aacca.cbbbccb.bcaa",
    )
    found = agreement("krippendorff", votes)
    assert found.value == pytest.approx(0.43750734861845986, abs=1e-12)
    assert found.n == 29


def test_fleiss_textbook_table() -> None:
    table = [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
             [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0],
             [0, 2, 2, 3, 7]]  # fmt: skip
    found = agreement("fleiss", items(*table))
    assert found.value == pytest.approx(0.20993070442195522, abs=1e-12)
    assert found.value == pytest.approx(0.210, abs=5e-4)


def test_fleiss_with_missing_raters() -> None:
    """Each item by its own number of votes; .4915 is what the largest number for all gives."""
    found = agreement("fleiss", items([5, 0], [0, 4], [3, 1], [0, 5]))
    assert found.value == pytest.approx(0.746875, abs=1e-12)
    assert found.n == 4


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ((20, 5, 10, 15), 0.4),  # textbook
        ((475, 25, 25, 475), 0.90),  # 95% on balanced labels, as published for RAG safety
        ((480, 20, 20, 480), 0.92),  # 96%
        ((460, 40, 40, 460), 0.84),  # the human re-annotation of TRACE: 92% agree
    ],
)
def test_published_cohen_kappas(table: tuple[int, int, int, int], kappa: float) -> None:
    assert agreement("cohen", crossed(*table)).value == pytest.approx(kappa, abs=1e-12)


def test_two_labels_cannot_reach_the_kappa_printed_for_85_percent() -> None:
    """The paper prints .71 to .73: that takes three labels."""
    reached = [
        agreement("cohen", crossed(both, first, 6 - first, 34 - both)).value
        for both in range(35)
        for first in range(7)
    ]
    best = max(v for v in reached if v is not None)
    assert best == pytest.approx(0.7066, abs=5e-4)
    assert best < 0.71


def test_near_unanimity_has_a_low_kappa_beside_its_percent() -> None:
    votes = [["a", "a"]] * 498 + [["a", "b"], ["b", "a"]]
    assert agreement("fleiss", votes).value == pytest.approx(-0.002, abs=1e-4)
    assert agreement("percent", votes).value == pytest.approx(0.996)


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
