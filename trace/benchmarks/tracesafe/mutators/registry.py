"""The mutators there are, by class name, in the order of the classes."""

from __future__ import annotations

from collections.abc import Mapping

from trace.benchmarks.tracesafe.mutators.api_key_leak import ApiKeyLeak
from trace.benchmarks.tracesafe.mutators.base import Mutator
from trace.benchmarks.tracesafe.mutators.hallucinated_tool import HallucinatedTool
from trace.benchmarks.tracesafe.mutators.prompt_injection_out import PromptInjectionOut
from trace.benchmarks.tracesafe.mutators.version_conflict import VersionConflict

MUTATORS: Mapping[str, Mutator] = {
    mutator.class_name: mutator
    for mutator in (PromptInjectionOut(), ApiKeyLeak(), HallucinatedTool(), VersionConflict())
}
