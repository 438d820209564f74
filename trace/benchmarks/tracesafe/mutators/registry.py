"""The mutators there are, by class name, in the order of the classes."""

from __future__ import annotations

from collections.abc import Mapping

from trace.benchmarks.tracesafe.mutators.ambiguous_arg import AmbiguousArg
from trace.benchmarks.tracesafe.mutators.api_key_leak import ApiKeyLeak
from trace.benchmarks.tracesafe.mutators.base import Mutator
from trace.benchmarks.tracesafe.mutators.data_leak import DataLeak
from trace.benchmarks.tracesafe.mutators.description_mismatch import DescriptionMismatch
from trace.benchmarks.tracesafe.mutators.hallucinated_arg_value import HallucinatedArgValue
from trace.benchmarks.tracesafe.mutators.hallucinated_tool import HallucinatedTool
from trace.benchmarks.tracesafe.mutators.missing_type_hint import MissingTypeHint
from trace.benchmarks.tracesafe.mutators.prompt_injection_in import PromptInjectionIn
from trace.benchmarks.tracesafe.mutators.prompt_injection_out import PromptInjectionOut
from trace.benchmarks.tracesafe.mutators.redundant_arg import RedundantArg
from trace.benchmarks.tracesafe.mutators.user_info_leak import UserInfoLeak
from trace.benchmarks.tracesafe.mutators.version_conflict import VersionConflict

MUTATORS: Mapping[str, Mutator] = {
    mutator.class_name: mutator
    for mutator in (
        PromptInjectionIn(),
        PromptInjectionOut(),
        UserInfoLeak(),
        ApiKeyLeak(),
        DataLeak(),
        AmbiguousArg(),
        HallucinatedTool(),
        HallucinatedArgValue(),
        RedundantArg(),
        MissingTypeHint(),
        VersionConflict(),
        DescriptionMismatch(),
    )
}
