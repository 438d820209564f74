"""The families of Meta, NVIDIA, Google and AI2."""

from __future__ import annotations

from collections.abc import Mapping

from trace.judging.guards.aegis import Aegis
from trace.judging.guards.base import Guard
from trace.judging.guards.llama_guard import (
    LlamaGuard1,
    LlamaGuard2,
    LlamaGuard3,
    LlamaGuard3Small,
    LlamaGuard4,
)
from trace.judging.guards.nemo_guard import NemoGuard
from trace.judging.guards.nemotron_reasoning import NemotronReasoning
from trace.judging.guards.shieldgemma import ShieldGemma
from trace.judging.guards.wildguard import WildGuard

FAMILIES_A: Mapping[str, Guard] = {
    "llama_guard_1": LlamaGuard1(),
    "llama_guard_2": LlamaGuard2(),
    "llama_guard_3": LlamaGuard3(),
    "llama_guard_3_1b": LlamaGuard3Small(),
    "llama_guard_4": LlamaGuard4(),
    "aegis_defensive": Aegis(),
    "aegis_permissive": Aegis(),
    "nemo_guard": NemoGuard(),
    "nemotron_reasoning": NemotronReasoning(),
    "nemotron_reasoning_thinking": NemotronReasoning(thinks=True),
    "shieldgemma": ShieldGemma(),
    "wildguard": WildGuard(),
}
