"""An agent at many tasks at once, so that its engine answers in batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from trace.benchmarks.base import Ask
from trace.benchmarks.tracesafe.bfcl import Task, read_tasks
from trace.benchmarks.tracesafe.live.dialogue import Dialogue
from trace.benchmarks.tracesafe.live.outcome import Outcome
from trace.benchmarks.tracesafe.simulators import bfcl_modules
from trace.records import Json, Request, Sampling, digest

MAX_STEPS = 20
"""Replies with calls a turn, after which BFCL too gives up."""


def drive(
    folder: Path,
    splits: Sequence[str],
    ask: Ask,
    *,
    sampling: Sampling,
    template_args: Mapping[str, Json],
    agent: str,
    limit: int | None = None,
    max_steps: int = MAX_STEPS,
) -> tuple[Outcome, ...]:
    """What an agent makes of BFCL's multi-turn tasks, in their order.

    All tasks advance side by side: each round puts the open question of every task that is not
    over to the agent, in one call of `ask`. What is asked follows from the replies alone, so a
    repeated drive with the same replies asks the same, round by round.

    Args:
        folder: the one that contains `bfcl_eval/`.
        splits: as for `bfcl.base_trajectories`.
        ask: answers the requests of a round; each names its task as `sample`.
        sampling: how the agent writes.
        template_args: arguments of its chat template.
        agent: its name, for the trajectories.
        limit: tasks a split, all when None; the same numbers in every split. A larger limit adds
            tasks and takes none away.
        max_steps: replies with calls that a turn may take.

    Raises:
        DataError: a task does not have the shape expected.
        TraceError: what `ask` raises.
    """
    with bfcl_modules(folder) as load:
        dialogues = [
            Dialogue(task, load, agent=agent, max_steps=max_steps)
            for split in splits
            for task in _limited(read_tasks(folder, split, load), limit)
        ]
    while going := [dialogue for dialogue in dialogues if not dialogue.over]:
        requests = [
            Request(
                messages=dialogue.messages,
                sampling=sampling,
                template_args=template_args,
                sample=dialogue.task.id,
            )
            for dialogue in going
        ]
        for dialogue, completion in zip(going, ask(requests), strict=True):
            dialogue.hear(completion)
    return tuple(dialogue.outcome() for dialogue in dialogues)


def _limited(tasks: Iterable[Task], limit: int | None) -> list[Task]:
    """Tasks in their order; by digest, since BFCL's neighbours use the same simulators."""
    every = list(tasks)
    chosen = {t.id for t in sorted(every, key=lambda t: digest(t.cluster))[:limit]}
    return [task for task in every if task.id in chosen]
