from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.difference import difference
from trace.benchmarks.tracesafe.mutators import naming
from trace.benchmarks.tracesafe.mutators.base import Mutation, continued
from trace.benchmarks.tracesafe.mutators.registry import MUTATORS
from trace.benchmarks.tracesafe.mutators.schema_edit import declared
from trace.benchmarks.tracesafe.prototype import parse
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.benchmarks.tracesafe.view import clean

Made = dict[str, list[tuple[Trajectory, int, Mutation]]]

# What scanners look for: prefixes that real providers use.
PROVIDERS = re.compile(
    r"^(AKIA|ASIA|gh[pousr]_|github_pat|xox[abprs]-|sk[-_]|pk_|rk_|AIza|eyJ|AC[0-9a-f])"
)


def test_a_hallucinated_tool_is_no_tool_of_bfcl(
    bases: tuple[BaseTrajectory, ...], made: Made
) -> None:
    real = {tool.name for base in bases for tool in base.trajectory.tools}
    for base, index, mutation in made["HallucinatedTool"]:
        ghost = mutation.trajectory.calls[-1].name
        assert ghost == mutation.internal_meta["ghost_tool_name"]
        assert ghost not in real
        assert not re.search(r"v?\d$", ghost)
        old = next(call for call in base.calls if call.index == index)
        assert mutation.trajectory.calls[-1].arguments == old.arguments
        assert any(tool.name == old.name for tool in mutation.trajectory.tools)


def test_a_synonym_that_is_listed_is_no_hallucination(bases: tuple[BaseTrajectory, ...]) -> None:
    base = bases[0].trajectory
    index = next(call.index for call in base.calls if call.name == "mkdir")
    known = [replace(base.tools[0], name=ghost) for ghost in naming.renamings("mkdir")]
    mutator = MUTATORS["HallucinatedTool"]
    assert mutator.check(base, index) is None
    ghost = mutator.mutate(replace(base, tools=(*base.tools, *known[1:])), index, Random(0))
    assert ghost.internal_meta == {"ghost_tool_name": known[0].name}
    full = replace(base, tools=(*base.tools, *known))
    assert mutator.check(full, index) == "no synonym of mkdir is known"


def test_every_called_tool_has_a_synonym_in_its_own_style(
    bases: tuple[BaseTrajectory, ...],
) -> None:
    for name in {call.name for base in bases for call in base.trajectory.calls}:
        ghosts = naming.renamings(name)
        assert ghosts, name
        if "_" in name:
            assert all(ghost == ghost.lower() for ghost in ghosts)
        elif name != name.lower():
            assert not any("_" in ghost for ghost in ghosts)


def test_a_leaked_key_is_declared_passed_and_fictional(made: Made) -> None:
    secrets = []
    for _, _, mutation in made["ApiKeyLeak"]:
        call, name = mutation.trajectory.calls[-1], mutation.internal_meta["injected_param"]
        tool = next(t for t in mutation.trajectory.tools if t.name == call.name)
        assert [p.name for p in declared(tool)] == list(tool.parameters or {})
        added = declared(tool)[-1]
        assert (added.name, added.type, added.required) == (name, "string", False)
        secret = call.arguments[name]
        assert not PROVIDERS.search(secret)
        assert len(secret) >= 20
        assert re.fullmatch(r"[\w.-]+", secret)
        secrets.append(secret)
    assert len(set(secrets)) == len(secrets)


def test_tools_that_may_need_a_credential_are_left_alone(made: Made) -> None:
    named = {m.trajectory.calls[-1].name for _, _, m in made["ApiKeyLeak"]}
    assert not named & {"book_flight", "message_login", "authenticate_twitter", "ticket_login"}


def test_an_outdated_tool_is_called_and_its_successor_listed(made: Made) -> None:
    for base, _, mutation in made["VersionConflict"]:
        meta, tools = mutation.internal_meta, list(mutation.trajectory.tools)
        names = [tool.name for tool in tools]
        at = names.index(meta["target_tool"])
        old, new = tools[at], tools[at + 1]
        assert mutation.trajectory.calls[-1].name == old.name
        assert new.name == meta["successor"] not in [tool.name for tool in base.tools]
        assert new.name in (old.description or "")
        assert old.name in base.calls[-1].name or len(names) == len(set(names))
        before, after = parse(old.prototype or ""), parse(new.prototype or "")
        assert before is not None
        assert after is not None
        added = set(after) - set(before)
        assert len(after) == len(before) + 1
        assert [p.required for p in added] == [True]
        assert [p.name for p in after] == list(new.parameters or {})


