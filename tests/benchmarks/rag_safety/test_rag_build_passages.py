from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.benchmarks.rag_safety.builder import passages as passages_of
from trace.benchmarks.rag_safety.builder.article import Section, sections_of
from trace.benchmarks.rag_safety.builder.passages import SHORTEST, passages


def prose(words: int, *, sentence: int = 12, word: str = "w") -> str:
    """Numbered words in sentences."""
    told = [f"{word}{n}" for n in range(words)]
    runs = [told[at : at + sentence] for at in range(0, words, sentence)]
    return " ".join(" ".join([run[0].capitalize(), *run[1:]]) + "." for run in runs)


def section(number: int, words: int, heading: str = "") -> Section:
    return Section(id=f"s{number}", heading=heading, text=prose(words, word=f"v{number}x"))


def words(text: str) -> list[str]:
    return re.findall(r"[\w]+", text.casefold())


SECTIONS = st.lists(st.integers(1, 700), min_size=1, max_size=8).map(
    lambda lengths: [section(n, length) for n, length in enumerate(lengths)]
)


@given(SECTIONS, st.integers(2 * SHORTEST, 400))
def test_no_word_is_lost_uncounted_or_doubled_and_every_length_is_kept(
    sections: list[Section], most: int
) -> None:
    made, lost = passages(sections, most)
    whole = [word for one in sections for word in words(one.text)]
    found = [word for one in made for word in words(one.text)]
    assert all(SHORTEST <= len(one.text.split()) <= most for one in made)
    assert len(found) + lost == len(whole)
    places = {word: place for place, word in enumerate(whole)}
    assert [places[word] for word in found] == sorted(places[word] for word in found)
    assert len(set(found)) == len(found)
    for one in made:
        ids = {f"v{id_[1:]}x" for id_ in one.sections}
        assert {re.sub(r"\d+$", "", word) for word in words(one.text)} <= ids
        assert len(one.sections) == len(one.headings)
    assert passages(sections, most) == (made, lost)


def test_whole_sections_are_joined_while_they_fit() -> None:
    made, lost = passages([section(0, 60), section(1, 60), section(2, 60)], 125)
    assert [one.sections for one in made] == [("s0", "s1"), ("s2",)]
    assert lost == 0


def test_a_long_section_is_cut_evenly_where_sentences_end() -> None:
    made, _ = passages([section(0, 500)], 400)
    assert [one.sections for one in made] == [("s0",), ("s0",)]
    lengths = [len(one.text.split()) for one in made]
    assert abs(lengths[0] - lengths[1]) <= 12
    assert all(one.text.endswith(".") for one in made)


def test_a_short_section_goes_with_a_long_one_and_a_short_rest_is_counted() -> None:
    made, lost = passages([section(0, 20), section(1, 200)], 200)
    assert made[0].sections == ("s0", "s1")
    assert lost == 0
    made, lost = passages([section(0, 190), section(1, 20)], 200)
    assert [one.sections for one in made] == [("s0",)]
    assert lost == 20
    assert passages([section(0, 20)], 200) == ([], 20)


def test_a_long_text_of_one_line_is_read_in_time_that_grows_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted: list[int] = []
    words_of = passages_of._words

    def counting(text: str) -> int:
        counted.append(len(text))
        return words_of(text)

    monkeypatch.setattr(passages_of, "_words", counting)

    def read(length: int) -> int:
        counted.clear()
        made, lost = passages([section(0, 0), *sections_of("word " * length)], 400)
        assert sum(len(one.text.split()) for one in made) + lost == length
        return sum(counted)

    assert read(40_000) < 5 * read(10_000)


def test_lines_of_code_are_no_headings() -> None:
    found = sections_of(
        "# One\na\n```sh\n# install\n```\nb\n~~~\n# x\n~~~\n# Two #\r\nc ```\n# Three\nd"
    )
    assert [(s.heading, s.text) for s in found] == [
        ("One", "a\n```sh\n# install\n```\nb\n~~~\n# x\n~~~"), ("Two", "c ```"), ("Three", "d"),
    ]  # fmt: skip


def test_sections_of_markdown_and_of_plain_text() -> None:
    found = sections_of("The  lead.\n\n# One #\nA\nline.\n\n\n## Two\n\n### Empty\n## Three\nb")
    assert [(s.id, s.heading, s.text) for s in found] == [
        ("s0", "", "The lead."), ("s1", "One", "A\nline."), ("s4", "Three", "b"),
    ]  # fmt: skip
    (plain,) = sections_of("Only text, #1 of its kind.\n\nAnd more.")
    assert plain.text == "Only text, #1 of its kind.\n\nAnd more."
