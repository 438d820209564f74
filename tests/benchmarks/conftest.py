from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from trace import assets
from trace.benchmarks.tracesafe.bfcl import BaseTrajectory, base_trajectories
from trace.benchmarks.tracesafe.build import Options, OwnSet, build
from trace.benchmarks.tracesafe.mutators.base import Mutation, Mutator
from trace.benchmarks.tracesafe.mutators.registry import MUTATORS
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.errors import AssetError
from trace.records import Gold, Json, Sample

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data" / "tracesafe"
MUTANTS = ("golden_sample.jsonl", "mutated_llama3_sample.jsonl")
SEEDS = ("seeds_llama3.jsonl", "seeds_qwen.jsonl")


@pytest.fixture(scope="session")
def released_data() -> Path:
    """The folder with samples of the released data."""
    if not DATA.is_dir():
        pytest.skip("the samples of the released data are not beside this checkout")
    return DATA


def _lines(folder: Path, names: tuple[str, ...]) -> list[Any]:
    return [
        json.loads(line)
        for name in names
        for line in (folder / name).read_text(encoding="utf-8").split("\n")
        if line
    ]


@pytest.fixture(scope="session")
def mutants(released_data: Path) -> list[Any]:
    """The 68 released mutation records, as JSON."""
    return _lines(released_data, MUTANTS)


@pytest.fixture(scope="session")
def seeds(released_data: Path) -> list[Any]:
    """The 219 released base trajectories, as JSON."""
    return _lines(released_data, SEEDS)


@pytest.fixture(scope="session")
def bfcl_folder() -> Path:
    """The folder that contains bfcl_eval/."""
    try:
        return assets.fetch("bfcl")
    except AssetError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def bases(bfcl_folder: Path) -> tuple[BaseTrajectory, ...]:
    return base_trajectories(bfcl_folder)


@pytest.fixture(scope="session")
def splits(bfcl_folder: Path) -> dict[str, tuple[BaseTrajectory, ...]]:
    """The base trajectories of BFCL's other splits."""
    names = ("long_context", "miss_func", "miss_param")
    return {name: base_trajectories(bfcl_folder, [name]) for name in names}


@pytest.fixture(scope="session")
def own(bases: tuple[BaseTrajectory, ...]) -> OwnSet:
    """The whole own set, every tool shown."""
    return build(bases, Options(per_class=90))


@pytest.fixture(scope="session")
def made(bases: tuple[BaseTrajectory, ...]) -> dict[str, list[tuple[Trajectory, int, Mutation]]]:
    """Two mutants of every class from every base trajectory, where it has suitable places.

    They are made at its first and its last suitable place: base, index, mutant.
    """
    return {
        name: [
            (
                base.trajectory,
                index,
                mutator.mutate(base.trajectory, index, Random(f"{base.task} {index}")),
            )
            for base in bases
            for index in _ends(mutator, base.trajectory)
        ]
        for name, mutator in MUTATORS.items()
    }


def _ends(mutator: Mutator, trajectory: Trajectory) -> list[int]:
    found = [c.index for c in trajectory.calls if mutator.check(trajectory, c.index) is None]
    return sorted({*found[:1], *found[-1:]})


@pytest.fixture(scope="session")
def sample_of() -> Callable[[Json], Sample]:
    """Wraps a view into a sample, for a rule judge."""

    def make(view: Json) -> Sample:
        return Sample(id="x", gold=Gold(label=None), view=view, cluster="x")

    return make


@pytest.fixture
def trace_object() -> dict[str, Any]:
    """A small trace object of the released shape."""
    return {
        "domain": "BFCL Code Agents",
        "user_query": "List the folder.",
        "scenario_description": "Interleaved multi-turn tool interaction.",
        "environment": "Gorilla File System environment.",
        "tool_lists": [
            {
                "name": "ls",
                "description": "List the contents.",
                "prototype": "def ls(a: boolean = False) -> Any: pass",
                "parameters": {"a": {"type": "boolean", "description": "Show hidden files."}},
                "is_distractor": False,
            }
        ],
        "trace": [
            {"role": "user", "content": "List the folder."},
            {
                "role": "agent",
                "content": {"name": "ls", "arguments": {}},
                "reasoning": "Executing tool call.",
            },
        ],
        "agent_model": "someone",
    }


@pytest.fixture
def record(trace_object: dict[str, Any]) -> dict[str, Any]:
    """A small mutation record of the released shape."""
    mutant = json.loads(json.dumps(trace_object))
    mutant["trace"][1]["content"]["name"] = "list_files"
    return {
        "mutation_category": "HALLUCINATION",
        "original_trace": trace_object,
        "new_trace": mutant,
        "difference": {},
        "mutation_metadata": {
            "mutator_name": "HallucinatedTool",
            "target_tool": "ls",
            "rationale": "why",
            "internal_meta": {"ghost_tool_name": "list_files"},
            "source": "bfcl",
            "model_name": "someone",
        },
    }
