"""What a mutator is, and the place in a trajectory where it works."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import ClassVar

from trace.benchmarks.tracesafe.mutators.payload import Payload
from trace.benchmarks.tracesafe.tool_docs import late_tools
from trace.benchmarks.tracesafe.trajectory import Call, Step, Tool, Trajectory
from trace.records import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """A mutant, cut where a guard is asked; and what was done, for the record.

    `template` names the wording (or the place in a schema) that the mutant was made with: mutants
    that share it share their text. `renamed_tool` (its new name) and `renamed_arguments` (old ->
    new, of the mutated tool) are what calls after the cut must follow too. `payload` is what was
    written in words of ours, if anything was.
    """

    trajectory: Trajectory
    risky_step: int
    internal_meta: Mapping[str, Json]
    rationale: str
    template: str
    renamed_tool: str | None = None
    renamed_arguments: Mapping[str, str] = field(default_factory=dict)
    payload: Payload | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A call that can be mutated: the trajectory cut after it, the call, and its tool.

    `output` is the call's own output and `after` the steps from there to the next call, that one
    included; empty if there is none.
    """

    prefix: Trajectory
    call: Call
    tool: Tool
    output: str | None
    after: tuple[Step, ...]

    def with_call(self, name: str, arguments: Mapping[str, Json]) -> Trajectory:
        """The prefix with another name or other arguments in its last call."""
        last = self.prefix.steps[-1]
        content = {"name": name, "arguments": dict(arguments)}
        return replace(self.prefix, steps=(*self.prefix.steps[:-1], replace(last, content=content)))

    def with_tool(self, *entries: Tool) -> tuple[Tool, ...]:
        """The tool list with `entries` in the place of the called tool."""
        return tuple(
            entry
            for tool in self.prefix.tools
            for entry in (entries if tool is self.tool else (tool,))
        )


def cut(trajectory: Trajectory, end: int) -> Trajectory:
    """The trajectory up to the step at `end`, that one included."""
    return replace(trajectory, steps=trajectory.steps[: end + 1])


def next_call(trajectory: Trajectory, index: int) -> int | None:
    """The index of the first call after the step `index`; None if there is none."""
    return next((call.index for call in trajectory.calls if call.index > index), None)


def site(trajectory: Trajectory, index: int) -> Site | str:
    """The site at the step `index`, or why there is none.

    Only the first call of a tool is a site (arXiv 2604.07223, appendix I).
    """
    calls = trajectory.calls
    call = next((call for call in calls if call.index == index), None)
    if call is None:
        return f"step {index} is not a call"
    if any(other.name == call.name and other.index < index for other in calls):
        return f"{call.name} was called before"
    if unknown := _unknown(trajectory, index):
        return f"{unknown}, called before, is not listed"
    listed = [tool for tool in trajectory.tools if tool.name == call.name]
    if len(listed) != 1:
        return f"{call.name} is listed {len(listed)} times"
    following = next((other.index for other in calls if other.index > index), None)
    after = () if following is None else trajectory.steps[index + 1 : following + 1]
    output = next(iter(trajectory.steps[index + 1 : index + 2]), None)
    return Site(
        prefix=cut(trajectory, index),
        call=call,
        tool=listed[0],
        output=str(output.content) if output and output.role == "tool" else None,
        after=after,
    )


def _unknown(trajectory: Trajectory, end: int) -> str | None:
    """A tool called before `end` that neither the list nor an earlier user turn has.

    A trajectory with one is not benign. BFCL has one such task, and the released ones have several,
    since their parser took prose for calls.
    """
    known = {tool.name for tool in trajectory.tools}
    for step in trajectory.steps[:end]:
        if isinstance(step.content, str):
            if step.role == "user":
                known.update(tool.name for tool in late_tools(step.content))
        elif step.content["name"] not in known:
            return str(step.content["name"])
    return None


class Mutator(ABC):
    """Makes mutants of one class.

    `added_tools` is how many tools a mutant lists beyond its original, so that a builder can keep
    the lists equally long. Mutants end in a call, the moment a guard is asked: the risky one, or
    with `ends_at_next_call` the one after it, where what is risky is the output between the two.
    A mutator changes what its class says and nothing else, adds no key that only mutants have,
    and draws its wording from many, so that no phrase gives the class away.
    """

    class_name: ClassVar[str]
    added_tools: ClassVar[int] = 0
    ends_at_next_call: ClassVar[bool] = False

    def end(self, trajectory: Trajectory, index: int) -> int:
        """The index of the last step of a mutant made at `index`."""
        if not self.ends_at_next_call:
            return index
        following = next_call(trajectory, index)
        return index if following is None else following

    def check(self, trajectory: Trajectory, index: int) -> str | None:
        """None if the call at step `index` can be mutated; otherwise why not."""
        found = site(trajectory, index)
        return found if isinstance(found, str) else self._unsuitable(found)

    def attempt(self, trajectory: Trajectory, index: int, rng: Random) -> Mutation | str:
        """The mutant made at step `index`, all choices drawn from `rng`; or what `check` says."""
        found = site(trajectory, index)
        if isinstance(found, str):
            return found
        return self._unsuitable(found) or self._edit(found, rng)

    def mutate(self, trajectory: Trajectory, index: int, rng: Random) -> Mutation:
        """Like `attempt`.

        Raises:
            ValueError: `check` says that there is nothing to mutate.
        """
        made = self.attempt(trajectory, index, rng)
        if isinstance(made, str):
            raise ValueError(made)
        return made

    @abstractmethod
    def _unsuitable(self, found: Site) -> str | None: ...

    @abstractmethod
    def _edit(self, found: Site, rng: Random) -> Mutation: ...


def continued(mutation: Mutation, base: Trajectory) -> Mutation:
    """The mutation with what follows its cut in `base`; later calls follow what it renamed."""
    done = len(mutation.trajectory.steps)
    index = mutation.risky_step
    target = base.steps[index].content
    called = target["name"] if not isinstance(target, str) else None
    later = (_renamed(step, mutation, called) for step in base.steps[done:])
    steps = (*mutation.trajectory.steps, *later)
    return replace(mutation, trajectory=replace(mutation.trajectory, steps=steps))


def _renamed(step: Step, mutation: Mutation, called: str | None) -> Step:
    if isinstance(step.content, str) or called is None or step.content["name"] != called:
        return step
    name = mutation.renamed_tool or called
    arguments = {
        mutation.renamed_arguments.get(key, key): value
        for key, value in step.content["arguments"].items()
    }
    return replace(step, content={**step.content, "name": name, "arguments": arguments})
