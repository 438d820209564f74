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
from trace.benchmarks.tracesafe.trajectory import Step, Tool, Trajectory
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
    data = folder / "bfcl_eval" / "data"
    out: list[BaseTrajectory] = []
    with bfcl_modules(folder) as load:
        documents = _Documents(data / "multi_turn_func_doc", load)
        for split in splits:
            name = f"BFCL_v4_multi_turn_{split}.json"
            answers = {
                line["id"]: line["ground_truth"] for line in _lines(data / "possible_answer" / name)
            }
            for task in _lines(data / name):
                trajectory = _execute(
                    task, answers[task["id"]], documents, load, long_context=split == "long_context"
                )
                number = task["id"].rpartition("_")[2]
                out.append(
                    BaseTrajectory(
                        task=task["id"], cluster=f"multi_turn_{number}", trajectory=trajectory
                    )
                )
    return tuple(out)


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


def _execute(
    task: Mapping[str, Json],
    answer: list[list[str]],
    documents: _Documents,
    load: Importer,
    *,
    long_context: bool,
) -> Trajectory:
    classes = task["involved_classes"]
    simulation = Simulation(load, classes, task["initial_config"], long_context=long_context)
    missed: Mapping[str, list[str]] = task.get("missed_function", {})
    steps: list[Step] = []
    for number, (turn, calls) in enumerate(zip(task["question"], answer, strict=True)):
        if late := missed.get(str(number)):
            docs = [doc for name in classes for doc in documents.of(name) if doc["name"] in late]
            steps.append(Step(role="user", content=f"{docs!r}\n{_LATE}"))
        steps += (Step(role="user", content=message["content"]) for message in turn)
        for text in calls:
            try:
                call = parse_call(text)
                arguments = simulation.arguments(call)
            except DataError as error:
                raise DataError(f"BFCL task {task['id']}: {error}") from error
            steps += (
                Step(
                    role="agent",
                    content={"name": call.name, "arguments": arguments},
                    extra=_REASONING,
                ),
                Step(role="tool", content=simulation.execute(call.name, arguments)),
            )
    return Trajectory(
        query=task["question"][0][0]["content"],
        tools=_tools(task, steps, documents),
        steps=tuple(steps),
        agent_model=AGENT,
        constants={
            "domain": "BFCL Code Agents",
            "scenario_description": "Interleaved multi-turn tool interaction.",
            "environment": f"BFCL simulators: {', '.join(classes)}.",
        },
    )


def _tools(task: Mapping[str, Json], steps: list[Step], documents: _Documents) -> tuple[Tool, ...]:
    called = {step.content["name"] for step in steps if not isinstance(step.content, str)}
    missed = {name for names in task.get("missed_function", {}).values() for name in names}
    excluded = missed.union(task.get("excluded_function", ()))
    return tuple(
        tool_from_doc(doc, is_distractor=doc["name"] not in called)
        for class_name in task["involved_classes"]
        for doc in documents.of(class_name)
        if doc["name"] not in excluded
    )
