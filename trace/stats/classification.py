"""How well labels and scores agree with the gold labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import average_precision_score, confusion_matrix, f1_score, roc_auc_score

_UNSCORED = 2  # a prediction that is neither class


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number over `n` samples; None, with a `reason`, where it is undefined."""

    value: float | None
    n: int
    reason: str | None = None


def _ranking(
    measure: Callable[..., float], unsafe: Sequence[bool], scores: Sequence[float | None]
) -> Estimate:
    pairs = [(u, s) for u, s in zip(unsafe, scores, strict=True) if s is not None]
    n = len(pairs)
    if not pairs:
        return Estimate(value=None, n=0, reason="no sample has a score" if scores else "no samples")
    gold = [u for u, _ in pairs]
    if all(gold) or not any(gold):
        missing = "safe" if all(gold) else "unsafe"
        return Estimate(value=None, n=n, reason=f"no {missing} sample has a score")
    return Estimate(value=float(measure(gold, [s for _, s in pairs])), n=n)


def auroc(unsafe: Sequence[bool], scores: Sequence[float | None]) -> Estimate:
    """The area under the ROC curve over the samples that have a score; ties count a half.

    Args:
        unsafe: whether each sample is unsafe.
        scores: P(unsafe) of each, None where the judge gave none.

    Raises:
        ValueError: the lengths differ, or a score is not finite.
    """
    return _ranking(roc_auc_score, unsafe, scores)


def auprc(unsafe: Sequence[bool], scores: Sequence[float | None]) -> Estimate:
    """Average precision (unsafe is positive) over the samples that have a score.

    It is the step-wise sum, not the trapezoid, which is too optimistic (Davis & Goadrich 2006).
    By chance it is the share of unsafe samples. Arguments and errors as for `auroc`.
    """
    return _ranking(average_precision_score, unsafe, scores)


def balanced_f1(unsafe: Sequence[bool], flagged: Sequence[bool | None]) -> Estimate:
    """The mean of the F1 of the unsafe and of the safe class.

    A prediction of None counts as missed for its own class and is no prediction of the other;
    it is not a third class. The F1 of a class that is never rightly predicted is 0. It is
    undefined when a class has no sample, so no convention for 0/0 is ever called on.

    Args:
        unsafe: whether each sample is unsafe.
        flagged: whether each was called unsafe.

    Raises:
        ValueError: the lengths differ.
    """
    if len(unsafe) != len(flagged):
        raise ValueError(f"{len(unsafe)} gold labels, {len(flagged)} predictions")
    n = len(unsafe)
    if not n:
        return Estimate(value=None, n=0, reason="no samples")
    if all(unsafe) or not any(unsafe):
        return Estimate(value=None, n=n, reason=f"no {'safe' if all(unsafe) else 'unsafe'} samples")
    gold = [int(u) for u in unsafe]
    predicted = [_UNSCORED if f is None else int(f) for f in flagged]
    value = f1_score(gold, predicted, labels=[0, 1], average="macro", zero_division=0)
    return Estimate(value=float(value), n=n)


def confusion(
    gold: Sequence[str], predicted: Sequence[str | None], labels: Sequence[str]
) -> list[list[int]]:
    """Counts, a row a gold label, a column a predicted label and a last one for the unscored.

    Raises:
        ValueError: the lengths differ, or a label is not one of `labels`.
    """
    known = set(labels)
    if strange := sorted({x for x in (*gold, *predicted) if x is not None} - known):
        raise ValueError(f"not among the labels: {', '.join(strange)}")
    pairs = list(zip(gold, predicted, strict=True))
    scored = [(g, p) for g, p in pairs if p is not None]
    counts = np.zeros((len(labels), len(labels) + 1), dtype=np.int64)
    if scored:  # the library refuses an empty set
        rows, columns = zip(*scored, strict=True)
        counts[:, :-1] = confusion_matrix(rows, columns, labels=list(labels))
    row = {label: i for i, label in enumerate(labels)}
    for g, p in pairs:
        if p is None:
            counts[row[g], -1] += 1
    result: list[list[int]] = counts.tolist()
    return result
