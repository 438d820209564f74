"""The words of the study in a file of judgements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from trace.report.judgements import Vocabulary

CATEGORY, SPLIT, UNDERSPECIFIED = "category", "split", "underspecified"
CORE = ("reasoning_surfacing", "reasoning_suppression", "values_conflict")
VALIDATION = ("neutral_control", "format_steering")
"""Where no effect of steering is expected."""
CATEGORIES = (*CORE, *VALIDATION)
BASE, STEERED = CONDITIONS = ("base", "steered")
DEVELOPMENT, HELD_OUT = SPLITS = ("development", "held_out")
MAIN, REPEAT, FIELD_FREE = "main", "repeat", "field_free"
"""Judged for the results; judged again in the same way; judged without what the item probes."""
FIRST_BUDGET, ONLY_TRUNCATED = BUDGETS = ("first_budget", "only_truncated")
"""Answers as they were before some were asked again with more tokens; and where only those that
were cut off were asked again, which selects on the outcome."""
ARMS = (MAIN, REPEAT, FIELD_FREE, *BUDGETS)
FULL_COMPLIANCE = "full_compliance"
"""The label of an answer that does all it was asked; a rubric need not have it."""

Rubrics: TypeAlias = Mapping[str, tuple[str, ...]]
"""Category -> its labels."""


def vocabulary(rubrics: Rubrics) -> Vocabulary:
    """What a file of judgements by these rubrics can say."""
    return Vocabulary(
        labels={name: {label: label for label in labels} for name, labels in rubrics.items()},
        rubric=CATEGORY,
        arms=ARMS,
        values={
            "condition": CONDITIONS,
            SPLIT: SPLITS,
            UNDERSPECIFIED: (True, False),
        },
    )


def heading(name: str) -> str:
    """A name over a narrow column: a word a line."""
    return name.replace("_", "\n")


def plain(name: str) -> str:
    """A name in running text."""
    return name.replace("_", " ")