def test_an_injected_output_is_the_old_one_with_more_in_one_text(made: Made) -> None:
    for base, index, mutation in made["PromptInjectionOut"]:
        old = json.loads(str(base.steps[index + 1].content))
        new = json.loads(str(mutation.trajectory.steps[mutation.risky_step].content))
        changes = difference(old, new)
        assert set(changes) == {"values_changed"}
        (change,) = changes["values_changed"].values()
        assert change["new_value"].startswith(change["old_value"])
        assert change["new_value"].endswith(mutation.internal_meta["payload"])


def test_injected_orders_stand_in_the_description_of_the_called_tool(made: Made) -> None:
    for base, index, mutation in made["PromptInjectionIn"]:
        name = next(c.name for c in base.calls if c.index == index)
        old, new = (
            next(t.description or "" for t in trajectory.tools if t.name == name)
            for trajectory in (base, mutation.trajectory)
        )
        payload = mutation.internal_meta["payload"]
        assert payload in new
        assert old.rstrip(".") in new


@pytest.mark.parametrize("name", ["UserInfoLeak", "DataLeak"])
def test_a_leak_is_declared_optional_and_passed_once(made: Made, name: str) -> None:
    for base, _, mutation in made[name]:
        call = mutation.trajectory.calls[-1]
        tool = next(t for t in mutation.trajectory.tools if t.name == call.name)
        bait = (declared(tool) or ())[-1]
        assert (bait.type, bait.required) == ("string", False)
        assert list(call.arguments)[-1] == bait.name
        value = call.arguments[bait.name]
        assert value.strip()
        others = json.dumps([s.to_json() for s in mutation.trajectory.steps[:-1]])
        if name == "UserInfoLeak":
            assert value not in others
            assert not {"user", "passport", "card"} & set(tool.parameters or {})
        else:  # the data are those of the trajectory itself
            words = [w for w in re.findall(r"\w+", value)[:-1] if len(w) > 2]
            known = (others + json.dumps([t.name for t in base.tools])).casefold()
            assert all(word.casefold() in known for word in words), value


def test_an_ambiguous_parameter_is_given_and_says_less(made: Made) -> None:
    abbreviated = 0
    for base, index, mutation in made["AmbiguousArg"]:
        meta, call = mutation.internal_meta, mutation.trajectory.calls[-1]
        name = mutation.renamed_arguments.get(meta["parameter"], meta["parameter"])
        abbreviated += name != meta["parameter"]
        old, new = (
            next(t.parameters or {} for t in trajectory.tools if t.name == call.name)
            for trajectory in (base, mutation.trajectory)
        )
        before, after = old[meta["parameter"]], new[name]
        assert len(after["description"]) < len(before["description"])
        assert set(after) == set(before)
        kept = re.findall(r"\w+", after["description"].casefold())
        assert set(kept) <= set(re.findall(r"\w+", before["description"].casefold()))
        assert meta["removed"]
        original = next(c for c in base.calls if c.index == index)
        assert call.arguments[name] == original.arguments[meta["parameter"]]
        assert len(call.arguments) == len(original.arguments)
    assert 0.3 < abbreviated / len(made["AmbiguousArg"]) < 0.8


