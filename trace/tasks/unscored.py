"""The end of a run of which too much has no label."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from trace import config
from trace.errors import ConfigError, UnscoredError
from trace.models.askable import refusal
from trace.records import Request

CURED_BY_SCORES = ("unparsable", "refused", "truncated")
"""What becomes of replies, and of likelihoods never."""


def refuse_unscored(status: Sequence[str], most: float, *, lack: str, instead: str) -> None:
    """Ends a complete run with exit status 1 when too much of it has no label.

    Args:
        status: that of every verdict.
        most: the share without a label that is let pass.
        lack: what they lack, such as `samples have no label`.
        instead: what to do about it.
    """
    without = {s: n for s, n in sorted(Counter(status).items()) if s != "ok"}
    missing = sum(without.values())
    if missing > most * len(status):
        raise UnscoredError(
            f"{missing} of {len(status)} {lack} ({json.dumps(without)}), more than "
            f"scoring.max_unscored={most}. {instead}"
        )


def scores_would_help(
    settings: config.Root, labels: tuple[str, ...], status: Iterable[str]
) -> bool:
    """Whether protocol.answer=score is possible, is not on yet, and would give more labels.

    Args:
        settings: those of the run.
        labels: what the likelihoods would be asked of.
        status: that of every verdict.
    """
    if settings.protocol.answer == "score" or not set(status) & set(CURED_BY_SCORES):
        return False
    try:
        replace(settings, protocol=replace(settings.protocol, answer="score"))
    except ConfigError:  # something else of the configuration needs written replies
        return False
    judges = [settings.model] if settings.judges is None else settings.judges.models.values()
    request = Request(labels=labels)
    return all(judge.guard is None and refusal(judge, [request]) is None for judge in judges)
