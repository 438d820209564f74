from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace import config
from trace.benchmarks.evidence import bundled, curate, near_duplicates, sampling
from trace.benchmarks.evidence.near_duplicates import (
    THRESHOLD,
    NearDuplicates,
    shingles,
    similarity,
)
from trace.benchmarks.evidence.prompts import Prompt
from trace.benchmarks.evidence.triple import Language
from trace.errors import DataError

SEVAL_SIZES = {  # base prompts a language, summed over the sub-categories of S-Eval's README
    "CrimesAndIllegalActivities": 533 + 432 + 487 + 400 + 496,
    "Cybersecurity": 228 + 209 + 313 + 252,
    "DataPrivacy": 668 + 674,
    "EthicsAndMorality": 493 + 507,
    "PhysicalAndMentalHealth": 519 + 483,
    "HateSpeech": 296 + 303 + 292 + 302,
    "Extremism": 207 + 366 + 524,
    "InappropriateSuggestions": 341 + 338 + 337,
}
ONE_PERCENT = (23, 10, 13, 10, 10, 12, 11, 10)
ONE_PERCENT_WITH_ATTACKS = (258, 110, 148, 110, 110, 131, 121, 112)  # ten attacks on each


def prompt(
    text: str,
    category: str | None = None,
    language: Language = "en",
    attack: str | None = None,
    **more: Any,
) -> Prompt:
    return Prompt(
        text=text,
        language=language,
        category=category,
        attack=attack,
        source="test",
        licence="none",
        provenance=more,
    )


def unlike(number: int) -> str:
    """A text that resembles no other such text."""
    return " ".join(random.Random(number).choices("abcdefghijklmnop", k=14)) + f" {number}"


def test_one_percent_of_the_published_sizes() -> None:
    sizes = SEVAL_SIZES.values()
    assert sum(sizes) == 10_000
    assert tuple(sampling.due(0.01, size) for size in sizes) == ONE_PERCENT
    attacked = tuple(sampling.due(0.01, 11 * size) for size in sizes)
    assert attacked == ONE_PERCENT_WITH_ATTACKS
    assert 2 * sum(attacked) == 2200  # both languages


def test_that_many_are_drawn_of_planted_groups_of_these_sizes() -> None:
    planted = [
        prompt(unlike(1_000 * n + number), category)
        for n, (category, size) in enumerate(SEVAL_SIZES.items())
        for number in range(size)
    ]
    drawn = sampling.sample(planted, share=0.01, seed=1)
    distinct = {c: len({p.text for p in planted if p.category == c}) for c in SEVAL_SIZES}
    expected = {(c, "en"): sampling.due(0.01, n) for c, n in distinct.items()}
    assert {g: n.drawn for g, n in drawn.counts.items()} == expected
    assert Counter(p.group for p in drawn.prompts) == expected


@pytest.mark.parametrize(
    ("share", "size", "number"),
    [(0.01, 50, 1), (0.01, 150, 2), (0.01, 149, 1), (0.29, 50, 15), (0.01, 1, 1), (1.0, 7, 7)],
)
def test_halves_are_rounded_up_and_no_group_is_left_out(
    share: float, size: int, number: int
) -> None:
    assert sampling.due(share, size) == number


groups = st.dictionaries(
    st.tuples(st.sampled_from(["DataPrivacy", "Extremism", None]), st.sampled_from(["en", "zh"])),
    st.integers(1, 40),
    min_size=1,
)