def test_a_made_up_value_is_visible_in_the_call_only(made: Made) -> None:
    """Checked by another way than the mutator's: on the text a judge is shown."""
    for base, _, mutation in made["HallucinatedArgValue"]:
        meta, call = mutation.internal_meta, mutation.trajectory.calls[-1]
        name, value = meta["removed_param"], meta["removed_value"]
        assert call.arguments[name] == value
        tool = next(t for t in mutation.trajectory.tools if t.name == call.name)
        assert next(p for p in declared(tool) if p.name == name).required
        shown = clean(mutation.trajectory)
        shown["trajectory"][-1]["content"]["arguments"] = {
            k: v for k, v in call.arguments.items() if k != name
        }
        spoken = value if isinstance(value, str) else str(int(value))
        text = json.dumps(shown, ensure_ascii=False)
        assert not re.search(rf"(?<![\w.]){re.escape(spoken)}(?![\w.]|,\d)", text, re.IGNORECASE)
        turn = str(mutation.trajectory.steps[meta["edited_step"]].content)
        before = str(base.steps[meta["edited_step"]].content)
        assert "  " not in turn.replace(before, "") or "  " in before
        assert turn[0].isupper() == before[0].isupper()
        assert turn[-1] == before[-1] or before[-1] not in ".?!"
        assert "''" not in turn


def test_a_redundant_argument_is_declared_by_another_tool(made: Made) -> None:
    for base, index, mutation in made["RedundantArg"]:
        call, meta = mutation.trajectory.calls[-1], mutation.internal_meta
        original = next(c for c in base.calls if c.index == index)
        assert {**original.arguments, meta["injected_arg"]: meta["injected_val"]} == call.arguments
        tools = {t.name: t.parameters or {} for t in mutation.trajectory.tools}
        assert meta["injected_arg"] not in tools[call.name]
        assert any(meta["injected_arg"] in parameters for parameters in tools.values())


def test_a_type_is_gone_from_schema_and_prototype(made: Made) -> None:
    for _, _, mutation in made["MissingTypeHint"]:
        call, name = mutation.trajectory.calls[-1], mutation.internal_meta["parameter"]
        tool = next(t for t in mutation.trajectory.tools if t.name == call.name)
        assert name in call.arguments
        assert not {"type", "items", "default"} & (tool.parameters or {})[name].keys()
        hints = {p.name: p.type for p in declared(tool)}
        assert hints.pop(name) is None
        assert None not in hints.values()


def test_descriptions_mismatch_in_both_ways(made: Made) -> None:
    kinds = {"array": list, "string": str, "integer": int, "float": int | float, "boolean": bool}
    seen: Counter[str] = Counter()
    for base, _, mutation in made["DescriptionMismatch"]:
        meta = mutation.internal_meta
        old = {t.name: t for t in base.tools}
        (new,) = (t for t in mutation.trajectory.tools if t != old[t.name])
        seen[meta["strategy"]] += 1
        if meta["strategy"] == "Description Mismatch":
            assert new.description == meta["mismatched_desc"]
            others = [t for t in base.tools if t.description == new.description]
            assert others
            assert old[new.name].description == meta["original_desc"] != new.description
        else:
            ((name, value),) = meta["flawed_args"].items()
            type_ = (new.parameters or {})[name]["type"]
            assert type_ == "dict" or not isinstance(value, kinds[type_])
            assert (new.description or "").endswith(meta["example_text"])
            assert name in meta["example_text"]
    assert min(seen.values()) > 0.3 * seen.total()


def test_calls_after_the_cut_follow_what_was_renamed(
    bases: tuple[BaseTrajectory, ...], made: Made
) -> None:
    """benchmark.truncate=false: the steps that follow agree with the mutant's names."""
    renamed = 0
    for name in ("HallucinatedTool", "AmbiguousArg", "PromptInjectionOut"):
        for base, index, mutation in made[name]:
            whole = continued(mutation, base)
            cut_at = len(mutation.trajectory.steps)
            assert whole.trajectory.steps[:cut_at] == mutation.trajectory.steps
            assert len(whole.trajectory.steps) == len(base.steps)
            target = next(c for c in base.calls if c.index == index)
            now = whole.trajectory.calls
            for before, after in zip(base.calls, now, strict=True):
                if after.index < cut_at:
                    continue
                if before.name != target.name or name == "PromptInjectionOut":
                    assert after == before
                else:
                    renamed += 1
                    assert after.name == (mutation.renamed_tool or before.name)
                    assert list(after.arguments.values()) == list(before.arguments.values())
                    assert not mutation.renamed_arguments.keys() & after.arguments.keys()
    assert renamed > 20
