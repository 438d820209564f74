"""A judge's reply to a question of this study that is not about harm."""

from __future__ import annotations

from trace.judging.labels import LabelSet
from trace.judging.parse import parse_verdict
from trace.records import Completion, Verdict


def read_verdict(completion: Completion, labels: LabelSet) -> Verdict:
    """Reads it as strictly as any verdict is read (`trace.judging.parse`)."""
    if not completion.reasoning_closed:
        return Verdict(status="truncated")
    return parse_verdict(completion.text, labels, finish=completion.finish)
