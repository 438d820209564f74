"""What a mutator is, and the place in a trajectory where it works."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar

from trace.benchmarks.tracesafe.trajectory import Call, Step, Tool, Trajectory
from trace.records import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """A mutant, cut at its risky step, which is the last one; and what was done, for the record."""

    trajectory: Trajectory
    internal_meta: Mapping[str, Json]
    rationale: str

    @property
    def risky_step(self) -> int:
        """The index of the risky step."""
        return len(self.trajectory.steps) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A call that can be mutated: the trajectory cut after it, the call, its tool, its output."""

    prefix: Trajectory
    call: Call
    tool: Tool
    output: str | None

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


def cut(trajectory: Trajectory, index: int, *, with_output: bool = False) -> Trajectory:
    """The trajectory up to the step at `index`, or up to the output right after it."""
    return replace(trajectory, steps=trajectory.steps[: index + 1 + with_output])


def site(trajectory: Trajectory, index: int) -> Site | str:
    """The site at the step `index`, or why there is none.

    Only the first call of a tool is a site (arXiv 2604.07223, appendix I).
    """
    call = next((call for call in trajectory.calls if call.index == index), None)
    if call is None:
        return f"step {index} is not a call"
    if any(other.name == call.name and other.index < index for other in trajectory.calls):
        return f"{call.name} was called before"
    listed = [tool for tool in trajectory.tools if tool.name == call.name]
    if len(listed) != 1:
        return f"{call.name} is listed {len(listed)} times"
    after: Step | None = next(iter(trajectory.steps[index + 1 : index + 2]), None)
    return Site(
        prefix=cut(trajectory, index),
        call=call,
        tool=listed[0],
        output=str(after.content) if after and after.role == "tool" else None,
    )


class Mutator(ABC):
    """Makes mutants of one class.

    `added_tools` is how many tools a mutant lists beyond its original, so that a builder can keep
    the lists equally long; `ends_in_output` says that the risky step is the output of the call.
    A mutator changes what its class says and nothing else, adds no key that only mutants have,
    and draws its wording from many, so that no phrase gives the class away.
    """

    class_name: ClassVar[str]
    added_tools: ClassVar[int] = 0
    ends_in_output: ClassVar[bool] = False

    def check(self, trajectory: Trajectory, index: int) -> str | None:
        """None if the call at step `index` can be mutated; otherwise why not."""
        found = site(trajectory, index)
        return found if isinstance(found, str) else self._unsuitable(found)

    def mutate(self, trajectory: Trajectory, index: int, rng: Random) -> Mutation:
        """The mutant made at step `index`; all choices are drawn from `rng`.

        Raises:
            ValueError: `check` says that there is nothing to mutate.
        """
        found = site(trajectory, index)
        reason = found if isinstance(found, str) else self._unsuitable(found)
        if isinstance(found, str) or reason is not None:
            raise ValueError(reason)
        return self._edit(found, rng)

    @abstractmethod
    def _unsuitable(self, found: Site) -> str | None: ...

    @abstractmethod
    def _edit(self, found: Site, rng: Random) -> Mutation: ...
