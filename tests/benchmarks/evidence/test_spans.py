"""Where quotes stand: against searching every slice of the source."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trace.benchmarks.evidence.spans import locate
from trace.config.evidence import Quotes
from trace.records import Span, united

MODES: tuple[Quotes, ...] = ("exact", "whitespace", "nfc")
ALPHABET = (
    *("a", "e", "n", ".", " ", "\t", "\n", "\r\n", "\u3000", "\u2000"),
    *("\u0301", "\u0323", "\u0303", "\u0344", "é", "ẹ", "ñ", "Å", "\u212b"),
    *("\u1100", "\u1161", "\u11a8", "가", "각"),
    *("क", "\u093c", "\u0958", "\u093f", "\u09c7", "\u09be", "\u09cb"),
    *("א", "\u05bc", "\ufb30", "م", "\u064e", "𝔘", "😀", "安", "全"),
)
"""What composes, decomposes, reorders, is white space, runs from right to left, or is non-BMP."""
TEXTS = st.lists(st.sampled_from(ALPHABET), max_size=12).map("".join)
NFC, NFD = "NFC", "NFD"


def _alike(text: str, mode: Quotes) -> str:
    collapsed = " ".join(text.split())
    return collapsed if mode == "whitespace" else unicodedata.normalize(NFC, collapsed)


def _is_edge(source: str, at: int) -> bool:
    """Whether a source can be taken apart there: no mark is cut off, and nothing composes."""
    head, tail = source[:at], source[at:]
    if not head or not tail:
        return True
    first = unicodedata.normalize(NFD, tail)[0]
    whole = unicodedata.normalize(NFC, source)
    apart = unicodedata.normalize(NFC, head) + unicodedata.normalize(NFC, tail)
    return not unicodedata.category(first).startswith("M") and whole == apart


def _naive(quote: str, source: str, mode: Quotes) -> tuple[int, int] | None:
    """The first slice that reads like the quote, by trying all of them."""
    if not quote.strip():
        return None
    places = [at for at in range(len(source) + 1) if mode != "nfc" or _is_edge(source, at)]
    for start in places:
        for end in places:
            piece = source[start:end]
            if mode == "exact":
                same = piece == quote
            else:
                same = piece == piece.strip() and _alike(piece, mode) == _alike(quote, mode)
            if same and piece:
                return start, end
    return None


@st.composite
def _quoted(draw: st.DrawFn) -> tuple[str, str]:
    """A source and a quote that is a piece of it, in another form or not, or any text."""
    source = draw(TEXTS)
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(source))] * 2)))
    piece = source[start:end]
    form = draw(st.sampled_from((NFC, NFD)))
    quote = draw(
        st.sampled_from((piece, unicodedata.normalize(form, piece), f" {piece}\n"))
        | st.just(piece.replace(" ", "\r\n"))
        | TEXTS
    )
    return quote, source


@pytest.mark.parametrize("mode", MODES)
@given(pair=_quoted())
def test_the_first_slice_that_reads_alike_is_found(mode: Quotes, pair: tuple[str, str]) -> None:
    quote, source = pair
    found = locate(quote, source, mode)
    assert (found and (found.start, found.end)) == _naive(quote, source, mode)
    if found:
        assert source[found.start : found.end] == found.text != ""


@given(_quoted())
def test_nfc_does_not_tell_equivalent_sources_and_quotes_apart(pair: tuple[str, str]) -> None:
    quote, source = pair
    found = {
        (form_q, form_s): locate(
            unicodedata.normalize(form_q, quote), unicodedata.normalize(form_s, source), "nfc"
        )
        for form_q in (NFC, NFD)
        for form_s in (NFC, NFD)
    }
    found[quote, source] = locate(quote, source, "nfc")
    assert len({span and _alike(span.text, "nfc") for span in found.values()}) == 1


@given(TEXTS, TEXTS, TEXTS)
def test_a_verbatim_quote_is_found_under_white_space_too(a: str, quote: str, b: str) -> None:
    assume(quote.strip())
    source = a + quote + b
    assert locate(quote, source, "exact") is not None
    assert locate(quote, source, "whitespace") is not None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("quote", ["", " ", "\r\n\t", "\u3000"])
def test_a_blank_quote_stands_nowhere(quote: str, mode: Quotes) -> None:
    assert locate(quote, f"a{quote}b", mode) is None


@pytest.mark.parametrize(
    ("quote", "source", "places"),
    [  # where it is found by exact, whitespace, nfc
        ("b", "aba", ((1, 2), (1, 2), (1, 2))),
        ("B", "aba", (None, None, None)),
        ("x y", "x\r\ny", (None, (0, 4), (0, 4))),
        (" x  y ", "ax\ty", (None, (1, 4), (1, 4))),
        ("xy", "x y", (None, None, None)),
        ("caf\u00e9 z", "a cafe\u0301\nz", (None, None, (2, 9))),
        ("cafe\u0301", "un caf\u00e9", (None, None, (3, 7))),
        # Half a character: the first code point of two is a substring, and is no "e".
        ("cafe", "cafe\u0301", ((0, 4), (0, 4), None)),
        ("cafe", "caf\u00e9", (None, None, None)),
        ("\u0301x", "e\u0301x", ((1, 3), (1, 3), None)),
        ("cafe", "cafe\u0301 cafe", ((0, 4), (0, 4), (6, 10))),
        # Marks in another order are the same character; one mark of two is not.
        ("q\u0307\u0323", "q\u0323\u0307", (None, None, (0, 3))),
        ("q\u0323", "q\u0323\u0307", ((0, 2), (0, 2), None)),
        ("각", "\u1100\u1161\u11a8", (None, None, (0, 3))),
        ("가", "\u1100\u1161\u11a8", (None, None, None)),
        ("क", "क\u093f", ((0, 1), (0, 1), None)),
        ("😀b", "a😀b", ((1, 3), (1, 3), (1, 3))),
        ("\ud83d", "a😀b", (None, None, None)),
        ("\ude00b", "a😀b", (None, None, None)),
        ("שלום", "אמר: שלום!", ((5, 9), (5, 9), (5, 9))),
        ("不安全", "这是不安全的", ((2, 5), (2, 5), (2, 5))),
        ("aa", "aaa", ((0, 2), (0, 2), (0, 2))),
        ("a.c", "abc a.c", ((4, 7), (4, 7), (4, 7))),
    ],
)
def test_known_places(quote: str, source: str, places: tuple[tuple[int, int] | None, ...]) -> None:
    found = [locate(quote, source, mode) for mode in MODES]
    assert tuple(span and (span.start, span.end) for span in found) == places
    assert all(source[s.start : s.end] == s.text for s in found if s)


@given(st.integers(1, 15).flatmap(
    lambda n: st.tuples(
        st.text("ab", min_size=n, max_size=n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(1, n)).filter(lambda p: p[0] < p[1])),
    )
))  # fmt: skip
def test_united_spans_cover_the_same_and_leave_gaps(
    case: tuple[str, list[tuple[int, int]]],
) -> None:
    source, places = case
    spans = [Span(start=s, end=e, text=source[s:e]) for s, e in places]
    joined = united(spans, source)
    covered = {at for s, e in places for at in range(s, e)}
    assert {at for span in joined for at in range(span.start, span.end)} == covered
    assert all(a.end < b.start for a, b in pairwise(joined))
    assert all(source[s.start : s.end] == s.text for s in joined)
    assert united(reversed(spans), source) == joined == united(joined, source)
