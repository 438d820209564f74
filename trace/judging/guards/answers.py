"""What guards share in reading: several answers to one verdict, shares of labels, `key: value`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scipy.special import softmax

from trace.judging.guards.written import ended_badly
from trace.judging.labels import visible
from trace.records import Completion, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeliest:
    """The label that would be written, and the share of each label among all of them."""

    label: str
    shares: Mapping[str, float]

    def of(self, labels: Iterable[str]) -> float:
        """The share of these labels together; added up, since 1 - share loses small ones."""
        return min(math.fsum(self.shares[label] for label in labels), 1.0)


def verdict_of(
    answers: Sequence[Completion],
    by_likelihood: Callable[[Completion], Verdict],
    by_text: Callable[[Completion], Verdict],
) -> Verdict:
    """The verdict of a guard that is asked for its label's likelihood, and may then also write.

    The first answer decides; a second, written one adds categories and rationale where it says the
    same. It decides only where the likelihoods could not be had (`error`: a server without them).

    Args:
        answers: one or two, the deciding one first.
        by_likelihood: reads an answer with `scores`.
        by_text: reads a written answer.
    """
    verdicts = []
    for answer in answers:
        read = by_text if answer.scores is None else by_likelihood
        verdicts.append(ended_badly(answer) or read(answer))
    if not verdicts:
        return Verdict(status="error")
    first, *rest = verdicts
    for second in rest:
        if first.status == "error":
            return second
        if first.label is not None and first.label == second.label:
            categories = first.categories or second.categories
            rationale = first.rationale or second.rationale
            return replace(first, categories=categories, rationale=rationale)
    return first


def likeliest(answer: Completion, labels: Sequence[str]) -> Likeliest | Verdict:
    """The likeliest label and the softmax of their log-likelihoods; or why there is none.

    `unparsable` where the model's likeliest token begins none of the labels (it would have written
    something else), or where labels tie; `error` for scores of other labels and for scores that
    are not finite.
    """
    scores = answer.scores
    if scores is None or set(scores) != set(labels):
        return Verdict(status="error")
    values = [scores[label].logprob for label in labels]
    if not all(map(math.isfinite, values)):
        return Verdict(status="error")
    if answer.top is not None and not any(_begins(answer.top, label) for label in labels):
        return Verdict(status="unparsable")
    best, *ties = (
        label for label, value in zip(labels, values, strict=True) if value == max(values)
    )
    if ties:
        return Verdict(status="unparsable")
    shares = map(float, softmax(values))
    return Likeliest(label=best, shares=dict(zip(labels, shares, strict=True)))


def whole_lines(answer: Completion) -> list[str]:
    """The lines that hold anything, stripped; without the last where the token limit cut it."""
    lines = visible(answer.text).split("\n")
    if answer.finish == "length":
        lines.pop()
    return [line.strip() for line in lines if line.strip()]


def fields(lines: Sequence[str]) -> dict[str, str | None]:
    """The `key: value` lines: the key in lower case, the value stripped.

    A key that is written twice with different values has None: which was meant is not guessed.
    """
    found: dict[str, str | None] = {}
    for line in lines:
        key, colon, value = line.partition(":")
        if colon:
            key, value = key.strip().casefold(), value.strip()
            found[key] = value if found.get(key, value) == value else None
    return found


def _begins(token: str, label: str) -> bool:
    """Whether a text that begins with `token` can go on to be `label`: `safety` is not `safe`."""
    word = visible(token).lstrip()
    if label.startswith(word):
        return bool(word)
    return word.startswith(label) and not word[len(label)].isalnum()
