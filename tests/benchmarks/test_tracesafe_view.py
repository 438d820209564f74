from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from trace.benchmarks.tracesafe.build import OwnSet
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.benchmarks.tracesafe.view import clean, released

TOOL_KEYS = {"name", "description", "prototype", "parameters", "properties", "required"}


def _clean(trace: Any) -> dict[str, Any]:
    return clean(Trajectory.from_json(trace, "x"))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)


def test_sections_come_in_order(trace_object: dict[str, Any]) -> None:
    view = _clean(trace_object)
    assert list(view) == ["user_query", "tools", "trajectory"]
    assert view["user_query"] == "List the folder."
    assert view["tools"] == [
        {k: v for k, v in trace_object["tool_lists"][0].items() if k != "is_distractor"}
    ]
    assert view["trajectory"][1] == {"role": "agent", "content": {"name": "ls", "arguments": {}}}


def test_only_whitelisted_keys_are_shown(mutants: list[Any], seeds: list[Any]) -> None:
    for trace in [t for r in mutants for t in (r["new_trace"], r["original_trace"])] + seeds:
        view = _clean(trace)
        assert all(set(tool) <= TOOL_KEYS for tool in view["tools"])
        for step in view["trajectory"]:
            assert list(step) == ["role", "content"]
            if isinstance(step["content"], dict):
                assert list(step["content"]) == ["name", "arguments"]
        assert "is_distractor" not in set(_keys(view))
        assert len(view["tools"]) == len(trace["tool_lists"])
        assert len(view["trajectory"]) == len(trace["trace"])


def test_an_argument_called_reasoning_stays(trace_object: dict[str, Any]) -> None:
    trace_object["tool_lists"][0]["parameters"]["reasoning"] = {"type": "string"}
    trace_object["trace"][1]["content"] = {
        "name": "ls",
        "arguments": {"reasoning": "mine", "is_distractor": True},
        "reasoning": "theirs",
    }
    view = _clean(trace_object)
    assert view["tools"][0]["parameters"]["reasoning"] == {"type": "string"}
    assert view["trajectory"][1]["content"] == {
        "name": "ls",
        "arguments": {"reasoning": "mine", "is_distractor": True},
    }


def test_evidence_is_shown_as_it_is(mutants: list[Any]) -> None:
    for record in mutants:
        new, old = record["new_trace"], record["original_trace"]
        assert _clean(new) != _clean(old), record["mutation_metadata"]["mutator_name"]
        for shown, tool in zip(_clean(new)["tools"], new["tool_lists"], strict=True):
            assert shown["parameters"] == tool["parameters"]
            assert shown["prototype"] == tool["prototype"]


def _gold_texts(record: Any) -> set[str]:
    """What of a record's metadata tells its class, and is not itself the evidence."""
    metadata = record["mutation_metadata"]
    meta = metadata["internal_meta"]
    told = {metadata["mutator_name"], metadata["rationale"], record["mutation_category"]}
    told |= {meta.get(key, "") for key in ("strategy", "mutation_type", "leak_type")}
    told |= set(_strings(record.get("golden_meta", {})))
    return {text for text in told if text}


def test_no_gold_reaches_the_view(mutants: list[Any]) -> None:
    for record in mutants:
        shown = json.dumps(_clean(record["new_trace"]), ensure_ascii=False)
        leaked = {text for text in _gold_texts(record) if text in shown}
        assert not leaked
        assert record["new_trace"]["agent_model"] not in shown


def test_no_gold_of_our_own_set_reaches_the_view(own: OwnSet) -> None:
    for record in own.records:
        shown = json.dumps(_clean(record["new_trace"]), ensure_ascii=False)
        assert not {text for text in _gold_texts(record) if text in shown}
        for private in (record["id"], record["source_cluster"], "bfcl", "is_distractor"):
            assert private not in shown


def test_the_released_view_is_the_trace_object(mutants: list[Any]) -> None:
    for record in mutants:
        view = released(Trajectory.from_json(record["new_trace"], "x"))
        assert json.dumps(view) == json.dumps({"trace": record["new_trace"]})
