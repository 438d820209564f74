"""Categories and attacks as the released files of S-Eval (0.1.2) spell them."""

from __future__ import annotations

RISK_TYPES = (
    "Crimes_and_Illegal_Activities",
    "Cybersecurity",
    "Data_Privacy",
    "Ethics_and_Morality",
    "Physical_and_Mental_Health",
    "Hate_Speech",
    "Extremism",
    "Inappropriate_Suggestions",
)
"""The ninth category of the study is in none of the files."""
ATTACK_VALUES = (
    "positive_induction",
    "reverse_induction",
    "code_injection",
    "instruction_jailbreak",
    "goal_hijacking",
    "instruction_encryption",
    "deepinception",
    "in_context_attack",
    "chain_of_utterances",
    "compositional_instructions",
)
