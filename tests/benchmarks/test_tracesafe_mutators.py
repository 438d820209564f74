from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.difference import difference
from trace.benchmarks.tracesafe.mutators.base import Mutation, Mutator, cut
from trace.benchmarks.tracesafe.mutators.registry import MUTATORS
from trace.benchmarks.tracesafe.names import CLASSES
from trace.benchmarks.tracesafe.prototype import parse
from trace.benchmarks.tracesafe.rules import schema_rules
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.benchmarks.tracesafe.view import clean
from trace.records import Sample

Made = dict[str, list[tuple[Trajectory, int, Mutation]]]


def _each(made: Made) -> Iterator[tuple[Mutator, Trajectory, int, Mutation]]:
    for name, mutants in made.items():
        for base, index, mutation in mutants:
            yield MUTATORS[name], base, index, mutation


def test_there_is_a_mutator_of_every_class(made: Made) -> None:
    assert list(MUTATORS) == [row.name for row in CLASSES]
    # Enough for the paper's 90 a class, from many tasks and tools.
    for mutants in made.values():
        assert len(mutants) >= 90
        assert len({base.query for base, _, _ in mutants}) >= 80


def test_mutants_are_cut_at_the_risky_step(made: Made) -> None:
    for mutator, base, index, mutation in _each(made):
        steps = mutation.trajectory.steps
        assert steps[-1].role == "agent"
        if mutator.ends_at_next_call:  # the output is risky, and the next call is what is asked
            assert mutation.risky_step == index + 1
            assert [step.role for step in steps[index + 2 :]] in (["agent"], ["user", "agent"])
        else:
            assert mutation.risky_step == index == len(steps) - 1
        edited = {mutation.risky_step, mutation.internal_meta.get("edited_step")}
        for i, step in enumerate(steps):
            assert i in edited or step == base.steps[i]


def test_only_the_first_call_of_a_tool_is_mutated(made: Made) -> None:
    for _, base, index, _ in _each(made):
        names = [call.name for call in base.calls if call.index <= index]
        assert names.count(names[-1]) == 1


def test_the_query_stays_the_first_user_turn(made: Made) -> None:
    for mutator, base, _, mutation in _each(made):
        assert mutation.trajectory.query == mutation.trajectory.steps[0].content
        if mutator.class_name != "HallucinatedArgValue":
            assert mutation.trajectory.query == base.query


_CALL = r"root\['trace'\]\[\d+\]\['content'\]"
_TOOL = r"root\['tool_lists'\]\[\d+\]"
_BAIT = [
    {
        rf"dictionary_item_added {_CALL}\['arguments'\]\['\w+'\]",
        rf"dictionary_item_added {_TOOL}\['parameters'\]\['\w+'\]",
        rf"values_changed {_TOOL}\['prototype'\]",
    }
]
_DESCRIPTION = rf"values_changed {_TOOL}\['description'\]"
_PARAMETER = rf"values_changed {_TOOL}\['parameters'\]\['\w+'\]\['description'\]"
_RENAMED = {
    rf"dictionary_item_removed {_CALL}\['arguments'\]\['\w+'\]",
    rf"dictionary_item_added {_CALL}\['arguments'\]\['\w+'\]",
    rf"dictionary_item_removed {_TOOL}\['parameters'\]\['\w+'\]",
    rf"dictionary_item_added {_TOOL}\['parameters'\]\['\w+'\]",
    rf"values_changed {_TOOL}\['prototype'\]",
}
_TURN = r"values_changed root\['trace'\]\[\d+\]\['content'\]"
# For each class the sets of changes that a mutant may have; each pattern matches exactly once.
EDITS: dict[str, list[set[str]]] = {
    "PromptInjectionIn": [{_DESCRIPTION}],
    "PromptInjectionOut": [{_TURN}],
    "UserInfoLeak": _BAIT,
    "ApiKeyLeak": _BAIT,
    "DataLeak": _BAIT,
    "AmbiguousArg": [
        {_PARAMETER},
        {_PARAMETER, _DESCRIPTION},
        _RENAMED,
        _RENAMED | {_DESCRIPTION},
    ],
    "HallucinatedTool": [{rf"values_changed {_CALL}\['name'\]"}],
    "HallucinatedArgValue": [{_TURN}, {_TURN, r"values_changed root\['user_query'\]"}],
    "RedundantArg": [{rf"dictionary_item_added {_CALL}\['arguments'\]\['\w+'\]"}],
    "MissingTypeHint": [
        {
            rf"dictionary_item_removed {_TOOL}\['parameters'\]\['\w+'\]\['type'\]",
            rf"values_changed {_TOOL}\['prototype'\]",
        }
    ],
    "VersionConflict": [{_DESCRIPTION, rf"iterable_item_added {_TOOL}"}],
    "DescriptionMismatch": [{_DESCRIPTION}],
}


def _matches(paths: list[str], patterns: set[str]) -> bool:
    return len(paths) == len(patterns) and all(
        sum(bool(re.fullmatch(pattern, path)) for path in paths) == 1 for pattern in patterns
    )


def test_the_edit_is_what_the_class_says_and_nothing_else(made: Made) -> None:
    for mutator, base, index, mutation in _each(made):
        before = cut(base, mutator.end(base, index)).to_json()
        changes = difference(before, mutation.trajectory.to_json())
        paths = [f"{kind} {path}" for kind, found in changes.items() for path in found]
        assert any(_matches(paths, patterns) for patterns in EDITS[mutator.class_name]), paths


