"""Every configuration group as a typed object whose values are checked when it is built.

Nothing here imports torch, transformers or wandb: `--help`, `--cfg job` and a dry run stay quick.
"""

from trace.config.annotate import Annotate
from trace.config.benchmarks import (
    MODEL_SLOTS,
    Benchmark,
    Builder,
    RagTruth,
    StrongReject,
    TraceSafe,
)
from trace.config.clarify import Clarify
from trace.config.cloud import (
    ArmorTemplate,
    AzureEngine,
    AzureResource,
    BedrockEngine,
    BedrockGuardrail,
    CloudEngine,
    CloudGuard,
    ModelArmorEngine,
)
from trace.config.cross_lab import CrossLab, WordingCondition
from trace.config.engines import (
    Engine,
    HfEngine,
    MockEngine,
    OpenAIEngine,
    RemoteEngine,
    RuleEngine,
    VllmEngine,
)
from trace.config.evidence import Evidence, EvidenceBuilder
from trace.config.groups import Compare, Condition, Protocol, Sampling, Scoring, Task, Tracking
from trace.config.interp import Probe, Steering, Trainer
from trace.config.judges import Judges
from trace.config.models import OWN_RULE, HostedModel, MockModel, Model, RuleModel, is_folder
from trace.config.rag_builder import RagBuilder
from trace.config.rag_safety import RagSafety
from trace.config.result import NO_EFFECT_ON_RESULT, of_result, plain
from trace.config.retrieval import RagCondition
from trace.config.root import Root
from trace.config.store import register
from trace.config.typed import check_files, nearest, to_typed

__all__ = [
    "MODEL_SLOTS",
    "NO_EFFECT_ON_RESULT",
    "OWN_RULE",
    "Annotate",
    "ArmorTemplate",
    "AzureEngine",
    "AzureResource",
    "BedrockEngine",
    "BedrockGuardrail",
    "Benchmark",
    "Builder",
    "Clarify",
    "CloudEngine",
    "CloudGuard",
    "Compare",
    "Condition",
    "CrossLab",
    "Engine",
    "Evidence",
    "EvidenceBuilder",
    "HfEngine",
    "HostedModel",
    "Judges",
    "MockEngine",
    "MockModel",
    "Model",
    "ModelArmorEngine",
    "OpenAIEngine",
    "Probe",
    "Protocol",
    "RagBuilder",
    "RagCondition",
    "RagSafety",
    "RagTruth",
    "RemoteEngine",
    "Root",
    "RuleEngine",
    "RuleModel",
    "Sampling",
    "Scoring",
    "Steering",
    "StrongReject",
    "Task",
    "TraceSafe",
    "Tracking",
    "Trainer",
    "VllmEngine",
    "WordingCondition",
    "check_files",
    "is_folder",
    "nearest",
    "of_result",
    "plain",
    "register",
    "to_typed",
]
