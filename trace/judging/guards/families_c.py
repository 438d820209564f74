"""The families of guards that stand in a provider's cloud."""

from __future__ import annotations

from collections.abc import Mapping

from trace.judging.guards.base import Guard
from trace.judging.guards.cloud import AzureGuard, BedrockGuard, ModelArmorGuard

FAMILIES_C: Mapping[str, Guard] = {
    "bedrock_guardrails": BedrockGuard(),
    "azure_content_safety": AzureGuard(),
    "azure_content_safety_4": AzureGuard(threshold=4),
    "azure_content_safety_6": AzureGuard(threshold=6),
    "model_armor": ModelArmorGuard(),
}
