"""What a respondent is asked: a request, and the documents before it where there are any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trace.benchmarks.conditions import TokensOf
from trace.config.retrieval import Overflow
from trace.records import digest

OWN_KNOWLEDGE = "Answer the request below from what you know yourself, and from nothing else."
DOCUMENTS_ONLY = "Answer the request below from what the documents say, and from nothing else."
MAX_CHARS = 12_000
"""Characters of a document, as in the release, which ends a longer one by an ellipsis."""
_CONTEXT, _REQUEST, _ELLIPSIS = "Context", "Request", "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The user's message to a respondent.

    `chars` are the characters shown of each document, `cut` those that were taken from its end
    because the whole was too long for the context (the cap of 12,000 is not counted). `too_long` is
    True where it does not fit: it stands in full then, and is not to be asked.
    """

    text: str
    chars: tuple[int, ...] = ()
    cut: tuple[int, ...] = ()
    too_long: bool = False


def prompt(question: str, documents: Sequence[str] | None) -> Prompt:
    """The message with documents as long as the cap allows.

    Args:
        question: the request as it stands.
        documents: their texts in order, labelled Context 1, Context 2 and so on; None asks for the
            model's own knowledge. Nothing else differs between the two.
    """
    if documents is None:
        return Prompt(text=_message(OWN_KNOWLEDGE, question, ()))
    texts = [shortened(text, MAX_CHARS) for text in documents]
    return _shown(question, texts, [len(text) for text in texts])


def fitted(
    question: str,
    documents: Sequence[str] | None,
    *,
    tokens: int,
    tokens_of: TokensOf,
    overflow: Overflow,
) -> Prompt:
    """The message within a number of tokens.

    With `cut` every document loses the same share of its characters, from its end, and no more than
    is needed. Where one would be left with nothing, nothing is cut and the message is too long.

    Args:
        question: as for `prompt`.
        documents: as for `prompt`.
        tokens: what the message may take: the model's context without what it may write.
        tokens_of: how many tokens a message takes, the chat template's own included.
        overflow: whether documents are cut, or the message is refused.
    """
    whole = prompt(question, documents)
    if tokens_of(whole.text) <= tokens:
        return whole
    refused = Prompt(text=whole.text, chars=whole.chars, cut=whole.cut, too_long=True)
    if overflow == "refuse" or not documents:
        return refused
    texts = [shortened(text, MAX_CHARS) for text in documents]
    longest = max(map(len, texts))
    best, low, high = refused, 0, longest  # characters of the longest: low fits, high does not
    while high - low > 1:
        middle = (low + high) // 2
        tried = _shown(question, texts, [len(text) * middle // longest for text in texts])
        if tokens_of(tried.text) <= tokens:
            best, low = tried, middle
        else:
            high = middle
    return best if min(best.chars) > 1 else refused  # the one character is the ellipsis


def shortened(text: str, length: int) -> str:
    """At most `length` characters of a text, the last of them an ellipsis where it is longer."""
    return text if len(text) <= length else text[: max(length - 1, 0)] + _ELLIPSIS * (length > 0)


def _shown(question: str, texts: Sequence[str], lengths: Sequence[int]) -> Prompt:
    shown = [shortened(text, length) for text, length in zip(texts, lengths, strict=True)]
    return Prompt(
        text=_message(DOCUMENTS_ONLY, question, shown),
        chars=tuple(map(len, shown)),
        cut=tuple(len(text) - length for text, length in zip(texts, lengths, strict=True)),
    )


def _message(instruction: str, question: str, texts: Sequence[str]) -> str:
    contexts = [f"{_CONTEXT} {number}:\n{text}" for number, text in enumerate(texts, start=1)]
    return "\n\n".join([instruction, *contexts, f"{_REQUEST}: {question}"])


PROMPT_HASH = digest([prompt("", None).text, prompt("", ["", ""]).text, MAX_CHARS, _ELLIPSIS])
"""Identifies the wording and the layout; texts of the benchmark are no part of it."""
