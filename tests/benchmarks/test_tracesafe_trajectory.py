from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from trace.benchmarks.tracesafe import prototype
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.benchmarks.tracesafe.view import clean
from trace.errors import DataError


def _traces(mutants: list[Any], seeds: list[Any]) -> list[Any]:
    return [t for r in mutants for t in (r["original_trace"], r["new_trace"])] + seeds


def test_real_traces_come_back_byte_for_byte(mutants: list[Any], seeds: list[Any]) -> None:
    traces = _traces(mutants, seeds)
    assert len(traces) == 2 * 68 + 219
    for trace in traces:
        assert json.dumps(Trajectory.from_json(trace, "x").to_json()) == json.dumps(trace)


def test_unknown_keys_are_kept(trace_object: dict[str, Any]) -> None:
    trace_object["colour"] = 1
    trace_object["tool_lists"][0]["required"] = ["a"]
    trace_object["trace"][1]["latency"] = 0.5
    trace_object["trace"][1]["content"]["reasoning"] = "because"
    assert Trajectory.from_json(trace_object, "x").to_json() == trace_object


def test_absent_optional_fields_stay_absent(trace_object: dict[str, Any]) -> None:
    for key in ("prototype", "description", "parameters", "is_distractor"):
        del trace_object["tool_lists"][0][key]
    assert Trajectory.from_json(trace_object, "x").to_json() == trace_object


def test_a_malformed_schema_is_evidence_not_an_error(trace_object: dict[str, Any]) -> None:
    trace_object["tool_lists"][0] |= {"parameters": ["a"], "prototype": None, "description": 3}
    trajectory = Trajectory.from_json(trace_object, "x")
    assert trajectory.to_json() == trace_object
    assert trajectory.tools[0].parameters is None
    assert {"parameters": ["a"], "prototype": None}.items() <= clean(trajectory)["tools"][0].items()


def test_calls_are_the_agent_steps_with_a_name(trace_object: dict[str, Any]) -> None:
    trace_object["trace"] += [
        {"role": "tool", "content": "None"},
        {"role": "agent", "content": "Can you say which folder?"},
        {"role": "agent", "content": {"name": "ls", "arguments": {"a": True}}},
    ]
    calls = Trajectory.from_json(trace_object, "x").calls
    assert [(c.index, c.name, c.arguments) for c in calls] == [
        (1, "ls", {}),
        (4, "ls", {"a": True}),
    ]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("user_query",), None, r"x\.user_query: should be text, is null"),
        (("tool_lists",), {}, r"x\.tool_lists: should be a list, is an object"),
        (("trace",), [], r"x\.trace: holds no step"),
        (("trace", 0), "hello", r"x\.trace\[0\]: a step should be an object, is text"),
        (("trace", 0, "role"), "system", r"x\.trace\[0\]\.role: 'system' is none of user, agent"),
        (
            ("trace", 0, "content"),
            {"a": 1},
            r"x\.trace\[0\]\.content: should be text, is an object",
        ),
        (("trace", 1, "content"), 7, r"x\.trace\[1\]\.content: should be text or a call, is 7"),
        (("trace", 1, "content"), {"name": "ls"}, r"content\.arguments: this required field"),
        (("tool_lists", 0, "name"), 3, r"x\.tool_lists\[0\]\.name: should be text, is 3"),
        (("tool_lists", 0), [], r"x\.tool_lists\[0\]: a tool should be an object, is a list"),
    ],
)
def test_a_wrong_field_is_named(
    trace_object: dict[str, Any], path: tuple[Any, ...], value: Any, said: str
) -> None:
    at: Any = trace_object
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(DataError, match=said):
        Trajectory.from_json(trace_object, "x")


@pytest.mark.parametrize("key", ["user_query", "tool_lists", "trace", "agent_model"])
def test_a_missing_field_is_named(trace_object: dict[str, Any], key: str) -> None:
    broken = copy.deepcopy(trace_object)
    del broken[key]
    with pytest.raises(DataError, match=rf"here\.{key}: this required field is missing"):
        Trajectory.from_json(broken, "here")


def test_real_prototypes_are_read_and_written_back(mutants: list[Any], seeds: list[Any]) -> None:
    prototypes = {
        (tool["name"], tool["prototype"])
        for trace in _traces(mutants, seeds)
        for tool in trace["tool_lists"]
    }
    assert len(prototypes) > 120
    unlike = set()
    for name, text in prototypes:
        parameters = prototype.parse(text)
        assert parameters is not None, text
        if prototype.render(name, parameters) != text:
            unlike.add((name.removesuffix("_v2"), text))
    # What the released mutators wrote: a copy under another name, and two without hints.
    stripped = {("ls", "def ls(a=False):"), ("retweet", "def retweet(tweet_id):")}
    assert stripped < unlike
    assert all(text.startswith(f"def {name}(") for name, text in unlike - stripped)


def test_requiredness_is_read_from_defaults() -> None:
    parameters = prototype.parse("def f(a: string, b: integer = 10, *, c: array = []) -> Any: pass")
    assert parameters is not None
    assert [(p.name, p.type, p.required) for p in parameters] == [
        ("a", "string", True),
        ("b", "integer", False),
        ("c", "array", False),
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def ls(a=False):", ["a"]),
        ("def retweet(tweet_id)", ["tweet_id"]),
        ("def f() -> Any: pass", []),
        ("not a prototype", None),
        ("def f(a: string", None),
        ("", None),
        ("def f(): pass; g()", []),
        ("x = 1", None),
        ("\x00", None),
    ],
)
def test_odd_prototypes(text: str, names: list[str] | None) -> None:
    parameters = prototype.parse(text)
    assert (parameters if parameters is None else [p.name for p in parameters]) == names
