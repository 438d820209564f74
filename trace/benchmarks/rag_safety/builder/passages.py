"""Sections as passages of a length that a document may have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trace.benchmarks.rag_safety.builder.article import Section

SHORTEST = 50
"""Words below which a text is no document: it would stand out by its length."""
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]»”]*\s+(?=[\"'(\[«“]*[A-Z0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A part of an article, with the sections that it has, or has a piece of."""

    sections: tuple[str, ...]
    headings: tuple[str, ...]
    text: str


def passages(sections: Sequence[Section], most: int) -> tuple[list[Passage], int]:
    """An article's passages, in its order.

    Whole sections are joined while they fit. A section that is longer is cut at the ends of its
    sentences into pieces of about the same length, together with one before it that is too short to
    stand alone. Headings stand above their sections and count.

    Args:
        sections: of one article, in their order.
        most: words a passage, at least twice `SHORTEST`.

    Returns:
        The passages, each of `SHORTEST` to `most` words; and the words that were left out, since
        they are too few and fit nowhere.
    """
    made: list[Passage] = []
    lost = 0
    for group in _groups(sections, most):
        words = sum(map(_length, group))
        if words <= most:
            made.append(_joined(group))
            continue
        pieces = _cut("\n\n".join(map(_shown, group)), most)
        headings = tuple(s.heading for s in group)
        ids = tuple(s.id for s in group)
        made += [Passage(sections=ids, headings=headings, text=piece) for piece in pieces]
    if made and _words(made[-1].text) < SHORTEST:
        last = made.pop()
        if made and _words(made[-1].text) + _words(last.text) <= most:
            made[-1] = _united(made[-1], last)
        else:
            lost += _words(last.text)
    lengths = [_words(one.text) for one in made]
    right = [SHORTEST <= length <= most for length in lengths]
    kept = [one for one, is_right in zip(made, right, strict=True) if is_right]
    return kept, lost + sum(n for n, is_right in zip(lengths, right, strict=True) if not is_right)


def _groups(sections: Sequence[Section], most: int) -> Iterator[list[Section]]:
    """Runs of sections: those that fit together, and one that does not fit with a short run."""
    run: list[Section] = []
    for section in sections:
        length = sum(map(_length, run))
        if run and length >= SHORTEST and length + _length(section) > most:
            yield run
            run = []
        run.append(section)
        if sum(map(_length, run)) > most:
            yield run
            run = []
    if run:
        yield run


def _cut(text: str, most: int) -> list[str]:
    """A text as pieces of about the same length that end where sentences do."""
    pieces = -(-_words(text) // most)
    due = -(-_words(text) // pieces)
    made: list[list[str]] = [[]]
    for sentence in _sentences(text, most):
        have = _words("".join(made[-1]))
        if made[-1] and (have >= due or have + _words(sentence) > most):
            made.append([])
        made[-1].append(sentence)
    while len(made) > 1 and _words("".join(made[-1])) < SHORTEST and len(made[-2]) > 1:
        moved = made[-2][-1]
        short = _words("".join(made[-2][:-1])) < SHORTEST
        if short or _words("".join(made[-1])) + _words(moved) > most:
            break
        made[-1].insert(0, made[-2].pop())
    return ["".join(piece).strip() for piece in made]


def _sentences(text: str, most: int) -> Iterator[str]:
    """The sentences with the space after them; one of more words than a passage is cut."""
    many = re.compile(rf"\s*(?:\S+\s+){{{most}}}")
    at = 0
    for end in [*(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]:
        left = _words(text[at:end])
        while left > most:
            head = many.match(text, at)
            assert head is not None  # it has more words than that
            yield head[0]
            at, left = head.end(), left - most
        yield text[at:end]
        at = end


def _joined(group: Sequence[Section]) -> Passage:
    return Passage(
        sections=tuple(s.id for s in group),
        headings=tuple(s.heading for s in group),
        text="\n\n".join(map(_shown, group)),
    )


def _united(one: Passage, other: Passage) -> Passage:
    pairs = zip(one.sections + other.sections, one.headings + other.headings, strict=True)
    named = dict(pairs)
    return Passage(
        sections=tuple(named),
        headings=tuple(named.values()),
        text=f"{one.text}\n\n{other.text}",
    )


def _shown(section: Section) -> str:
    return f"{section.heading}\n{section.text}" if section.heading else section.text


def _length(section: Section) -> int:
    return _words(_shown(section))


def _words(text: str) -> int:
    return len(text.split())
