"""Where a quote stands in its source: spans of the source as it is, whatever is compared."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from trace.config.evidence import Quotes
from trace.records import Span

_PIECE = re.compile(r"\s+|\S")


class _Unit(NamedTuple):
    """What is compared as a whole: its text in the form compared, and where it stands."""

    text: str
    start: int
    end: int


def locate(quote: str, source: str, mode: Quotes) -> Span | None:
    """The first place at which a quote stands in its source.

    * `exact`: code point by code point.
    * `whitespace`: runs of white space are alike, and those around the quote are ignored.
    * `nfc`: that, and texts of the same Unicode Normalisation Form C are alike (UAX 15).

    `nfc` compares characters with all their marks. A quote that would begin or end inside one is
    refused, not extended: "e" does not stand in "é", be that one code point or two, so the answer
    is the same for all canonically equivalent sources. `exact` and `whitespace` do find the first
    of the two code points.

    Args:
        quote: what is said to stand in the source.
        source: the whole text.
        mode: what the quote may differ in.

    Returns:
        A span of the source as it is (`source[start:end] == text` in every mode); None where the
        quote does not stand in it, or has nothing but white space.
    """
    if not quote.strip():
        return None
    if mode == "exact":
        at = source.find(quote)
        return None if at < 0 else _span(source, at, at + len(quote))
    sought = "".join(unit.text for unit in _units(quote.strip(), mode))
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    units = _units(source, mode)
    at = 0
    for unit in units:
        starts[at] = unit.start
        at += len(unit.text)
        ends[at] = unit.end
    text = "".join(unit.text for unit in units)
    for found in re.finditer(f"(?={re.escape(sought)})", text):  # those that overlap, too
        first, last = found.start(), found.start() + len(sought)
        if first in starts and last in ends:
            return _span(source, starts[first], ends[last])
    return None


def _span(source: str, start: int, end: int) -> Span:
    return Span(start=start, end=end, text=source[start:end])


def _units(text: str, mode: Quotes) -> list[_Unit]:
    pieces = [
        _Unit(" " if piece[0].isspace() else piece[0], *piece.span())
        for piece in _PIECE.finditer(text)
    ]
    if mode != "nfc":
        return pieces
    units: list[_Unit] = []
    for piece in pieces:
        if units and _joins(units[-1].text, piece.text):
            before = units.pop()
            units.append(_Unit(before.text + piece.text, before.start, piece.end))
        else:
            units.append(piece)
    return [_Unit(_nfc(unit.text), unit.start, unit.end) for unit in units]


def _joins(before: str, char: str) -> bool:
    """Whether a code point belongs to the character before it: a mark, or a letter that composes.

    Such letters are those of Hangul and of a few other scripts; the first of a decomposition
    decides, since some marks decompose.
    """
    if char.isascii():
        return False
    if unicodedata.category(unicodedata.normalize("NFD", char)[0]).startswith("M"):
        return True
    return _nfc(before + char) != _nfc(before) + _nfc(char)


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)
