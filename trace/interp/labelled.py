"""Answers that were judged: what a probe learns from, and a steering vector is made of."""

from __future__ import annotations

from dataclasses import dataclass

from trace.records import Completion, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A request, its answer, and on which side of the question the answer was judged to be.

    `group` is shared by the versions of one item (its wordings, conditions, epochs): they never
    stand in training and test at the same time.
    """

    id: str
    group: str
    request: Request
    response: Completion
    positive: bool
