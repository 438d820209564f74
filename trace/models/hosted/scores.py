"""The likelihood of labels, as far as a server tells it.

A server reports the most likely alternatives of each token it wrote, and cannot be asked about the
rest of a label it did not write. So what is read is this: at the place where the model has written
the prefix (`{"verdict": "`, by itself), the probability that the next token begins a label. The
labels begin with different characters (`body.check_request`), hence a token belongs to one label at
most. This is what decoding restricted to the labels would choose by. It is not the likelihood of
the whole label, which it can only exceed, so it is compared with that of other engines with care.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import logsumexp

from trace.records import Json, LabelScore


class Unreadable(ValueError):
    """The reply does not tell the likelihood of every label."""


def label_scores(
    tokens: Sequence[Json], prefix: str, labels: Sequence[str]
) -> dict[str, LabelScore]:
    """The log-probability (nats) that the token behind the prefix begins each label.

    Args:
        tokens: `choices[0].logprobs.content`: each with `token`, `logprob`, `top_logprobs`.
        prefix: What the model has to have written before; white space does not count.
        labels: They begin with different characters.

    Raises:
        Unreadable: the model began in another way, a token reaches over the end of the prefix, or a
            label is not among the alternatives: what is not told is not guessed.
        KeyError, TypeError, ValueError: the server's list is not as the API has it.
    """
    token = first_behind(tokens, prefix)
    told = {(t["token"], float(t["logprob"])) for t in [token, *token["top_logprobs"]]}
    if not all(value < math.inf for _, value in told):  # NaN is not
        raise Unreadable("the log-probabilities that the server reports are not numbers")
    scores = {}
    for label in labels:
        begins = [
            p for text, p in told if text and (label.startswith(text) or text.startswith(label))
        ]
        if not any(map(math.isfinite, begins)):
            raise Unreadable(
                f"{label!r} is not among the {len(told)} alternatives that the server reports"
            )
        scores[label] = LabelScore(logprob=float(logsumexp(begins)), tokens=1)
    return scores


def first_behind(tokens: Sequence[Json], prefix: str) -> Json:
    """The token that the model wrote behind the prefix, with what the server tells of it.

    Raises:
        Unreadable: the model began in another way, or a token reaches over the end of the prefix.
    """
    written = ""
    for token in tokens:
        if _bare(written) == _bare(prefix) and token["token"].strip():
            return token
        written += token["token"]
    raise Unreadable(f"it did not begin its answer with {prefix!r} but with {written[:40]!r}")


def _bare(text: str) -> str:
    return "".join(text.split())
