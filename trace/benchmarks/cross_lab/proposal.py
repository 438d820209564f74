"""Labels that a model proposes, read as strictly as they were asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from trace.benchmarks.cross_lab.rubric import Label, Rubric
from trace.benchmarks.cross_lab.variety import ngrams
from trace.benchmarks.lines import encodable
from trace.benchmarks.objects import CONFLICT, read_objects
from trace.reasoning import split_reasoning
from trace.records import Completion, Finish, Json

Unread: TypeAlias = Literal[
    "error", "too long", "refused by the provider", "cut off", "not in the form",
    "too few or too many labels", "a name is not in snake_case", "two labels read alike",
    "a label without numbers, or with unknown ones", "a number under two labels",
    "an example quotes a response",
]  # fmt: skip
"""Why a reply proposes nothing. A part of it is not used either: labels exclude each other."""

Labels: TypeAlias = tuple[Label, ...]

FEWEST, MOST = 3, 7
QUOTED = 8
"""So many words in a row that an example shares with a response make it a quotation."""
_BY_FINISH: dict[Finish, Unread] = {
    "too_long": "too long",
    "content_filter": "refused by the provider",
    "error": "error",
}
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_TEXTS = ("definition", "boundary", "example")


def read(
    completion: Completion, sources: Sequence[Iterable[str]], texts: Sequence[str]
) -> Labels | Unread:
    """The labels of a reply, or why there are none. Never fails.

    The object may stand among prose, and must be whole.

    Args:
        completion: of the model that was asked.
        sources: whom each thing that it was shown came from, the first being number 1; a label
            is derived from those whose numbers it names.
        texts: responses that no example may quote.
    """
    if (unmade := _BY_FINISH.get(completion.finish)) is not None:
        return unmade
    split = split_reasoning(completion.text, "think")
    cut = completion.finish == "length" or not (completion.reasoning_closed and split.closed)
    said, ruins = read_objects(split.answer)
    listed = said.get("labels")
    if ruins is not None or listed is CONFLICT or not isinstance(listed, list):
        return "cut off" if cut else "not in the form"
    if not all(map(_in_form, listed)):
        return "not in the form"
    if not FEWEST <= len(listed) <= MOST:
        return "too few or too many labels"
    if not all(_NAME.fullmatch(one["name"].strip()) for one in listed):
        return "a name is not in snake_case"
    numbers = [one["numbers"] for one in listed]
    if not all(of and all(1 <= n <= len(sources) for n in of) for of in numbers):
        return "a label without numbers, or with unknown ones"
    named = [n for of in numbers for n in set(of)]
    if len(named) > len(set(named)):
        return "a number under two labels"
    labels = tuple(_label(one, sources) for one in listed)
    try:
        _ = Rubric(category="", question="", labels=labels).label_set
    except ValueError:
        return "two labels read alike"
    runs = frozenset[tuple[str, ...]]().union(*(ngrams(text, QUOTED) for text in texts))
    if any(ngrams(label.example, QUOTED) & runs for label in labels):
        return "an example quotes a response"
    return labels


def _in_form(one: Json) -> bool:
    if not isinstance(one, dict) or not isinstance(one.get("numbers"), list):
        return False
    said = [one.get(name) for name in ("name", *_TEXTS)]
    texts = [text for text in said if isinstance(text, str) and text.strip() and encodable(text)]
    return len(texts) == len(said) and all(type(n) is int for n in one["numbers"])


def _label(one: Json, sources: Sequence[Iterable[str]]) -> Label:
    """A label of a reply that is in the form, its texts on one line each."""
    definition, boundary, example = (" ".join(one[name].split()) for name in _TEXTS)
    whose = sorted({name for n in one["numbers"] for name in sources[n - 1]})
    return Label(
        name=one["name"].strip(),
        definition=definition,
        boundary=boundary,
        example=example,
        derived_from=tuple(whose),
    )
