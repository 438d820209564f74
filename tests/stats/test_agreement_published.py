"""Published figures of agreement."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from trace.stats.agreement import Votes, agreement


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
