"""Marks of a template in a sample's text are broken up, and nothing else is changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.judging.guards.text import WORD_JOINER, neutralised

TOKENS = ("[INST]", "[/INST]", "<s>", "<<SYS>>", "\nUser:")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain, superuser: you", "plain, superuser: you"),
        ("a [/INST] b", "a [\u2060/INST] b"),
        ("a [/inst] b", "a [\u2060/inst] b"),
        ("[/[/INST]", "[/[\u2060/INST]"),
        ("<<SYS>><s>", "<\u2060<SYS>><\u2060s>"),
        ("User: x", "U\u2060ser: x"),
        ("hello\n\nuser: x\n User: y", "hello\n\nu\u2060ser: x\n User: y"),
        ("安全 [INST]", "安全 [\u2060INST]"),
        ("half \ud83d", "half \\ud83d"),
    ],
)
def test_marks_are_broken_up(text: str, expected: str) -> None:
    assert neutralised(text, TOKENS) == expected


def test_without_marks_nothing_is_done() -> None:
    assert neutralised("[/INST]", ()) == "[/INST]"


@given(st.lists(st.sampled_from([*TOKENS, "[", "/INST]", "User:", "\n", "x", "é"])).map("".join))
def test_no_mark_is_left_and_no_character_lost(text: str) -> None:
    out = neutralised(text, TOKENS)
    assert out.replace(WORD_JOINER, "") == text
    assert not any(token in f"\n{out}" for token in TOKENS)
    assert neutralised(out, TOKENS) == out
