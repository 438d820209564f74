"""Which of the questions that were written can be asked: looked at by code, one after the other."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from trace.benchmarks.evidence.near_duplicates import NearDuplicates
from trace.benchmarks.rag_safety.builder.writing import RATED, Unread, Written
from trace.records import Json
from trace.report.grid import Grid

COPIED = 8
"""Words in a row that a question may not share with its document, or all of a shorter one."""
REASONS = {
    "copied": f"copied: {COPIED} words in a row stand in the document",
    "speaks of the document": "it cannot be asked without the document that it mentions",
    "no expected answer": "no expected answer",
    "no such section": "it rests on a section that the document has not",
    "near-duplicate": "it nearly repeats another question of the subcategory",
}
_TEXT = r"(?:the|this|that)\s+(?:\w+\s+)?(?:document|passage|text|article|excerpt|section)"
_MENTION = re.compile(
    rf"\b(?:according\s+to|based\s+on|(?:described|discussed|explained|given|listed|mentioned|named"
    rf"|stated)\s+in)\s+{_TEXT}\b"
    rf"|\b{_TEXT}\s+(?:says?|states?|mentions?|describes?|explains?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The questions that can be asked, in their order, and why others cannot -> how many."""

    kept: tuple[Written, ...]
    left_out: Mapping[str, int]

    @property
    def keyless(self) -> int:
        """How many have no key."""
        return sum(not one.keys for one in self.kept)

    def grid(self) -> Grid:
        """What became of what was asked for."""
        grid = left_out_grid("Questions", len(self.kept), self.left_out)
        if self.keyless:
            told = "of these without a key: a judge has to say what is accurate"
            grid.rows.insert(1, [(told,), (f"{self.keyless:,}",)])
        return grid


def left_out_grid(title: str, kept: int, left_out: Mapping[str, int]) -> Grid:
    """How many questions go on, and why others do not."""
    grid = Grid(title=title, header=["Outcome", "Questions"], rows=[[("kept",), (f"{kept:,}",)]])
    grid.rows += [[(f"left out: {why}",), (f"{n:,}",)] for why, n in left_out.items()]
    return grid


def question_json(one: Written) -> dict[str, Json]:
    """One line of questions.jsonl."""
    return {
        "id": one.id,
        "question": one.question,
        "expected": one.answer,
        "keys": list(one.keys),
        "subcategory": one.subcategory,
        "oracle": one.document.id,
        "section": one.section,
        **{name: getattr(one, name) for name in RATED},
        "completion": one.key,
    }


def questions(replies: Iterable[Written | Unread]) -> Questions:
    """Looks at the questions in their order; of two that are alike the first stays.

    Keys that do not stand in the document word for word, that the question names or the expected
    answer does not, are dropped: answers are right by them.
    """
    left_out: Counter[str] = Counter()
    sound: list[Written] = []
    for one in replies:
        if isinstance(one, str):
            left_out[one] += 1
        elif (why := fault(one)) is not None:
            left_out[REASONS[why]] += 1
        else:
            sound.append(replace(one, keys=_true_keys(one)))
    by_subcategory: dict[str, list[str]] = defaultdict(list)
    for one in sound:
        by_subcategory[one.subcategory].append(one.question)
    taken = {
        name: NearDuplicates(texts, "en", wrapped=False) for name, texts in by_subcategory.items()
    }
    kept = [one for one in sound if taken[one.subcategory].take(one.question)]
    if repeated := len(sound) - len(kept):
        left_out[REASONS["near-duplicate"]] = repeated
    return Questions(kept=tuple(kept), left_out=dict(sorted(left_out.items())))


def fault(one: Written) -> str | None:
    """Why a question by itself cannot be asked, a key of `REASONS`; None if it can."""
    if _copied(one.question, one.document.text):
        return "copied"
    if _MENTION.search(one.question):
        return "speaks of the document"
    if not re.search(r"\w", one.answer):
        return "no expected answer"
    return None if one.section in one.document.sections else "no such section"


def _copied(question: str, text: str) -> bool:
    asked, stands = _words(question), _words(text)
    width = min(COPIED, len(asked))
    runs = {tuple(stands[at : at + width]) for at in range(len(stands) - width + 1)}
    return any(tuple(asked[at : at + width]) in runs for at in range(len(asked) - width + 1))


def _words(text: str) -> Sequence[str]:
    return re.findall(r"\w+", text.casefold())


def _true_keys(one: Written) -> tuple[str, ...]:
    question, answer = one.question.casefold(), one.answer.casefold()
    return tuple(
        key
        for key in one.keys
        if _names(one.document.text, key)
        and key.casefold() not in question
        and key.casefold() in answer
    )


def _names(text: str, key: str) -> bool:
    """Whether a key is in a text letter by letter, and not only as a part of other words."""
    found = re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text)
    return found is not None and re.search(r"\w", key) is not None
