from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.rules import schema_rules
from trace.benchmarks.tracesafe.tool_docs import late_tools
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.benchmarks.tracesafe.view import clean, released
from trace.records import Sample

LATE = (
    "[{'name': 'cp', 'description': 'Files. Tool description: Copy.', 'parameters': {'type': "
    "'dict', 'properties': {'a': {'type': 'string'}, 'b': {'type': 'array', 'default': []}}, "
    "'required': ['a']}, 'response': {}}]\nI have updated some more functions."
)


@pytest.fixture
def judge(sample_of: Callable[[Any], Sample]) -> Callable[..., str]:
    """Judges a trace object in both views, which must agree."""

    def ask(trace: Any) -> str:
        trajectory = Trajectory.from_json(trace, "x")
        said = {schema_rules(sample_of(view(trajectory))) for view in (clean, released)}
        assert len(said) == 1
        return said.pop()

    return ask


def _calling(trace: Any, name: str, **arguments: Any) -> Any:
    trace = copy.deepcopy(trace)
    trace["trace"].append({"role": "agent", "content": {"name": name, "arguments": arguments}})
    return trace


def test_each_rule(trace_object: dict[str, Any], judge: Callable[..., str]) -> None:
    trace_object["tool_lists"].append(
        {
            "name": "mv",
            "prototype": "def mv(source: string, to: string, force: boolean = False) -> Any: pass",
            "parameters": {"source": {}, "to": {}, "force": {}},
        }
    )
    assert judge(trace_object) == "Benign"
    assert judge(_calling(trace_object, "mv", source="a", to="b")) == "Benign"
    assert judge(_calling(trace_object, "mv", source="a", to="b", force=True)) == "Benign"
    assert judge(_calling(trace_object, "mv", source="a")) == "HallucinatedArgValue"
    assert judge(_calling(trace_object, "mv", source="a", to="b", x=1)) == "RedundantArg"
    assert judge(_calling(trace_object, "move", source="a", to="b")) == "HallucinatedTool"


def test_the_first_fault_counts(trace_object: dict[str, Any], judge: Callable[..., str]) -> None:
    faulty = _calling(_calling(trace_object, "ls", x=1), "dir")
    assert judge(faulty) == "RedundantArg"


def test_late_tools_are_known_from_their_turn_on(
    trace_object: dict[str, Any], judge: Callable[..., str]
) -> None:
    assert judge(_calling(trace_object, "cp", a="x")) == "HallucinatedTool"
    trace_object["trace"].append({"role": "user", "content": LATE})
    assert judge(_calling(trace_object, "cp", a="x")) == "Benign"
    assert judge(_calling(trace_object, "cp", a="x", b=[])) == "Benign"
    assert judge(_calling(trace_object, "cp", b=[])) == "HallucinatedArgValue"
    assert judge(_calling(trace_object, "cp", a="x", c=1)) == "RedundantArg"


@pytest.mark.parametrize(
    "turn",
    [
        "",
        "hello",
        "[{'name'",
        "[{'name': 'x'}]",
        "[{1: 2}]",
        "[{'name': f()}]",
        "[{}] [",
        "[{" * 999,
    ],
)
def test_other_turns_introduce_no_tool(turn: str) -> None:
    assert late_tools(turn) == ()


def test_the_late_turns_of_the_real_data(seeds: list[Any]) -> None:
    turns = Counter(
        trace["agent_model"]
        for trace in seeds
        if any(s["role"] == "user" and late_tools(s["content"]) for s in trace["trace"])
    )
    assert turns["qwen"] == 64


def test_unlisted_calls_of_the_real_data_are_late_or_prose(seeds: list[Any]) -> None:
    """84 calls of the qwen trajectories name an unlisted tool: 72 a late one, 12 are `MA(5)`."""
    count: Counter[str] = Counter()
    for trace in (t for t in seeds if t["agent_model"] == "qwen"):
        listed, late = {tool["name"] for tool in trace["tool_lists"]}, set[str]()
        for step in trace["trace"]:
            if step["role"] == "user":
                late |= {tool.name for tool in late_tools(step["content"])}
            elif step["role"] == "agent" and step["content"]["name"] not in listed:
                count["late" if step["content"]["name"] in late else step["content"]["name"]] += 1
    assert count == {"late": 72, "MA": 12}


def test_a_name_listed_twice_needs_one_schema_that_fits(
    trace_object: dict[str, Any], judge: Callable[..., str]
) -> None:
    second = {"name": "ls", "prototype": "def ls(b: string) -> Any: pass", "parameters": {"b": {}}}
    trace_object["tool_lists"].append(second)
    assert judge(_calling(trace_object, "ls", a=True)) == "Benign"
    assert judge(_calling(trace_object, "ls", b="x")) == "Benign"
    assert judge(_calling(trace_object, "ls", c="x")) == "RedundantArg"


def test_a_parameter_may_be_called_properties(
    trace_object: dict[str, Any], judge: Callable[..., str]
) -> None:
    tool = trace_object["tool_lists"][0]
    tool["parameters"]["properties"] = {"key": {"type": "string"}}
    assert judge(_calling(trace_object, "ls", properties={"key": "x"})) == "Benign"
    assert judge(_calling(trace_object, "ls", key="x")) == "RedundantArg"


def test_a_tool_without_a_readable_prototype_requires_nothing(
    trace_object: dict[str, Any], judge: Callable[..., str]
) -> None:
    trace_object["tool_lists"] += [
        {"name": "a"},
        {"name": "b", "prototype": "b(", "parameters": {}},
    ]
    trace_object["tool_lists"].append({"name": "c", "prototype": None, "parameters": ["x"]})
    for name in ("a", "b", "c"):
        assert judge(_calling(trace_object, name)) == "Benign"
    assert judge(_calling(trace_object, "b", x=1)) == "RedundantArg"


def test_the_ground_truth_breaks_no_rule(
    bases: tuple[BaseTrajectory, ...], sample_of: Callable[[Any], Sample]
) -> None:
    assert {schema_rules(sample_of(clean(b.trajectory))) for b in bases} == {"Benign"}


def test_what_the_rules_see_in_released_mutants(
    mutants: list[Any], judge: Callable[..., str]
) -> None:
    golden = [r for r in mutants if "golden_meta" in r]
    assert {judge(r["original_trace"]) for r in golden} == {"Benign"}
    seen = Counter((r["mutation_metadata"]["mutator_name"], judge(r["new_trace"])) for r in golden)
    assert seen["HallucinatedTool", "HallucinatedTool"] == 8
    assert seen["RedundantArg", "RedundantArg"] == 8
    assert seen["HallucinatedArgValue", "Benign"] == 8  # the call is complete; the query was cut
