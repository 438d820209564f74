"""Prompts that a judge cannot tell apart, and what that leaves to be reached."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.conftest import MUTANTS as FILES
from trace.benchmarks.released_files import RawRecord
from trace.benchmarks.tracesafe import released
from trace.benchmarks.tracesafe.audit.visibility import PROTOCOLS, certificate, twin
from trace.benchmarks.tracesafe.names import CLASSES
from trace.benchmarks.tracesafe.released import MutationRecord

IN_THE_TOOL_LIST = {"PromptInjectionIn", "AmbiguousArg", "MissingTypeHint", "VersionConflict"}
"""The classes that the released mutators make without touching query or trace."""


@pytest.fixture(scope="module")
def records(released_data: Path) -> list[MutationRecord]:
    return [r for name in FILES for r in released.read(released_data / name).records]


def test_without_tools_four_released_classes_cannot_be_seen(
    records: list[MutationRecord],
) -> None:
    found = certificate(records, "clean")
    for name, row in found["classes"].items():
        expected = row["n"] if name in IN_THE_TOOL_LIST else 0
        for protocol, how in PROTOCOLS.items():
            assert row["equal"][protocol] == (0 if how.tools else expected), (name, protocol)
    hidden = sum(record.class_.name in IN_THE_TOOL_LIST for record in records)
    assert found["best"]["binary without tools"] == pytest.approx(1 - hidden / 68 / 2)
    assert found["best"]["fine"] == 1
    assert len(found["ids"]["binary without tools"]) == hidden == 24


def test_the_bound_over_twelve_classes_of_one_size_is_that_of_the_released_set(
    records: list[MutationRecord], mutants: list[Any]
) -> None:
    one_each = {record.class_.name: record for record in records}
    stand_in = copy.deepcopy(next(m for m in mutants if _name(m) == "UserInfoLeak"))
    stand_in["mutation_metadata"]["mutator_name"] = "ApiKeyLeak"  # the samples have none
    leak = released.parse(RawRecord(value=stand_in, stem="", place="test"))
    twelve = [*one_each.values(), leak]
    assert len(twelve) == len(CLASSES)
    best = certificate(twelve, "clean")["best"]["binary without tools"]
    assert best == pytest.approx(0.833, abs=0.0005)


def _name(mutant: dict[str, Any]) -> str:
    return str(mutant["mutation_metadata"]["mutator_name"])


def test_the_whole_trace_object_shows_the_tools_in_any_case(
    records: list[MutationRecord],
) -> None:
    found = certificate(records, "released")
    assert found["best"]["binary without tools"] == 1


def test_the_twin_ends_where_the_mutant_does(record: dict[str, Any]) -> None:
    output = {"role": "tool", "content": "{}"}
    record["original_trace"]["trace"].append(output)
    mutant = released.parse(RawRecord(value=record, stem="", place="test"))
    assert len(twin(mutant).steps) == len(mutant.trajectory.steps) == 2


def test_no_mutants_no_bound() -> None:
    assert set(certificate([], "clean")["best"].values()) == {None}
