"""Calls against schemas: the figures measured on the released trajectories, and planted faults."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from trace.benchmarks.released_files import RawRecord
from trace.benchmarks.tracesafe import released
from trace.benchmarks.tracesafe.audit.validity import KINDS, faults, summary
from trace.benchmarks.tracesafe.trajectory import Trajectory


def test_the_figures_of_the_199_released_base_trajectories(released_data: Path) -> None:
    # Measured independently of this code: 495 arguments of 136 trajectories have another type
    # than the listed schema says, and 12 calls name a tool that nothing introduced.
    mismatches = []
    unlisted = 0
    for record in released.read(released_data / "seeds_qwen.jsonl").records:
        listed = {tool.name for tool in record.trajectory.tools}
        found = faults(record.trajectory)
        unlisted += sum(fault.kind == "unlisted" for fault in found)
        mismatches.append(
            sum(f.kind in ("type", "stringified") and f.tool in listed for f in found)
        )
    assert sum(mismatches) == 495
    assert sum(n > 0 for n in mismatches) == 136
    assert unlisted == 12


def test_originals_of_the_golden_sample_are_nearly_clean(released_data: Path) -> None:
    records = released.read(released_data / "golden_sample.jsonl").records
    found = summary(records)
    assert found["originals"]["any"] == found["originals"]["stringified"] == 1
    assert found["n"] == 32
    assert found["records"]["unlisted"] == 8  # every HallucinatedTool, and nothing else
    assert found["records"]["undeclared"] == 8  # every RedundantArg


@pytest.fixture
def trajectory(trace_object: dict[str, Any]) -> dict[str, Any]:
    trace_object["tool_lists"][0] |= {
        "prototype": "def ls(path: string, a: boolean = False, n: float = 1.0) -> Any: pass",
        "parameters": {
            "path": {"type": "string"},
            "a": {"type": "boolean"},
            "n": {"type": "float"},
        },
    }
    return trace_object


def kinds(value: dict[str, Any], name: str, arguments: dict[str, Any]) -> list[str]:
    value["trace"][1]["content"] = {"name": name, "arguments": arguments}
    return [fault.kind for fault in faults(Trajectory.from_json(value, "test"))]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "/"}, []),
        ({"path": "/", "a": True, "n": 2}, []),  # an integer is a float
        ({"path": "/", "a": None}, []),
        ({}, ["missing"]),
        ({"path": "/", "colour": "red"}, ["undeclared"]),
        ({"path": 3}, ["type"]),
        ({"path": ["/"]}, ["type"]),
        ({"path": "/", "n": "2.5"}, ["stringified"]),
        ({"path": "/", "n": True}, ["type"]),  # a truth value is no number
        ({"path": "/", "a": 1}, ["type"]),
        ({"colour": "red"}, ["undeclared", "missing"]),
    ],
)
def test_planted_faults(
    trajectory: dict[str, Any], arguments: dict[str, Any], expected: list[str]
) -> None:
    assert kinds(trajectory, "ls", arguments) == expected
    assert set(expected) <= set(KINDS)


def test_an_unlisted_tool_is_one_fault(trajectory: dict[str, Any]) -> None:
    assert kinds(trajectory, "dir", {"x": 1}) == ["unlisted"]


def test_a_tool_that_a_later_turn_introduces_is_listed_from_there_on(
    trajectory: dict[str, Any],
) -> None:
    call = {"role": "agent", "content": {"name": "dir", "arguments": {"x": "1"}}}
    doc = {
        "name": "dir",
        "description": "List.",
        "parameters": {"properties": {"x": {"type": "string"}}, "required": ["x"]},
    }
    turn = {"role": "user", "content": f"{[doc]} I have updated some more functions."}
    trajectory["trace"] = [trajectory["trace"][0], call, turn, call]
    found = faults(Trajectory.from_json(trajectory, "test"))
    assert [(fault.kind, fault.index) for fault in found] == [("unlisted", 1)]


def test_of_two_entries_of_a_name_one_that_fits_is_enough(trajectory: dict[str, Any]) -> None:
    other = {"name": "ls", "prototype": "def ls(q: integer) -> Any: pass"}
    trajectory["tool_lists"].append(other | {"parameters": {"q": {"type": "integer"}}})
    assert kinds(trajectory, "ls", {"q": 1}) == []


def test_only_kinds_that_the_original_lacks_are_new(record: dict[str, Any]) -> None:
    mutant = released.parse(RawRecord(value=record, stem="", place="test"))
    found = summary([mutant])
    assert (found["new"], found["records"]["unlisted"], found["originals"]["any"]) == (1, 1, 0)
    assert found["ids"] == {"unlisted": [mutant.id]}
    assert Counter(found["originals"]) == Counter(dict.fromkeys(("any", *KINDS), 0))
