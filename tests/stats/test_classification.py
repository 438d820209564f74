from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.stats.classification import auprc, auroc, balanced_f1, confusion

# Few distinct scores, so that ties are common.
SCORED = st.lists(
    st.tuples(st.booleans(), st.none() | st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])),
    max_size=30,
)
PREDICTED = st.lists(st.tuples(st.booleans(), st.none() | st.booleans()), max_size=40)


@given(SCORED)
def test_auroc_is_the_share_of_pairs_in_order(pairs: list[tuple[bool, float | None]]) -> None:
    found = auroc([u for u, _ in pairs], [s for _, s in pairs])
    unsafe = [s for u, s in pairs if u and s is not None]
    safe = [s for u, s in pairs if not u and s is not None]
    assert found.n == len(unsafe) + len(safe)
    if not unsafe or not safe:
        assert found.value is None
        assert found.reason
        return
    wins = sum((a > b) + (a == b) / 2 for a in unsafe for b in safe)
    assert found.value == pytest.approx(wins / (len(unsafe) * len(safe)))


@given(SCORED)
def test_auprc_is_the_mean_precision_at_each_unsafe(
    pairs: list[tuple[bool, float | None]],
) -> None:
    found = auprc([u for u, _ in pairs], [s for _, s in pairs])
    scored = [(s, u) for u, s in pairs if s is not None]
    unsafe = [s for s, u in scored if u]
    if found.value is None:
        assert not unsafe or len(unsafe) == len(scored)
        return
    precision = []
    for threshold in unsafe:
        flagged = [u for s, u in scored if s >= threshold]
        precision.append(sum(flagged) / len(flagged))
    assert found.value == pytest.approx(sum(precision) / len(precision))


def test_a_ranking_of_one_class_says_which_is_missing() -> None:
    assert auroc([True, True], [0.1, 0.2]).reason == "no safe sample has a score"
    assert auprc([True, False], [None, 0.2]).reason == "no unsafe sample has a score"
    assert auroc([True, False], [None, None]).reason == "no sample has a score"
    assert auroc([], []).reason == "no samples"


def test_a_score_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        auroc([True, False], [0.5, float("nan")])
    with pytest.raises(ValueError, match="shorter"):
        auroc([True, False], [0.5])


def test_an_unscored_prediction_is_no_third_class() -> None:
    """One of two unsafe samples has no label: (2/3 + 1) / 2. As a third class it would be 5/9."""
    found = balanced_f1([True, True, False, False], [True, None, False, False])
    assert found.value == pytest.approx(5 / 6)


@given(PREDICTED)
def test_balanced_f1_from_counts(pairs: list[tuple[bool, bool | None]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = balanced_f1([u for u, _ in pairs], [f for _, f in pairs])
    halves = []
    for side in (True, False):
        hits = sum(u is side and f is side for u, f in pairs)
        of = sum(u is side for u, _ in pairs)
        called = sum(f is side for _, f in pairs)
        if not of:
            assert found.value is None
            assert found.reason
            return
        halves.append(2 * hits / (of + called))
    assert found.value == pytest.approx(sum(halves) / 2)


def test_balanced_f1_lengths() -> None:
    with pytest.raises(ValueError, match="2 gold labels, 1 predictions"):
        balanced_f1([True, False], [True])


LABELS = ("benign", "leak", "ghost")


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.none() | st.sampled_from(LABELS))))
def test_confusion_counts_every_pair_once(pairs: list[tuple[str, str | None]]) -> None:
    table = confusion([g for g, _ in pairs], [p for _, p in pairs], LABELS)
    for label, row in zip(LABELS, table, strict=True):
        expected = [sum(pair == (label, p) for pair in pairs) for p in (*LABELS, None)]
        assert row == expected
    assert all(type(count) is int for row in table for count in row)


def test_confusion_refuses_what_is_no_label() -> None:
    strange: Any = ["ghost", "spectre"]
    with pytest.raises(ValueError, match="spectre"):
        confusion(["benign", "benign"], strange, LABELS)
    with pytest.raises(ValueError, match="spectre"):
        confusion(strange, [None, None], LABELS)
