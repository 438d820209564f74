from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from trace.models.hf.prefix_tree import Stem, Tokens, prefix_tree, shared_length

prompts = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12).map(tuple), min_size=1)


def beginning(stems: list[Stem], number: int, all_prompts: list[Tokens]) -> Tokens:
    stem = stems[number]
    above = () if stem.parent is None else beginning(stems, stem.parent, all_prompts)
    return above + all_prompts[stem.sample][stem.start : stem.end]


def computed(stems: list[Stem], all_prompts: list[Tokens]) -> int:
    """Tokens that go through the model."""
    own = sum(len(all_prompts[i]) - stem.end for stem in stems for i in stem.rows)
    return own + sum(stem.end - stem.start for stem in stems)


@given(prompts, st.integers(1, 20))
def test_every_prompt_goes_on_from_a_beginning_of_its_own(
    given_prompts: list[Tokens], minimum: int
) -> None:
    stems = prefix_tree(given_prompts, minimum)
    assert sorted(i for stem in stems for i in stem.rows) == list(range(len(given_prompts)))
    for number, stem in enumerate(stems):
        assert stem.parent is None or stem.parent < number
        whole = beginning(stems, number, given_prompts)
        assert len(whole) == stem.end
        for i in stem.rows:
            assert given_prompts[i][: stem.end] == whole
            assert len(given_prompts[i]) > stem.end


@given(prompts, st.integers(1, 20))
def test_a_further_forward_saves_what_it_has_to(given_prompts: list[Tokens], minimum: int) -> None:
    stems = prefix_tree(given_prompts, minimum)
    plain = sum(map(len, given_prompts))
    further = sum(stem.end > stem.start for stem in stems)
    assert computed(stems, given_prompts) <= plain - further * minimum


@given(prompts)
def test_with_nothing_to_save_every_shared_token_is_computed_once(
    given_prompts: list[Tokens],
) -> None:
    """Against the definition: the distinct beginnings, each prompt's last token being its own."""
    distinct = {prompt[:n] for prompt in given_prompts for n in range(1, len(prompt))}
    shared = {p for p in distinct if sum(q[: len(p)] == p and len(q) > len(p)
                                         for q in given_prompts) > 1}  # fmt: skip
    alone = sum(
        len(p) - max((n for n in range(len(p)) if p[:n] in shared), default=0)
        for p in given_prompts
    )
    assert computed(prefix_tree(given_prompts, 1), given_prompts) == len(shared) + alone


def test_a_rubric_a_conversation_and_its_questions() -> None:
    rubric, talk, other = (9,) * 100, (8,) * 300, (7,) * 300
    asked = [rubric + talk + (q,) * 5 for q in (1, 2, 3)] + [rubric + other + (1,) * 5] * 2
    stems = prefix_tree(asked, 256)
    assert [(s.parent, s.start, s.end) for s in stems] == [(None, 0, 100), (0, 100, 400),
                                                          (0, 100, 404)]  # fmt: skip
    assert [s.rows for s in stems] == [(), (0, 1, 2), (3, 4)]


def test_a_thousand_turns_of_one_conversation() -> None:
    turns = [tuple(range(10 * n)) for n in range(1, 1001)]
    stems = prefix_tree(turns, 256)
    assert computed(stems, turns) < sum(map(len, turns)) / 50


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12).map(tuple), min_size=2))
def test_the_shared_length_is_the_longest_that_leaves_every_row_a_token(
    given_prompts: list[Tokens],
) -> None:
    same = (len(set(tokens)) == 1 for tokens in zip(*given_prompts, strict=False))
    longest = sum(itertools.takewhile(bool, same))
    found = shared_length(given_prompts, range(len(given_prompts)))
    assert found == min(longest, min(map(len, given_prompts)) - 1)
    assert shared_length([(1, 2, 3)], [0]) == 0
