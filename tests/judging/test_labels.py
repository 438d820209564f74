"""Which writings of a label are that label, and which are another word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.judging.labels import SAFE, UNSAFE, LabelSet, fold, gold_label, label_set
from trace.judging.taxonomy import Category, Domain, Taxonomy

BENIGN = Category(name="Benign", definition="None.", number=0, aliases=("Safe", "无风险"))
LEAK = Category(
    name="KeyLeak", definition="A key goes out.", number=1, aliases=("密钥泄露", "1. KeyLeak")
)
GHOST = Category(name="Ghost Tool", definition="No such tool.", number=12)
TAXONOMY = Taxonomy(
    name="made-up",
    benign=BENIGN,
    domains=(
        Domain(category=Category(name="Leaks", definition="Out."), classes=(LEAK,)),
        Domain(category=Category(name="Mis-match", definition="Odd."), classes=(GHOST,)),
    ),
)
BINARY = label_set("binary", TAXONOMY)
CLASSES = label_set("class", TAXONOMY)


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("KeyLeak", "KeyLeak"),
        ("key leak", "KeyLeak"),
        ("KEY_LEAK", "KeyLeak"),
        ("key-leak.", "KeyLeak"),
        ("key\u2011leak", "KeyLeak"),
        ("**Key Leak**", "KeyLeak"),
        ("Key\u200bLeak", "KeyLeak"),
        ("\ufeffKeyLeak\x00", "KeyLeak"),
        ("ＫｅｙＬｅａｋ！", "KeyLeak"),
        ("密钥泄露。", "KeyLeak"),
        ("『密钥泄露』", "KeyLeak"),
        ("1", "KeyLeak"),
        ("(1)", "KeyLeak"),
        ("1.", "KeyLeak"),
        ("- 1", "KeyLeak"),
        ("1. Key Leak", "KeyLeak"),
        ("12. Ghost Tool", None),
        ("１２", "Ghost Tool"),
        ("safe", "Benign"),
        ("0", "Benign"),
        # Other words, doubts and negations.
        ("Unsafe", None),
        ("KeyLeaks", None),
        ("not KeyLeak", None),
        ("KeyLeak or Ghost Tool", None),
        ("KeyLeak, Ghost Tool", None),
        ("KeyLeak/Ghost Tool", None),
        ("KeyLeak?", None),
        ("~KeyLeak", None),
        ("!KeyLeak", None),
        ("¬KeyLeak", None),
        ("<KeyLeak>", None),
        ("[KeyLeak]", None),
        ("❌ KeyLeak", None),
        ("12. KeyLeak", None),
        # Other numbers.
        ("-1", None),
        ("\u22121", None),
        (".1", None),
        ("1.0", None),
        ("1-2", None),
        ("1 2", None),
        ("1\n2", None),
        ("1 - 2", None),
        ("1_2", None),
        ("1²", None),
        ("<1", None),
        ("1%", None),
        ("01", None),
        ("", None),
        (" -*. ", None),
    ],
)
def test_read(written: str, label: str | None) -> None:
    assert CLASSES.read(written) == label


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("un-safe", "Unsafe"),
        ("安全", "Safe"),
        ("不安全", "Unsafe"),
        ("不 安全", "Unsafe"),
        ("很安全", None),
        ("(un)safe", None),
        ("non-safe", None),
        ("unsafely", None),
        ("0", None),
        ("Benign", None),
    ],
)
def test_read_binary(written: str, label: str | None) -> None:
    assert BINARY.read(written) == label


def test_labels_of_each_protocol() -> None:
    assert BINARY.labels == ("Safe", "Unsafe")
    assert BINARY.negative == "Safe"
    assert label_set("domain", TAXONOMY).labels == ("Benign", "Leaks", "Mis-match")
    assert CLASSES.labels == ("Benign", "KeyLeak", "Ghost Tool")
    assert CLASSES.negative == "Benign"


@pytest.mark.parametrize(
    ("class_name", "expected"),
    [
        ("Benign", ("Safe", "Benign", "Benign")),
        ("Ghost Tool", ("Unsafe", "Mis-match", "Ghost Tool")),
    ],
)
def test_gold_label(class_name: str, expected: tuple[str, ...]) -> None:
    kinds = ("binary", "domain", "class")
    assert tuple(gold_label(kind, TAXONOMY, class_name) for kind in kinds) == expected
    assert all(
        gold in label_set(kind, TAXONOMY).labels for kind, gold in zip(kinds, expected, strict=True)
    )


def test_an_alias_of_two_labels_reads_as_neither_and_a_name_goes_first() -> None:
    a = Category(name="A", definition="", aliases=("shared", "B"))
    b = Category(name="B", definition="", aliases=("Shared", "only b"))
    labels = LabelSet.of((a, b), a)
    assert labels.read("shared") is None
    assert labels.read("b") == "B"
    assert labels.read("Only-B") == "B"


@pytest.mark.parametrize("name", ["", "...", "key leak"])
def test_labels_that_cannot_be_told_apart_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="reads like another"):
        LabelSet.of((LEAK, Category(name=name, definition="")), LEAK)


WORDS = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8)


@given(st.text())
def test_folding_is_total_and_never_lengthens_a_label_to_another(text: str) -> None:
    word = fold(text)
    assert word == word.strip()
    if (label := BINARY.read(text)) is not None:  # checked by letters alone, without `fold`
        letters = "".join(c for c in text.casefold() if c.isalpha())
        assert letters in ({"safe", "安全"} if label == SAFE.name else {"unsafe", "不安全"})


@given(
    st.sampled_from([SAFE, UNSAFE]), WORDS, st.sampled_from([" ", ", ", "; ", "/", " or ", ": "])
)
def test_a_label_with_another_word_is_no_label(label: Category, word: str, between: str) -> None:
    for written in (f"{word}{between}{label.name}", f"{label.name}{between}{word}"):
        if fold(written) != "unsafe":  # "un safe" is the label itself
            assert BINARY.read(written) is None


@given(
    st.sampled_from(CLASSES.labels),
    st.sampled_from([str, str.upper, str.lower, str.swapcase]),
    st.sampled_from(["", "\u200b", "\u2060", "\u00ad"]),
    st.sampled_from(["", "**", "`", '"', " ", "\n", "“"]),
)
def test_case_invisible_characters_and_edges_do_not_matter(
    label: str, case: type[str], invisible: str, edge: str
) -> None:
    assert CLASSES.read(edge + invisible.join(case(label)) + edge) == label