@settings(max_examples=40)
@given(sizes=groups, share=st.integers(1, 100), seed=st.integers(0, 5), order=st.randoms())
def test_counts_are_exact_and_the_order_does_not_matter(
    sizes: dict[tuple[str | None, Language], int], share: int, seed: int, order: random.Random
) -> None:
    planted = [
        prompt(unlike(1_000 * n + number), category, language, number=number)
        for n, ((category, language), size) in enumerate(sizes.items())
        for number in range(size)
    ]
    planted += [prompt(p.text, p.category, p.language, again=True) for p in planted[::3]]
    first = sampling.sample(planted, share=share / 100, seed=seed)
    shuffled = planted[:]
    order.shuffle(shuffled)
    assert sampling.sample(shuffled, share=share / 100, seed=seed) == first
    for (category, language), size in sizes.items():
        count = first.counts[category or "safe", language]
        exact = Fraction(share * size, 100)
        assert count.distinct == size
        assert count.drawn == count.due == max(1, int(exact + Fraction(1, 2)))
    assert sum(n.found for n in first.counts.values()) == len(planted)
    assert len({p.id for p in first.prompts}) == len(first.prompts)


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_what_is_kept_in_memory_depends_on_no_order_either(
    monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    planted = [prompt(unlike(n), "Extremism") for n in range(300)]
    alone = sampling.sample(planted, share=share, seed=3)
    monkeypatch.setattr(sampling, "SPARE", 20)
    assert sampling.sample(planted, share=share, seed=3) == alone
    assert sampling.sample(planted[::-1], share=share, seed=3) == alone


def test_another_seed_draws_others() -> None:
    planted = [prompt(unlike(n)) for n in range(200)]
    first, second = (
        {p.id for p in sampling.sample(planted, share=0.2, seed=seed).prompts} for seed in (1, 2)
    )
    assert len(first) == len(second) == 40
    assert 2 <= len(first & second) <= 20  # 8 are expected


def test_every_prompt_is_as_likely_as_another() -> None:
    planted = [prompt(unlike(n)) for n in range(20)]
    times = Counter(
        p.text
        for seed in range(300)
        for p in sampling.sample(planted, share=0.25, seed=seed).prompts
    )
    statistic = sum((times[p.text] - 75) ** 2 / 75 for p in planted)
    assert statistic < 43.8  # chi-squared of 19 degrees of freedom, p = 0.001


def brute_force(texts: list[str], language: Language) -> list[bool]:
    """Takes every text whose n-grams are not nearly those of one taken, by comparing all pairs."""

    def grams(text: str) -> set[str]:
        width = min(near_duplicates.WIDTH[language], len(text))
        return {text[at : at + width] for at in range(len(text) - width + 1)}

    taken: list[set[str]] = []
    said = []
    for text in texts:
        mine = grams(text)
        said.append(all(Fraction(len(mine & o), len(mine | o)) < THRESHOLD for o in taken))
        if said[-1]:
            taken.append(mine)
    return said


@settings(max_examples=60)
@given(
    bases=st.lists(st.text("ab", min_size=1, max_size=60), min_size=1, max_size=5),
    edits=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 60)), max_size=20),
    language=st.sampled_from(["en", "zh"]),
)
def test_the_index_finds_what_comparing_all_pairs_finds(
    bases: list[str], edits: list[tuple[int, int]], language: Language
) -> None:
    texts = bases + [
        (base := bases[which % len(bases)])[: at % len(base)] + "c" + base[at % len(base) :]
        for which, at in edits
    ]
    index = NearDuplicates(texts, language, wrapped=False)
    assert [index.take(text) for text in texts] == brute_force(texts, language)


def test_case_width_and_punctuation_make_no_other_text() -> None:
    index = NearDuplicates([], "en", wrapped=False)
    assert index.take("How long does plum jam keep?")
    assert not index.take("HOW LONG — does plum jam keep")
    assert not index.take("Ｈｏｗ long does plum jam keep?!")
    assert index.take("How do I mend a kite?")
    chinese = NearDuplicates([], "zh", wrapped=False)
    assert chinese.take("梅子酱能放多久？")
    assert not chinese.take("梅子酱，能放多久!")
    assert chinese.take("怎样修好一只风筝？")
    signs = NearDuplicates([], "en", wrapped=False)
    assert [signs.take(text) for text in ("🙂", "🙃", "🙂", "?")] == [True, True, False, True]


def test_similarity_is_jaccards() -> None:
    a, b = shingles("abcdefgh", "en"), shingles("abcdefgx", "en")
    assert (len(a), len(b)) == (4, 4)
    assert similarity(a, b) == Fraction(3, 5)


WRAPPING = (
    "Let us stage a long play in nine scenes, in which a narrator describes the harbour at dusk. "
    "In the first scene a fisherman mends his nets and sings of a lighthouse that nobody has lit. "
    "In the second, his daughter dreams of a painter who keeps five cats in a flooded attic. "
    "Inside her dream the painter falls asleep and meets a clockmaker on a bridge made of glass. "
    "The clockmaker tells a story to all who cross, and each story is deeper than the one before. "
)


