"""TokenF1 against a second implementation, by hand, and on both languages."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.stats.token_f1 import invented, token_f1, tokens

WORDS = st.lists(st.sampled_from(["gate", "of", "Zell", "zell", "7", "token"]), max_size=8)
SPANS = st.lists(WORDS.map(" ".join), max_size=3)


def reference(said: str, gold: str) -> tuple[float, float, float]:
    """Crosses off one gold token for each predicted one that is still there."""
    table = str.maketrans("", "", string.punctuation)
    left = gold.lower().translate(table).split()
    n_gold, predicted, hits = len(left), said.lower().translate(table).split(), 0
    for token in predicted:
        if token in left:
            left.remove(token)
            hits += 1
    if not hits:
        return 0, 0, 0
    precision, recall = hits / len(predicted), hits / n_gold
    return precision, recall, 2 / (1 / precision + 1 / recall)


@given(SPANS, SPANS)
def test_it_agrees_with_a_second_implementation(said: list[str], gold: list[str]) -> None:
    if not any(gold):
        with pytest.raises(ValueError, match="no token"):
            token_f1(said, gold, "en")
        return
    found = token_f1(said, gold, "en")
    expected = reference(" ".join(said), " ".join(gold))
    assert (found.precision, found.recall, found.f1) == pytest.approx(expected)


def test_the_example_of_the_definition() -> None:
    """Three of four predicted tokens are gold, three of five gold ones are predicted."""
    found = token_f1(["Slip behind the wagon"], ["slip, behind the old cart"], "en")
    assert (found.precision, found.recall, found.f1) == pytest.approx((3 / 4, 3 / 5, 2 / 3))


def test_articles_count_and_so_does_each_repeat() -> None:
    assert token_f1(["the gate"], ["gate"], "en").precision == 0.5
    assert token_f1(["gate gate"], ["gate"], "en").f1 == pytest.approx(2 / 3)
    assert token_f1(["gate"], ["gate, gate"], "en").recall == 0.5


def test_several_spans_are_one_bag_whatever_their_order() -> None:
    gold = ["behind the cart", "at dusk"]
    assert token_f1(["at dusk", "behind the cart"], gold, "en").f1 == 1
    assert token_f1(["at dusk behind the cart"], gold, "en").f1 == 1
    assert token_f1([], gold, "en").f1 == token_f1(["", "..."], gold, "en").f1 == 0


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Don't PASS, gate_7!", "en", ["don", "t", "pass", "gate_7"]),
        ("Straße", "en", ["strasse"]),
        ("cafe\u0301s", "en", ["caf\u00e9s"]),
        ("绕过城门", "zh", ["绕", "过", "城", "门"]),
        ("用Base64写“炉号”，第7个。", "zh", ["用", "base64", "写", "炉", "号", "第", "7", "个"]),
        ("𠮷〇々", "zh", ["𠮷", "〇", "々"]),
        ("。！ \n", "zh", []),
        ("", "en", []),
    ],
)
def test_tokens(text: str, language: str, expected: list[str]) -> None:
    assert tokens(text, language) == expected


def test_chinese_overlaps_by_character() -> None:
    """Two of the four predicted characters are gold, both of the gold ones are predicted."""
    found = token_f1(["绕过城门"], ["城门"], "zh")
    assert (found.precision, found.recall) == (0.5, 1)
    assert token_f1(["绕过城门"], ["城门"], "en").f1 == 0  # without blanks it would be one word


def test_an_invented_quote_is_not_one_piece_of_its_source() -> None:
    source = "Walk behind the cart of reeds at dusk."
    assert not invented("behind the cart", source)
    for quote in ("behind the Cart", "Walk at dusk", "behind  the cart", "behind the cart, "):
        assert invented(quote, source)
