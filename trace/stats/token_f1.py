"""How far quoted evidence overlaps with the gold evidence, token by token."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_WORD = re.compile(r"\w+")
_HAN_OR_WORD = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenF1:
    """The share of predicted tokens that are gold, of gold ones predicted, and their F1."""

    precision: float
    recall: float
    f1: float


NONE = TokenF1(precision=0.0, recall=0.0, f1=0.0)


def tokens(text: str, language: str) -> list[str]:
    """The tokens of a text, in order, without case or punctuation.

    Chinese (`zh`) has no blanks between words: each Han character is a token, and each run of
    other letters, digits and underscores. In any other language each run is one. Composed and
    decomposed letters are alike (NFC).
    """
    plain = unicodedata.normalize("NFC", text).casefold()
    return (_HAN_OR_WORD if language == "zh" else _WORD).findall(plain)


def token_f1(predicted: Iterable[str], gold: Iterable[str], language: str) -> TokenF1:
    """The overlap of two multisets of tokens, each pooled over its spans.

    As in SQuAD (Rajpurkar et al. 2016, section 6.1), but articles stay. A token counts as often
    as it stands on both sides. Without a predicted token all three are 0.

    Args:
        predicted: the predicted spans.
        gold: the gold spans.
        language: see `tokens`.

    Raises:
        ValueError: the gold spans have no token, so that nothing could be found.
    """
    said, right = _pooled(predicted, language), _pooled(gold, language)
    if not right:
        raise ValueError("the gold evidence has no token")
    both = (said & right).total()
    if not both:
        return NONE
    precision, recall = both / said.total(), both / right.total()
    return TokenF1(precision=precision, recall=recall, f1=2 * both / (said.total() + right.total()))


def invented(quote: str, source: str) -> bool:
    """Whether a quote does not stand word for word, as one piece, in its source."""
    return quote not in source


def _pooled(spans: Iterable[str], language: str) -> Counter[str]:
    return Counter(token for span in spans for token in tokens(span, language))
