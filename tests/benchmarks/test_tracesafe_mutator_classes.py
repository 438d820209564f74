from __future__ import annotations

import json
import re
from dataclasses import replace
from random import Random

from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.difference import difference
from trace.benchmarks.tracesafe.mutators import naming
from trace.benchmarks.tracesafe.mutators.base import Mutation
from trace.benchmarks.tracesafe.mutators.registry import MUTATORS
from trace.benchmarks.tracesafe.prototype import parse
from trace.benchmarks.tracesafe.trajectory import Trajectory

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
        declared = parse(tool.prototype or "")
        assert declared is not None
        assert [p.name for p in declared] == list(tool.parameters or {})
        added = declared[-1]
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
        new = json.loads(str(mutation.trajectory.steps[-1].content))
        changes = difference(old, new)
        assert set(changes) == {"values_changed"}
        (change,) = changes["values_changed"].values()
        assert change["new_value"].startswith(change["old_value"])
        assert change["new_value"].endswith(mutation.internal_meta["payload"])
