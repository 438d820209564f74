"""Every configuration group as a typed object whose values are checked when it is built.

Nothing here imports torch, transformers or wandb: `--help`, `--cfg job` and a dry run stay quick.
"""

from trace.config.benchmarks import Benchmark, TraceSafe
from trace.config.groups import Compare, Condition, Protocol, Sampling, Scoring, Task, Tracking
from trace.config.models import Engine, HfEngine, MockEngine, MockModel, Model
from trace.config.root import NO_EFFECT_ON_RESULT, Root, of_result, plain
from trace.config.store import register
from trace.config.typed import check_files, nearest, to_typed

__all__ = [
    "NO_EFFECT_ON_RESULT",
    "Benchmark",
    "Compare",
    "Condition",
    "Engine",
    "HfEngine",
    "MockEngine",
    "MockModel",
    "Model",
    "Protocol",
    "Root",
    "Sampling",
    "Scoring",
    "Task",
    "TraceSafe",
    "Tracking",
    "check_files",
    "nearest",
    "of_result",
    "plain",
    "register",
    "to_typed",
]