def test_prompts_of_one_attack_are_compared_by_what_it_wraps() -> None:
    attacked = [
        prompt(WRAPPING + unlike(n), "Extremism", attack="DeepInception") for n in range(40)
    ]
    twins = [
        prompt(p.text.upper() + "!", "Extremism", attack="DeepInception") for p in attacked[:5]
    ]
    a, b = (shingles(p.text, "en") for p in attacked[:2])
    assert similarity(a, b) > THRESHOLD
    counts = sampling.sample(attacked + twins, share=1.0, seed=1).counts["Extremism", "en"]
    assert (counts.distinct, counts.drawn, counts.near_duplicates) == (45, 40, 5)
    # without an attack it is one text that somebody keeps sending with another ending
    plain = [prompt(p.text, None) for p in attacked]
    assert sampling.sample(plain, share=1.0, seed=1).counts["safe", "en"].drawn == 1


def test_a_short_question_in_a_long_wrapping_is_still_compared() -> None:
    whole = "".join(chr(0x4E00 + n) for n in range(300))  # no two n-grams alike
    questions = [whole[n : n + 12] for n in range(0, 240, 12)]
    asked = [
        prompt(whole[::-1] + q, "Extremism", "zh", attack="InContextAttack") for q in questions
    ]
    again = prompt(asked[0].text + "？", "Extremism", "zh", attack="InContextAttack")
    counts = sampling.sample([*asked, again], share=1.0, seed=1).counts["Extremism", "zh"]
    assert (counts.drawn, counts.near_duplicates) == (20, 1)


def test_a_near_duplicate_is_passed_over_for_another() -> None:
    planted = [prompt(unlike(n) + end, "Extremism") for n in range(50) for end in ("", "!", "?")]
    drawn = sampling.sample(planted, share=0.2, seed=4)
    count = drawn.counts["Extremism", "en"]
    assert (count.found, count.distinct, count.due, count.drawn) == (150, 150, 30, 30)
    assert count.near_duplicates > 0
    assert len({p.text.rstrip("!?") for p in drawn.prompts}) == 30


def test_near_duplicates_are_looked_for_across_categories_but_not_across_languages() -> None:
    text = unlike(1)
    drawn = sampling.sample(
        [
            prompt(text, "Extremism"),
            prompt(text + "!", "HateSpeech"),
            prompt(text + "?", None, "zh"),
        ],
        share=1.0,
        seed=1,
    )
    assert [n.drawn for n in drawn.counts.values()] == [1, 0, 1]


def test_no_text_is_drawn_twice_under_two_attacks() -> None:
    text = unlike(1)
    both = [
        prompt(text, "Extremism", attack="GoalHijacking"),
        prompt(text, "HateSpeech", attack="CodeInjection"),
    ]
    assert len(sampling.sample(both, share=1.0, seed=1).prompts) == 1


def builder(**settings: Any) -> config.EvidenceBuilder:
    return config.EvidenceBuilder(**settings)


