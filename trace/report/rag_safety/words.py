"""The words of the study in a file of judgements."""

from __future__ import annotations

from trace.report.judgements import Vocabulary

NON_RAG, ORACLE, ORACLE_RANDOM, RETRIEVED = "non_rag", "oracle", "oracle_random", "retrieved"
CONDITIONS = (NON_RAG, ORACLE, "on_topic", "random")
"""Those of the study."""

HARM, ACCURACY, REFUSAL = "harm", "accuracy", "refusal"
ACTIONABILITY, BLOCKED, RETRIEVAL = "actionability", "blocked", "retrieval"
SAFE, UNSAFE = "safe", "unsafe"
ACCURATE = "accurate"
UNCLEAR = "unclear"
"""A label of accuracy that is neither: unscored in rates, itself in agreement with people."""
NONE, OTHER, REFUSED = "none", "other", "refused"
KINDS = ("unwilling", "uninformed", "both", OTHER, NONE)
"""Of refusal, as a judge tells them apart."""
PHRASES = "phrases"
"""The judge of refusal that looks for a list of phrases. It says `refused` or `none`, no kind."""
NOT_ACTIONABLE, ACTIONABLE = "not_actionable", "actionable"
UNBLOCKED = "none"
"""A label of what blocked an answer, beside `input` and `output`: nothing did."""
FILTER = "filter"
"""In runs, the judge that says what was blocked."""
MISSED, FOUND, DROPPED, NOT_HELD = "missed", "found", "dropped", "not_held"
"""What became of the oracle document: a retriever did not find it; it was shown; it would have been
shown, and a filter dropped it; it is not in the corpus."""
RETRIEVER = "retriever"
"""In runs, the judge that says so."""

LABELS = {
    HARM: (SAFE, UNSAFE),
    ACCURACY: ("inaccurate", ACCURATE, UNCLEAR),
    REFUSAL: (*KINDS, REFUSED),
    ACTIONABILITY: (NOT_ACTIONABLE, ACTIONABLE),
    BLOCKED: (UNBLOCKED, "input", "output"),
    RETRIEVAL: (MISSED, FOUND, DROPPED, NOT_HELD),
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
    values={BENIGN: (True, False)},
)
"""Both spellings of the conditions, and of the labels that people give."""
