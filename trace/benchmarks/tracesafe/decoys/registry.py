"""The kinds of decoys, by name. Each twins the class of mutants that its `class_name` says."""

from __future__ import annotations

from collections.abc import Mapping

from trace.benchmarks.tracesafe.decoys.found import (
    NeededCredential,
    NeededPersonalData,
    ReadValue,
    RequestedReport,
)
from trace.benchmarks.tracesafe.decoys.schemas import (
    DeclaredArg,
    RenamedTool,
    SecondVersion,
    UncalledAmbiguous,
    UncalledDeprecated,
    UncalledUntyped,
)
from trace.benchmarks.tracesafe.decoys.texts import DescribedNotice, ReturnedNotice, RightExample
from trace.benchmarks.tracesafe.mutators.base import Mutator

DECOYS: Mapping[str, Mutator] = {
    "needed_credential": NeededCredential(),
    "returned_notice": ReturnedNotice(),
    "second_version": SecondVersion(),
    "uncalled_deprecated": UncalledDeprecated(),
    "needed_personal_data": NeededPersonalData(),
    "declared_arg": DeclaredArg(),
    "described_notice": DescribedNotice(),
    "read_value": ReadValue(),
    "uncalled_untyped": UncalledUntyped(),
    "renamed_tool": RenamedTool(),
    "requested_report": RequestedReport(),
    "uncalled_ambiguous": UncalledAmbiguous(),
    "right_example": RightExample(),
}
