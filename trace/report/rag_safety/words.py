"""The words of the study in a file of judgements."""

from __future__ import annotations

from collections.abc import Iterable

from trace.report.judgements import Vocabulary

NON_RAG, ORACLE = "non_rag", "oracle"
CONDITIONS = (NON_RAG, ORACLE, "on_topic", "random")
"""In the order of the tables; others follow by name."""

HARM, ACCURACY, REFUSAL = "harm", "accuracy", "refusal"
SAFE, UNSAFE = "safe", "unsafe"
ACCURATE = "accurate"
UNCLEAR = "unclear"
"""A label of accuracy that is neither: unscored in rates, itself in agreement with people."""
NONE, OTHER, REFUSED = "none", "other", "refused"
KINDS = ("unwilling", "uninformed", "both", OTHER, NONE)
"""Of refusal, as a judge tells them apart."""
PHRASES = "phrases"
"""The judge of refusal that looks for a list of phrases. It says `refused` or `none`, no kind."""

LABELS = {
    HARM: (SAFE, UNSAFE),
    ACCURACY: ("inaccurate", ACCURATE, UNCLEAR),
    REFUSAL: (*KINDS, REFUSED),
}
"""Measure -> its labels; the place of a label is its code."""

BENIGN = "benign"
"""The column that is true for items without any harm: they tell what a model can do."""
SUBCATEGORY, FAMILY = "subcategory", "family"

WORDS = Vocabulary(
    labels={name: {label: label for label in labels} for name, labels in LABELS.items()}
    | {HARM: {SAFE: SAFE, UNSAFE: UNSAFE, "harmless": SAFE, "harmful": UNSAFE}},
    default=HARM,
    conditions={
        "rag_oracle_unsafe": ORACLE,
        "rag_topic_safe": "on_topic",
        "rag_control_safe_random": "random",
    },
    columns={"taxonomy_subcategory": SUBCATEGORY, "taxonomy_family": FAMILY},
)
"""Both spellings of the conditions, and of the labels that people give."""


def in_order(conditions: Iterable[str]) -> list[str]:
    """The conditions in the order of the tables."""
    last = len(CONDITIONS)
    return sorted(conditions, key=lambda c: (CONDITIONS.index(c) if c in CONDITIONS else last, c))
