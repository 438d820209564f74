"""The schemas, where the files in conf/ name them."""

from __future__ import annotations

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from trace.config import (
    annotate,
    benchmarks,
    clarify,
    cloud,
    cross_lab,
    engines,
    evidence,
    groups,
    interp,
    judges,
    models,
    rag_builder,
    rag_safety,
    retrieval,
)
from trace.config.root import Root


def register() -> None:
    """Puts the schemas where the files in conf/ name them: `/schema/<group>@_here_: <name>`."""
    OmegaConf.register_new_resolver("or_else", lambda a, b: b if a is None else a, replace=True)
    store = ConfigStore.instance()
    store.store(name="root", group="schema", node=Root)
    schemas: dict[str, dict[str, type]] = {
        "task": {"base": groups.Task, "compare": groups.Compare},
        "condition": {
            "base": groups.Condition,
            "rag": retrieval.RagCondition,
            "wording": cross_lab.WordingCondition,
        },
        "protocol": {"base": groups.Protocol},
        "sampling": {"base": groups.Sampling},
        "scoring": {"base": groups.Scoring},
        "tracking": {"base": groups.Tracking},
        "model": {
            "base": models.Model,
            "mock": models.MockModel,
            "hosted": models.HostedModel,
            "rule": models.RuleModel,
            "bedrock": cloud.BedrockGuardrail,
            "azure": cloud.AzureResource,
            "model_armor": cloud.ArmorTemplate,
        },
        "engine": {
            "hf": engines.HfEngine,
            "vllm": engines.VllmEngine,
            "openai_compatible": engines.OpenAIEngine,
            "mock": engines.MockEngine,
            "rule": engines.RuleEngine,
            "bedrock": cloud.BedrockEngine,
            "azure": cloud.AzureEngine,
            "model_armor": cloud.ModelArmorEngine,
        },
        "judges": {"base": judges.Judges},
        "annotate": {"base": annotate.Annotate},
        "probe": {"base": interp.Probe},
        "steering": {"base": interp.Steering},
        "trainer": {"base": interp.Trainer},
        "evidence_builder": {"base": evidence.EvidenceBuilder},
        "rag_builder": {"base": rag_builder.RagBuilder},
        "benchmark": {
            "clarify": clarify.Clarify,
            "cross_lab": cross_lab.CrossLab,
            "evidence": evidence.Evidence,
            "rag_safety": rag_safety.RagSafety,
            "tracesafe": benchmarks.TraceSafe,
            "ragtruth": benchmarks.RagTruth,
            "strongreject": benchmarks.StrongReject,
        },
    }
    for group, named in schemas.items():
        for name, node in named.items():
            store.store(name=name, group=f"schema/{group}", node=node)
