"""Base trajectories: the ground truth of BFCL's multi-turn tasks, executed in its simulators.

They are accurate by construction and no model takes part. The released base trajectories were
made by models, and their arguments passed through a parser that left lists and floats as text;
here every argument has its right JSON type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jsonlines

from trace.benchmarks.tracesafe.call_syntax import parse_call
from trace.benchmarks.tracesafe.simulators import BACKENDS, Importer, Simulation, bfcl_modules
from trace.benchmarks.tracesafe.tool_docs import tool_from_doc
from trace.benchmarks.tracesafe.trajectory import Step, Trajectory
from trace.errors import DataError
from trace.records import Json

AGENT = "bfcl-ground-truth"
_REASONING = {"reasoning": "Executing tool call."}  # the constant of the released agent steps
_LATE = "I have updated some more functions you can choose from. What about now?"  # BFCL's words


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseTrajectory:
    """A benign trajectory and where it comes from.

    `task` is the BFCL task (`multi_turn_base_17`); `cluster` (`multi_turn_17`) is the same for the
    task of that number in every split, since its variants share the user's request.
    """

    task: str
    cluster: str
    trajectory: Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the user says, and the calls that answer it in the ground truth, as they are written."""

    said: tuple[str, ...]
    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A BFCL multi-turn task. `documents` describe the tools that are there from the start."""

    id: str
    cluster: str
    turns: tuple[Turn, ...]
    documents: tuple[Mapping[str, Json], ...]
    classes: tuple[str, ...]
    state: Mapping[str, Json]
    long_context: bool

    def simulation(self, load: Importer) -> Simulation:
        """New simulators in the task's initial state."""
        return Simulation(load, self.classes, self.state, long_context=self.long_context)

    def trajectory(self, steps: Sequence[Step], agent: str) -> Trajectory:
        """The steps of an agent at this task as a trajectory."""
        called = {step.content["name"] for step in steps if not isinstance(step.content, str)}
        return Trajectory(
            query=self.turns[0].said[0],
            tools=tuple(
                tool_from_doc(doc, is_distractor=doc["name"] not in called)
                for doc in self.documents
            ),
            steps=tuple(steps),
            agent_model=agent,
            constants={
                "domain": "BFCL Code Agents",
                "scenario_description": "Interleaved multi-turn tool interaction.",
                "environment": f"BFCL simulators: {', '.join(self.classes)}.",
            },
        )


def base_trajectories(
    folder: Path, splits: Sequence[str] = ("base",)
) -> tuple[BaseTrajectory, ...]:
    """Executes the 200 tasks of each split; takes a fraction of a second a split.

    Args:
        folder: the one that contains `bfcl_eval/`.
        splits: base, long_context, miss_func (a user turn brings tools that were missing), or
            miss_param (a user turn brings a value that was missing).

    Raises:
        DataError: a task does not have the shape expected.
    """
    with bfcl_modules(folder) as load:
        return tuple(
            BaseTrajectory(task=task.id, cluster=task.cluster, trajectory=_execute(task, load))
            for split in splits
            for task in read_tasks(folder, split, load)
        )


def read_tasks(folder: Path, split: str, load: Importer) -> Iterator[Task]:
    """The tasks of a split, in BFCL's order.

    Args:
        folder: the one that contains `bfcl_eval/`.
        split: as for `base_trajectories`.
        load: imports BFCL's modules.
    """
    data = folder / "bfcl_eval" / "data"
    name = f"BFCL_v4_multi_turn_{split}.json"
    answers = {line["id"]: line["ground_truth"] for line in _lines(data / "possible_answer" / name)}
    documents = _Documents(data / "multi_turn_func_doc", load)
    for line in _lines(data / name):
        yield _task(line, answers[line["id"]], documents, long_context=split == "long_context")


def _lines(path: Path) -> Iterator[dict[str, Json]]:
    with jsonlines.open(path) as reader:
        yield from reader.iter(type=dict)


class _Documents:
    """The function documents of each simulator class, read once."""

    def __init__(self, folder: Path, load: Importer) -> None:
        self._folder = folder
        self._files: Mapping[str, str] = load(BACKENDS).MULTI_TURN_FUNC_DOC_FILE_MAPPING
        self._read: dict[str, list[dict[str, Json]]] = {}

    def of(self, class_name: str) -> list[dict[str, Json]]:
        if class_name not in self._read:
            self._read[class_name] = list(_lines(self._folder / self._files[class_name]))
        return self._read[class_name]


def _task(
    line: Mapping[str, Json], answer: list[list[str]], documents: _Documents, *, long_context: bool
) -> Task:
    classes = tuple(line["involved_classes"])
    missed: Mapping[str, list[str]] = line.get("missed_function", {})
    known = [doc for name in classes for doc in documents.of(name)]
    turns: list[Turn] = []
    for number, (turn, calls) in enumerate(zip(line["question"], answer, strict=True)):
        said = [message["content"] for message in turn]
        if late := missed.get(str(number)):
            said.insert(0, f"{[doc for doc in known if doc['name'] in late]!r}\n{_LATE}")
        turns.append(Turn(said=tuple(said), calls=tuple(calls)))
    hidden = {name for names in missed.values() for name in names}
    hidden.update(line.get("excluded_function", ()))
    return Task(
        id=line["id"],
        cluster=f"multi_turn_{line['id'].rpartition('_')[2]}",
        turns=tuple(turns),
        documents=tuple(doc for doc in known if doc["name"] not in hidden),
        classes=classes,
        state=line["initial_config"],
        long_context=long_context,
    )


def _execute(task: Task, load: Importer) -> Trajectory:
    simulation = task.simulation(load)
    steps: list[Step] = []
    for turn in task.turns:
        steps += (Step(role="user", content=text) for text in turn.said)
        for text in turn.calls:
            try:
                call = parse_call(text)
                arguments = simulation.arguments(call)
            except DataError as error:
                raise DataError(f"BFCL task {task.id}: {error}") from error
            steps += call_steps(call.name, arguments, simulation.execute(call.name, arguments))
    return task.trajectory(steps, AGENT)


def call_steps(name: str, arguments: Mapping[str, Json], output: str) -> tuple[Step, Step]:
    """A call and its output, as the released data have them."""
    content = {"name": name, "arguments": arguments}
    return (
        Step(role="agent", content=content, extra=_REASONING),
        Step(role="tool", content=output),
    )
