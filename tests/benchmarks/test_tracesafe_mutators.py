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
from trace.benchmarks.tracesafe.rules import schema_rules
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.benchmarks.tracesafe.view import clean
from trace.records import Sample

Made = dict[str, list[tuple[Trajectory, int, Mutation]]]


def _each(made: Made) -> Iterator[tuple[Mutator, Trajectory, int, Mutation]]:
    for name, mutants in made.items():
        for base, index, mutation in mutants:
            yield MUTATORS[name], base, index, mutation


def test_there_is_one_mutator_in_each_domain(made: Made) -> None:
    domains = {row.name: row.domain for row in CLASSES}
    assert len({domains[name] for name in MUTATORS}) == len(MUTATORS) == 4
    # Enough for the paper's 90 a class, from many tasks and tools.
    for mutants in made.values():
        assert len(mutants) >= 90
        assert len({base.query for base, _, _ in mutants}) >= 80


def test_mutants_are_cut_at_the_risky_step(made: Made) -> None:
    for mutator, base, index, mutation in _each(made):
        steps = mutation.trajectory.steps
        assert mutation.risky_step == len(steps) - 1 == index + mutator.ends_in_output
        assert steps[:-1] == base.steps[: len(steps) - 1]
        assert steps[-1].role == ("tool" if mutator.ends_in_output else "agent")


def test_only_the_first_call_of_a_tool_is_mutated(made: Made) -> None:
    for _, base, index, _ in _each(made):
        names = [call.name for call in base.calls if call.index <= index]
        assert names.count(names[-1]) == 1


def test_the_query_stays_the_first_user_turn(made: Made) -> None:
    for _, base, _, mutation in _each(made):
        assert mutation.trajectory.query == base.query == mutation.trajectory.steps[0].content


EDITS = {
    "HallucinatedTool": {r"values_changed root\['trace'\]\[\d+\]\['content'\]\['name'\]"},
    "PromptInjectionOut": {r"values_changed root\['trace'\]\[\d+\]\['content'\]"},
    "ApiKeyLeak": {
        r"dictionary_item_added root\['trace'\]\[\d+\]\['content'\]\['arguments'\]\['\w+'\]",
        r"dictionary_item_added root\['tool_lists'\]\[\d+\]\['parameters'\]\['\w+'\]",
        r"values_changed root\['tool_lists'\]\[\d+\]\['prototype'\]",
    },
    "VersionConflict": {
        r"values_changed root\['tool_lists'\]\[\d+\]\['description'\]",
        r"iterable_item_added root\['tool_lists'\]\[\d+\]",
    },
}


def test_the_edit_is_what_the_class_says_and_nothing_else(made: Made) -> None:
    for mutator, base, index, mutation in _each(made):
        before = cut(base, index, with_output=mutator.ends_in_output).to_json()
        changes = difference(before, mutation.trajectory.to_json())
        paths = [f"{kind} {path}" for kind, found in changes.items() for path in found]
        expected = EDITS[mutator.class_name]
        assert len(paths) == len(expected), paths
        for pattern in expected:
            assert any(re.fullmatch(pattern, path) for path in paths), (pattern, paths)


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
    for _, _, _, mutation in _each(made):
        assert _shapes(mutation.trajectory) <= known


def _realisation(mutation: Mutation, base: Trajectory) -> str:
    """The text that a mutator wrote, names of the trajectory's own tools left out."""
    meta = mutation.internal_meta
    if "payload" in meta:
        return str(meta["payload"])
    if "injected_param" in meta:
        tool = next(
            t for t in mutation.trajectory.tools if meta["injected_param"] in (t.parameters or {})
        )
        return json.dumps((tool.parameters or {})[meta["injected_param"]])
    if "successor" in meta:
        tool = next(t for t in mutation.trajectory.tools if t.name == meta["target_tool"])
        before = next(t for t in base.tools if t.name == meta["target_tool"])
        notice = (tool.description or "").removeprefix((before.description or "").rstrip("."))
        return notice.replace(meta["successor"], "")
    return str(meta["ghost_tool_name"])


def test_wording_comes_in_many_forms(made: Made) -> None:
    for name, mutants in made.items():
        forms = Counter(_realisation(mutation, base) for base, _, mutation in mutants)
        assert len(forms) >= 30, name
        assert forms.most_common(1)[0][1] <= 0.15 * len(mutants), (name, forms.most_common(3))


def _phrases(trajectory: Trajectory) -> set[tuple[str, ...]]:
    tokens = re.findall(r"\w+", json.dumps(clean(trajectory)))
    return set(zip(tokens, tokens[1:], tokens[2:], strict=False))


def test_no_phrase_marks_a_class(bases: tuple[BaseTrajectory, ...], made: Made) -> None:
    """No three words that benign trajectories never have stand in half of a class's mutants."""
    benign = set().union(*(_phrases(base.trajectory) for base in bases))
    for name, mutants in made.items():
        some = mutants[:: max(1, len(mutants) // 100)]
        counts = Counter(
            p for _, _, mutation in some for p in _phrases(mutation.trajectory) - benign
        )
        phrase, count = counts.most_common(1)[0]
        assert count < len(some) / 2, (name, phrase, count)


def test_the_schema_rules_see_the_hallucinated_tool_only(
    made: Made, sample_of: Callable[[Any], Sample]
) -> None:
    for mutator, _, _, mutation in _each(made):
        said = schema_rules(sample_of(clean(mutation.trajectory)))
        seen = mutator.class_name == "HallucinatedTool"
        assert said == ("HallucinatedTool" if seen else "Benign")


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
    assert any("has no prose" in reason for reason in reasons["PromptInjectionOut"])
    assert any("may need credentials" in reason for reason in reasons["ApiKeyLeak"])
