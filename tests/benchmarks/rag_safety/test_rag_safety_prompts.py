from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.benchmarks.rag_safety.prompts import (
    DOCUMENTS_ONLY,
    MAX_CHARS,
    OWN_KNOWLEDGE,
    PROMPT_HASH,
    SAFETY,
    fitted,
    prompt,
    shortened,
)

QUESTION = "How is a {marsh} lamp lit?"


def words(text: str) -> int:
    return len(text.split())


def test_without_documents() -> None:
    asked = prompt(QUESTION, None)
    assert asked.text == f"{OWN_KNOWLEDGE}\n\nRequest: {QUESTION}"
    assert (asked.chars, asked.cut, asked.too_long) == ((), (), False)


def test_documents_are_labelled_in_order() -> None:
    asked = prompt(QUESTION, ["First {0}.", "Second\n\ntext."])
    assert asked.text == (
        f"{DOCUMENTS_ONLY}\n\nContext 1:\nFirst {{0}}.\n\nContext 2:\nSecond\n\ntext.\n\n"
        f"Request: {QUESTION}"
    )
    assert asked.chars == (10, 13)
    assert asked.cut == (0, 0)


def test_the_instructions_differ_in_the_source_alone() -> None:
    own, documents = OWN_KNOWLEDGE.split(), DOCUMENTS_ONLY.split()
    blocks = difflib.SequenceMatcher(None, own, documents, autojunk=False).get_opcodes()
    changed = [" ".join(own[a:b]) for tag, a, b, _, _ in blocks if tag != "equal"]
    assert changed == ["you know yourself,"]
    assert prompt(QUESTION, []).text == f"{DOCUMENTS_ONLY}\n\nRequest: {QUESTION}"


def test_a_document_is_capped_as_in_the_release() -> None:
    exact, longer = "x" * MAX_CHARS, "x" * MAX_CHARS + "y"
    assert f"\n{exact}\n" in prompt(QUESTION, [exact]).text
    asked = prompt(QUESTION, [longer])
    assert asked.chars == (12_000,)
    assert "x" * 11_999 + "…" in asked.text
    assert asked.cut == (0,)


def test_what_fits_stays() -> None:
    documents = ["one two three", "four five"]
    whole = prompt(QUESTION, documents)
    for overflow in ("cut", "refuse"):
        asked = fitted(
            prompt(QUESTION, documents),
            tokens=words(whole.text),
            tokens_of=words,
            overflow=overflow,
        )
        assert asked == whole


def test_documents_are_cut_evenly_from_their_ends() -> None:
    documents = ["a" * 8_000, "b" * 4_000, "c" * 400]
    frame = len(prompt(QUESTION, ["", "", ""]).text)
    asked = fitted(prompt(QUESTION, documents), tokens=frame + 6_200, tokens_of=len, overflow="cut")
    assert not asked.too_long
    assert asked.chars == (4_000, 2_000, 200)
    assert asked.cut == (4_000, 2_000, 200)
    for document, kept in zip(documents, asked.chars, strict=True):
        assert document[: kept - 1] + "…" in asked.text


def test_the_share_is_of_what_the_cap_left() -> None:
    frame = len(prompt(QUESTION, [""]).text)
    asked = fitted(
        prompt(QUESTION, ["x" * 20_000]), tokens=frame + 9_000, tokens_of=len, overflow="cut"
    )
    assert (asked.chars, asked.cut) == ((9_000,), (3_000,))


@pytest.mark.parametrize(
    ("documents", "overflow", "tokens"),
    [
        (["x" * 500], "refuse", 300),
        (["x" * 500], "cut", 20),
        (["x" * 500, "yy"], "cut", 500),  # nothing but an ellipsis would be left of the second
        (None, "cut", 20),
        ([], "cut", 20),
    ],
)
def test_what_is_too_long_stands_in_full(
    documents: list[str] | None, overflow: str, tokens: int
) -> None:
    asked = fitted(prompt(QUESTION, documents), tokens=tokens, tokens_of=len, overflow=overflow)  # type: ignore[arg-type]
    assert asked.too_long
    assert asked.text == prompt(QUESTION, documents).text
    assert not any(asked.cut)


@given(st.lists(st.text(min_size=8, max_size=60), min_size=1, max_size=4), st.integers(0, 120))
def test_a_cut_message_fits_and_no_less_was_possible(documents: list[str], room: int) -> None:
    frame = len(prompt(QUESTION, [""] * len(documents)).text)
    asked = fitted(prompt(QUESTION, documents), tokens=frame + room, tokens_of=len, overflow="cut")
    total, longest = sum(map(len, documents)), max(map(len, documents))
    assert asked.too_long or len(asked.text) == frame + sum(asked.chars) <= frame + room
    assert [a + b for a, b in zip(asked.chars, asked.cut, strict=True)] == list(map(len, documents))
    assert (total <= room) == (not any(asked.cut) and not asked.too_long)
    if any(asked.cut):  # one step more, of a character of the longest document, is too much
        share = next(k for k in range(longest) if longest - k == max(asked.cut))
        one_more = sum(len(d) * (share + 1) // longest for d in documents)
        assert one_more > room


def test_a_shortened_text_says_so() -> None:
    assert [shortened("abc", n) for n in (4, 3, 2, 1, 0)] == ["abc", "abc", "a…", "…", ""]


def test_the_hash_is_of_the_wording() -> None:
    assert len(PROMPT_HASH) == 64


def test_a_safety_prompt_is_a_system_message_and_changes_nothing_else() -> None:
    for documents in (None, ["One."]):
        plain, safe = prompt(QUESTION, documents), prompt(QUESTION, documents, safety=True)
        assert plain.messages == ({"role": "user", "content": plain.text},)
        assert safe.messages == ({"role": "system", "content": SAFETY}, *plain.messages)


@pytest.mark.parametrize("safety", [True, False])
def test_a_safety_prompt_takes_room(safety: bool) -> None:
    whole = prompt(QUESTION, ["x" * 900], safety=safety)
    room = len(prompt(QUESTION, [""]).text) + 700
    asked = fitted(whole, tokens=room, tokens_of=len, overflow="cut")
    assert asked.chars == ((700 - len(SAFETY) * safety),)
    assert asked.safety == safety
    tight = fitted(whole, tokens=whole.tokens(len) - 1, tokens_of=len, overflow="refuse")
    assert tight.too_long
    assert fitted(whole, tokens=whole.tokens(len), tokens_of=len, overflow="refuse") == whole
