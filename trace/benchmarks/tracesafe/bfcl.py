"""Base trajectories: the ground truth of BFCL's multi-turn tasks, executed in its simulators.

They are accurate by construction and no model takes part. The released base trajectories were
made by models, and their arguments passed through a parser that left lists and floats as text;
here every argument has its right JSON type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseTrajectory:
    """A benign trajectory, and the BFCL task (`multi_turn_base_17`) it comes from."""

    task: str
    trajectory: Trajectory


def base_trajectories(folder: Path) -> tuple[BaseTrajectory, ...]:
    """Executes the 200 tasks of `multi_turn_base`; takes a fraction of a second.

    Args:
        folder: the one that contains `bfcl_eval/`.

    Raises:
        DataError: a task does not have the shape expected.
    """
    data = folder / "bfcl_eval" / "data"
    answers = {
        line["id"]: line["ground_truth"]
        for line in _lines(data / "possible_answer" / "BFCL_v4_multi_turn_base.json")
    }
    with bfcl_modules(folder) as load:
        documents = _Documents(data / "multi_turn_func_doc", load)
        return tuple(
            BaseTrajectory(
                task=task["id"], trajectory=_execute(task, answers[task["id"]], documents, load)
            )
            for task in _lines(data / "BFCL_v4_multi_turn_base.json")
        )


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
    task: Mapping[str, Json], answer: list[list[str]], documents: _Documents, load: Importer
) -> Trajectory:
    classes = task["involved_classes"]
    simulation = Simulation(load, classes, task["initial_config"])
    steps: list[Step] = []
    for turn, calls in zip(task["question"], answer, strict=True):
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
    excluded = task.get("excluded_function", ())
    return tuple(
        tool_from_doc(doc, is_distractor=doc["name"] not in called)
        for class_name in task["involved_classes"]
        for doc in documents.of(class_name)
        if doc["name"] not in excluded
    )
