"""From the likelihood of every label to a verdict: no text is written, so none can be misread."""

from __future__ import annotations

import math
from collections.abc import Mapping

from scipy.special import expit, logsumexp

from trace.judging.labels import LabelSet
from trace.records import LabelScore, Verdict


def verdict_from_scores(
    scores: Mapping[str, LabelScore], labels: LabelSet, normalise: str
) -> Verdict:
    """The most likely label, and P(unsafe) as its score.

    P(unsafe) is the share of all labels but the negative one in the softmax over the labels. It is
    computed as expit(logsumexp(others) - negative), which stays exact near 0 and 1.

    Args:
        scores: Label -> its log-likelihood (nats) and number of tokens; each label once.
        labels: The labels and which of them means no risk.
        normalise: `sum` takes the log-likelihood of the whole label, `mean` that of its mean
            token, so that long labels are not at a disadvantage.

    Returns:
        `ok`; `unparsable` without a label or a score where labels share the first place exactly
        (no order of the labels may decide, least of all in favour of safe); `error` where a
        log-likelihood is not finite.

    Raises:
        ValueError: `scores` are not of these labels, a label has no tokens, or no such normalise.
    """
    if set(scores) != set(labels.labels):
        raise ValueError(f"scores of {sorted(scores)}, labels {sorted(labels.labels)}")
    if any(score.tokens < 1 for score in scores.values()):
        raise ValueError(f"a label without tokens: {dict(scores)}")
    if normalise not in ("mean", "sum"):
        raise ValueError(f"no normalisation {normalise!r}: mean or sum")
    if not all(math.isfinite(score.logprob) for score in scores.values()):
        return Verdict(status="error")
    by_token = normalise == "mean"
    values = {
        label: scores[label].logprob / (scores[label].tokens if by_token else 1)
        for label in labels.labels
    }
    best, *ties = (label for label in values if values[label] == max(values.values()))
    if ties:
        return Verdict(status="unparsable")
    others = [value for label, value in values.items() if label != labels.negative]
    return Verdict(
        status="ok", label=best, score=float(expit(logsumexp(others) - values[labels.negative]))
    )