def test_the_edited_schema_stays_valid(made: Made) -> None:
    """Flat parameters, as many as the prototype has; a call gives all that are required."""
    for mutator, _, _, mutation in _each(made):
        tools = {tool.name: tool for tool in mutation.trajectory.tools}
        assert len(tools) == len(mutation.trajectory.tools)
        for tool in tools.values():
            declared = parse(tool.prototype or "")
            assert declared is not None
            assert [p.name for p in declared] == list(tool.parameters or {})
            assert (tool.prototype or "").startswith(f"def {tool.name}(")
            assert all(isinstance(schema, dict) for schema in (tool.parameters or {}).values())
            required = [p.required for p in declared]
            assert required == sorted(required, reverse=True)
        risky = next(c for c in mutation.trajectory.calls if c.index >= mutation.risky_step - 1)
        if mutator.class_name not in ("HallucinatedTool", "RedundantArg"):
            declared = parse(tools[risky.name].prototype or "") or ()
            assert risky.arguments.keys() <= {p.name for p in declared}


def test_base_trajectories_are_not_touched(bases: tuple[BaseTrajectory, ...]) -> None:
    for mutator in MUTATORS.values():
        for base in bases[::10]:
            before = json.dumps(base.trajectory.to_json())
            for call in base.trajectory.calls:
                if mutator.check(base.trajectory, call.index) is None:
                    mutator.mutate(base.trajectory, call.index, Random(0))
            assert json.dumps(base.trajectory.to_json()) == before


def test_a_mutant_is_a_function_of_place_and_random_state(
    bases: tuple[BaseTrajectory, ...], made: Made
) -> None:
    for mutator, base, index, mutation in _each(made):
        task = next(b for b in bases if b.trajectory is base)
        assert mutator.mutate(base, index, Random(f"{task.task} {index}")) == mutation


def _shapes(trajectory: Trajectory) -> set[tuple[str, ...]]:
    """The key sets of tools, parameters and steps."""
    out = {("tool", *sorted(tool.to_json())) for tool in trajectory.tools}
    out |= {
        ("parameter", *sorted(schema))
        for tool in trajectory.tools
        for schema in (tool.parameters or {}).values()
    }
    for step in trajectory.steps:
        out.add(("step", *sorted(step.to_json())))
        if not isinstance(step.content, str):
            out.add(("call", *sorted(step.content)))
    return out


def test_no_key_is_only_in_mutants(bases: tuple[BaseTrajectory, ...], made: Made) -> None:
    known = set().union(*(_shapes(base.trajectory) for base in bases))
    for mutator, _, _, mutation in _each(made):
        new = _shapes(mutation.trajectory) - known
        # A parameter without a type is the very fault of its class.
        untyped = {("parameter", "description")}
        assert new == (untyped if mutator.class_name == "MissingTypeHint" else set())


def _realisation(mutation: Mutation, before: Trajectory) -> str:
    """What a mutator wrote: the new values, and the names of what it added."""
    changes = difference(before.to_json(), mutation.trajectory.to_json())
    new = [c["new_value"] for c in changes.get("values_changed", {}).values()]
    named = [path.rpartition("[")[2] for path in changes.get("dictionary_item_added", ())]
    return json.dumps([new, named, [*changes.get("iterable_item_added", {}).values()]])


def test_wording_comes_in_many_forms(made: Made) -> None:
    for name, mutants in made.items():
        some = mutants[:: max(1, len(mutants) // 200)]
        forms = Counter(
            _realisation(mutation, cut(base, MUTATORS[name].end(base, index)))
            for base, index, mutation in some
        )
        assert len(forms) >= 30, name
        assert forms.most_common(1)[0][1] <= 0.15 * len(some), (name, forms.most_common(3))


def _phrases(trajectory: Trajectory) -> set[tuple[str, ...]]:
    tokens = re.findall(r"\w+", json.dumps(clean(trajectory)))
    return set(zip(tokens, tokens[1:], tokens[2:], strict=False))


def test_no_phrase_marks_a_class(bases: tuple[BaseTrajectory, ...], made: Made) -> None:
    """No three words that benign trajectories never have stand in 40% of a class's mutants."""
    benign = set().union(*(_phrases(base.trajectory) for base in bases))
    for name, mutants in made.items():
        some = mutants[:: max(1, len(mutants) // 100)]
        counts = Counter(
            p for _, _, mutation in some for p in _phrases(mutation.trajectory) - benign
        )
        phrase, count = counts.most_common(1)[0]
        assert count <= 0.4 * len(some), (name, phrase, count)


def test_the_schema_rules_see_what_breaks_a_schema_only(
    made: Made, sample_of: Callable[[Any], Sample]
) -> None:
    for name, mutants in made.items():
        for _, _, mutation in mutants[::7]:
            said = schema_rules(sample_of(clean(mutation.trajectory)))
            assert said == (name if name in ("HallucinatedTool", "RedundantArg") else "Benign")


def test_places_that_cannot_be_mutated_say_why(bases: tuple[BaseTrajectory, ...]) -> None:
    trajectory = bases[0].trajectory
    for mutator in MUTATORS.values():
        assert mutator.check(trajectory, 0) == "step 0 is not a call"
        assert mutator.check(trajectory, 999) == "step 999 is not a call"
        with pytest.raises(ValueError, match="step 0 is not a call"):
            mutator.mutate(trajectory, 0, Random(0))
    again = [call for call in trajectory.calls if call.name == "cd"][1]
    assert MUTATORS["HallucinatedTool"].check(trajectory, again.index) == "cd was called before"
    reasons = {
        mutator.class_name: {
            re.sub(r"\b(of|call of) \w+", "of X", reason or "")
            for base in bases
            for call in base.trajectory.calls
            if (reason := mutator.check(base.trajectory, call.index))
        }
        for mutator in MUTATORS.values()
    }
    assert any("has no text" in reason for reason in reasons["PromptInjectionOut"])
    assert any("may need credentials" in reason for reason in reasons["ApiKeyLeak"])
