from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from trace.stats.rates import rate

COUNTS = st.integers(0, 3000)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [  # Newcombe 1998, Statistics in Medicine 17:857-872, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_textbook_intervals(k: int, n: int, low: float, high: float) -> None:
    found = rate(k, n - k, 0, unscored_as="as_wrong")
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [  # TraceSafe: appendix E.3 (103 of 155), table 12 (67.9% of 3,792), table 13 (4 of 12)
        (103, 155, 58.7, 73.4),
        (2575, 3792, 66.4, 69.4),
        (4, 12, 13.8, 60.9),
    ],
)
def test_intervals_that_the_tracesafe_paper_prints(k: int, n: int, low: float, high: float) -> None:
    found = rate(k, n - k, 0, unscored_as="as_wrong")
    assert found.low is not None
    assert found.high is not None
    assert (100 * found.low, 100 * found.high) == pytest.approx((low, high), abs=0.05)


def test_the_paper_widest_interval_at_90_samples_is_wilson_not_wald() -> None:
    found = rate(45, 45, 0, unscored_as="as_wrong")
    assert found.low is not None
    assert found.high is not None
    assert 50 * (found.high - found.low) == pytest.approx(10.1, abs=0.05)
    assert 100 * 1.96 * math.sqrt(0.25 / 90) > 10.3


def test_the_ends_are_exact() -> None:
    assert rate(20, 0, 0, unscored_as="as_wrong").high == 1.0
    assert rate(0, 20, 0, unscored_as="as_wrong").low == 0.0


def test_unscored_are_wrong_or_left_out_and_the_bounds_stay() -> None:
    wrong = rate(6, 2, 2, unscored_as="as_wrong")
    assert (wrong.value, wrong.k, wrong.n, wrong.n_unscored) == (0.6, 6, 10, 2)
    out = rate(6, 2, 2, unscored_as="exclude")
    assert (out.value, out.k, out.n, out.n_unscored) == (0.75, 6, 8, 2)
    assert wrong.bounds == out.bounds == (0.6, 0.8)


def test_nothing_to_count_is_none_with_a_reason() -> None:
    none = rate(0, 0, 0, unscored_as="as_wrong", of="safe samples")
    assert (none.value, none.low, none.high, none.bounds) == (None, None, None, None)
    assert none.reason == "no safe samples"
    silent = rate(0, 0, 7, unscored_as="exclude")
    assert (silent.value, silent.reason) == (None, "all 7 samples are unscored")
    assert silent.bounds == (0.0, 1.0)
    alone = rate(0, 0, 1, unscored_as="exclude", of="safe samples")
    assert alone.reason == "no safe samples but one, which is unscored"
    assert rate(0, 0, 7, unscored_as="as_wrong").value == 0.0


def test_what_is_no_count_is_refused() -> None:
    half: Any = 9.5
    with pytest.raises(TypeError):
        rate(half, 1, 0, unscored_as="as_wrong")
    with pytest.raises(ValueError, match="negative"):
        rate(-1, 1, 0, unscored_as="as_wrong")
    policy: Any = "ignore"
    with pytest.raises(ValueError, match="ignore"):
        rate(1, 1, 0, unscored_as=policy)
    numpy_count: Any = np.int64(3)
    assert type(rate(numpy_count, 1, 0, unscored_as="as_wrong").k) is int


@given(COUNTS, COUNTS, COUNTS)
def test_the_interval_is_scipys(right: int, wrong: int, unscored: int) -> None:
    found = rate(right, wrong, unscored, unscored_as="as_wrong")
    if found.n:
        other = binomtest(right, found.n).proportion_ci(0.95, method="wilson")
        assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=1e-12)


@given(COUNTS, COUNTS, COUNTS, st.sampled_from(["as_wrong", "exclude"]))
def test_value_interval_and_bounds_are_in_order(
    right: int, wrong: int, unscored: int, policy: Any
) -> None:
    found = rate(right, wrong, unscored, unscored_as=policy)
    if found.value is None:
        assert found.reason
        return
    assert found.low is not None
    assert found.high is not None
    assert found.bounds is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.bounds[0] - 1e-15 <= found.value <= found.bounds[1] + 1e-15


@given(COUNTS, COUNTS, COUNTS)
def test_counting_as_wrong_never_helps(right: int, wrong: int, unscored: int) -> None:
    strict = rate(right, wrong, unscored, unscored_as="as_wrong").value
    lenient = rate(right, wrong, unscored, unscored_as="exclude").value
    if strict is not None and lenient is not None:
        assert strict <= lenient
