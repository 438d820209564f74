from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.models.unicode import whole_characters


@given(st.text())
def test_text_is_left_as_it_is(text: str) -> None:
    assert whole_characters(text) == text


@pytest.mark.parametrize(
    ("half", "whole"),
    [("\ud83d", "\ufffd"), ("a\udc00b", "a\ufffdb"), ("\ud83d\ude00", "\U0001f600"),
     ("\udc00\ud83d", "\ufffd\ufffd"), ("\ufeffa", "\ufeffa"),
     ("\ud83d\ud83d\ude00", "\ufffd\U0001f600")],
)  # fmt: skip
def test_halves_are_joined_or_replaced(half: str, whole: str) -> None:
    assert whole_characters(half) == whole


@given(st.text(st.characters(categories=["Cs", "L"])))
def test_the_result_can_always_be_encoded(text: str) -> None:
    whole_characters(text).encode()
