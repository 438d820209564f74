"""How alike texts are, on texts of which it is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.benchmarks.cross_lab.variety import closest, inserted, ngrams, repeated, skeleton, words


def test_a_template_shows_whatever_fills_it() -> None:
    one = skeleton("Write a letter to the mayor about the bridge, 40 words.")
    two = skeleton("Draft a poem to the baker about the storm, 60 lines.")
    other = skeleton("The mayor wants a letter. What about the bridge?")
    assert one == two != other
    assert repeated([one, two, other]) == {one: 2}


def test_the_opening_is_so_many_words() -> None:
    assert len(skeleton("a b c d e f", 4)) == 4
    assert skeleton("One, two.", 8) == skeleton("One, two.")


def test_words_keep_numbers_and_apostrophes() -> None:
    assert words("Don’t pay 3.50, Zoë!") == ["don't", "pay", "3.50", ",", "zoë", "!"]


def test_jaccard_of_runs_by_hand() -> None:
    # 3-grams of abcd: abc bcd; of bcde: bcd cde. One of three is shared.
    found, places = closest(["a b c d", "x y z", "b, c d e"], n=3)
    assert (found, places) == (pytest.approx(1 / 3), (0, 2))
    assert ngrams("a b", 5) == {("a", "b")}


def test_one_text_has_no_pair() -> None:
    with pytest.raises(ValueError, match="empty"):
        closest(["alone"])


@given(st.text(), st.text(min_size=1), st.text())
def test_an_insertion_is_found(before: str, between: str, after: str) -> None:
    found = inserted(before + after, before + between + after)
    assert found is not None
    assert sorted(found) == sorted(between)  # its place may be another: aXa + a, a + aXa


@pytest.mark.parametrize(
    ("base", "steered"), [("abc", "abc"), ("abcd", "abc"), ("abc", "aXbYc"), ("abc", "Xbcd")]
)
def test_what_is_no_insertion_is_none(base: str, steered: str) -> None:
    assert inserted(base, steered) is None
