"""Labels as a tree of tokens: how likely each is, from the next tokens at every fork."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Tokens = tuple[int, ...]


def forks(branches: Sequence[Tokens]) -> dict[Tokens, list[int]]:
    """What has been read of a label -> the tokens that can follow, the empty beginning first.

    One forward pass at each gives exact likelihoods of all labels. Asking for the prompt's own
    likelihoods instead would need a pass over the whole prompt for every label, since vLLM reads
    no cached prefix then.
    """
    out: dict[Tokens, list[int]] = {}
    for branch in branches:
        for depth, token in enumerate(branch):
            following = out.setdefault(branch[:depth], [])
            if token not in following:
                following.append(token)
    return out


def summed(
    branches: Sequence[Tokens], logprobs: Mapping[Tokens, Mapping[int, float]]
) -> list[float]:
    """The log-likelihood (nats) of each branch.

    Args:
        branches: The tokens of each label.
        logprobs: For every one of their `forks`, the log-probability of each token that follows.
    """
    return [
        sum(logprobs[branch[:depth]][token] for depth, token in enumerate(branch))
        for branch in branches
    ]
