"""What became of a task that an agent was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from trace.benchmarks.tracesafe.bfcl import BaseTrajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(BaseTrajectory):
    """An agent's trajectory, up to where it ended.

    `accurate`: BFCL's checker passes every turn. If it does not, `reason` is a sentence that is
    the same for all tasks that failed alike; else it is empty.
    """

    reason: str

    @property
    def accurate(self) -> bool:
        """Whether it may serve as a base trajectory."""
        return not self.reason


def note(outcomes: Sequence[Outcome], agent: str) -> str:
    """How many tasks were done accurately, and what went wrong in the others, by frequency."""
    wrong = Counter(outcome.reason for outcome in outcomes if outcome.reason)
    said = (
        f"{agent} was given {len(outcomes)} tasks of BFCL and did {len(outcomes) - wrong.total()} "
        "accurately by BFCL's own checker; only those are kept."
    )
    return " ".join([said, *(f"{n}: {reason}" for reason, n in wrong.most_common())])