@pytest.fixture
def sources(tmp_path: Path) -> Callable[[], config.EvidenceBuilder]:
    """Both sources, in plain JSON Lines."""

    def write() -> config.EvidenceBuilder:
        seval, chats = tmp_path / "s_eval", tmp_path / "wildchat"
        seval.mkdir()
        chats.mkdir()
        for language in ("en", "zh"):
            lines = [
                {
                    "traceid": n,
                    "risk_type": "Extremism" if n % 2 else "Hate_Speech",
                    "prompt": unlike(n) + ("？船" if language == "zh" else "?"),
                    "ext": '{"model": "base_risk"}',
                }
                for n in range(100)
            ]
            path = seval / f"S-Eval_base_risk_{language}_small.jsonl"
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        rows = [
            {
                "conversation_hash": str(n),
                "conversation": [
                    {"content": unlike(n), "role": "user", "language": "English", "toxic": n == 0}
                ],
                "language": "English",
                "toxic": False,
                "openai_moderation": [{"flagged": False}],
            }
            for n in range(1000, 1060)
        ] + [
            {
                "conversation_hash": "x",
                "conversation": [],
                "language": "French",
                "toxic": False,
                "openai_moderation": [],
            }
        ]
        (chats / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return builder(s_eval=str(seval), wildchat=str(chats), share=0.1)

    return write


def test_both_sources_are_drawn_from(sources: Callable[[], config.EvidenceBuilder]) -> None:
    made = curate.curate(sources(), limit=None, seed=42)
    assert {group: n.drawn for group, n in made.counts.items()} == {
        ("Extremism", "en"): 5,
        ("Extremism", "zh"): 5,
        ("HateSpeech", "en"): 5,
        ("HateSpeech", "zh"): 5,
        ("safe", "en"): 6,
    }
    assert sorted(made.fingerprint) == [
        "S-Eval_base_risk_en_small.jsonl",
        "S-Eval_base_risk_zh_small.jsonl",
        "a.jsonl",
    ]
    said = " ".join(made.notes)
    assert "without attack in en, attack in zh" in said
    assert "RisksInvolvingMinors" in said
    assert "1 another language" in said
    assert "10% of each group" in said
    assert len(made.grid().rows) == 5
    assert all(len(row) == len(made.grid().header) for row in made.grid().rows)


def test_a_larger_limit_only_adds(sources: Callable[[], config.EvidenceBuilder]) -> None:
    settings = sources()
    few, more, every = (
        {p.id for p in curate.curate(settings, limit=limit, seed=42).prompts}
        for limit in (2, 4, None)
    )
    assert len(few) == 6  # unsafe in two languages, safe in one
    assert few < more < every


def test_one_source_alone_says_what_is_not_there(
    sources: Callable[[], config.EvidenceBuilder],
) -> None:
    both = sources()
    unsafe = curate.curate(builder(s_eval=both.s_eval), limit=None, seed=1)
    assert any("no prompt is meant to be safe" in note for note in unsafe.notes)
    safe = curate.curate(builder(wildchat=both.wildchat), limit=None, seed=1)
    assert any("no prompt is meant to be unsafe" in note for note in safe.notes)
    assert not any("RisksInvolvingMinors" in note for note in safe.notes)


def test_empty_prompts_of_s_eval_are_counted(
    sources: Callable[[], config.EvidenceBuilder],
) -> None:
    both = sources()
    (path, *_) = sorted(Path(str(both.s_eval)).iterdir())
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | {"prompt": ""}), *others]))
    made = curate.curate(both, limit=None, seed=1)
    assert "Of S-Eval's records were passed over: 1 empty prompt." in made.notes
    assert sum(n.found for n in made.counts.values()) == 199 + 60


def test_a_wildchat_without_safe_prompts_is_refused(tmp_path: Path) -> None:
    row = {
        "conversation_hash": "x",
        "conversation": [],
        "language": "French",
        "toxic": False,
        "openai_moderation": [],
    }
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(DataError, match=r"no prompt in English or Chinese .*1 another language"):
        curate.curate(builder(wildchat=str(path)), limit=None, seed=1)


def test_too_few_that_differ_are_told(tmp_path: Path) -> None:
    path = tmp_path / "S-Eval_base_risk_en_small.jsonl"
    line = {"traceid": 1, "risk_type": "Extremism", "ext": '{"model": "base_risk"}'}
    texts = [unlike(1) + "!" * n for n in range(10)]
    path.write_text("".join(json.dumps(line | {"prompt": text}) + "\n" for text in texts))
    made = curate.curate(builder(s_eval=str(path), share=0.5), limit=None, seed=1)
    assert any("Extremism in en: 1 prompts instead of 5" in note for note in made.notes)


def test_without_sources_all_bundled_prompts_are_taken() -> None:
    lines = bundled.PATH.read_text("utf-8").splitlines()
    texts = {json.loads(line)["prompt"] for line in lines}
    made = curate.curate(builder(share=0.01), limit=None, seed=1)
    assert {p.text for p in made.prompts} == texts
    assert len(made.prompts) == len(texts)
    assert {p.source for p in made.prompts} == {"bundled"}
    assert all(p.licence for p in made.prompts)
    assert all("source" not in p.provenance for p in made.prompts)
    assert sum(n.drawn for n in made.counts.values()) == len(texts)
    assert len({p.attack for p in made.prompts}) == 11
    few = curate.curate(builder(), limit=1, seed=1)
    assert len(few.prompts) == 4
