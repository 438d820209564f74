from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.build import OwnSet, build
from trace.benchmarks.tracesafe.mutators.registry import MUTATORS
from trace.benchmarks.tracesafe.released import parse
from trace.benchmarks.tracesafe.released_files import RawRecord
from trace.benchmarks.tracesafe.risky_step import locate

ROOT = Path(__file__).resolve().parents[2]
KEYS = [
    "mutation_category",
    "original_trace",
    "new_trace",
    "difference",
    "mutation_metadata",
    "golden_meta",
]


def _class(record: Any) -> str:
    return str(record["mutation_metadata"]["mutator_name"])


def _by_class(own: OwnSet) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for record in own.records:
        out.setdefault(_class(record), []).append(record)
    return out


def _end(record: Any) -> tuple[str, int, str]:
    steps = record["new_trace"]["trace"]
    return record["source_cluster"], len(steps), steps[-1]["role"]


def test_records_have_the_released_schema(own: OwnSet, mutants: list[Any]) -> None:
    golden = next(r for r in mutants if "golden_meta" in r)
    assert list(golden) == KEYS
    for record in own.records:
        assert [k for k in record if k in KEYS] == KEYS
        assert set(record) - set(KEYS) == {"id", "risky_step", "source_cluster"}
        assert list(record["mutation_metadata"]) == list(golden["mutation_metadata"])
        assert list(record["golden_meta"]) == list(golden["golden_meta"])
        assert list(record["new_trace"]) == list(golden["new_trace"])
        for trace in (record["new_trace"], record["original_trace"]):
            assert list(trace["tool_lists"][0]) == list(golden["new_trace"]["tool_lists"][0])
        assert (record["difference"] == {}) == (record["new_trace"] == record["original_trace"])
        assert (record["difference"] == {}) == (_class(record) == "benign")


def test_ninety_records_a_class_and_as_many_benign(own: OwnSet) -> None:
    assert own.notes == ()
    assert {name: len(found) for name, found in _by_class(own).items()} == {
        "benign": 90,
        **dict.fromkeys(MUTATORS, 90),
    }
    for name in ("ApiKeyLeak", "HallucinatedTool", "VersionConflict"):
        assert len({r["source_cluster"] for r in _by_class(own)[name]}) == 90
    assert len({r["source_cluster"] for r in _by_class(own)["PromptInjectionOut"]}) > 80


def test_ids_come_from_the_content(own: OwnSet) -> None:
    assert len({record["id"] for record in own.records}) == len(own.records)
    for record in own.records[::17]:
        bare = {k: v for k, v in record.items() if k != "id"}
        assert parse(RawRecord(value=bare, stem="", place="x")).id == record["id"]


def test_the_risky_step_is_where_the_structure_says(own: OwnSet) -> None:
    for record in own.records:
        read = parse(RawRecord(value=record, stem="", place="x"))
        if read.kind == "benign":
            assert read.risky_step is None
            continue
        found = locate(read.trajectory, read.class_, read.target_tool, read.internal_meta)
        assert found == read.risky_step == len(read.trajectory.steps) - 1


def test_benign_records_are_unchanged_prefixes_that_end_as_mutants_do(
    own: OwnSet, bases: tuple[BaseTrajectory, ...]
) -> None:
    whole = {base.task: base.trajectory.to_json() for base in bases}
    classes = _by_class(own)
    for record in classes["benign"]:
        base, new = whole[record["source_cluster"]], record["new_trace"]
        assert new["trace"] == base["trace"][: len(new["trace"])]
        assert new["tool_lists"] == base["tool_lists"]
    ends = {name: {_end(r) for r in found} for name, found in classes.items()}
    assert ends["benign"] <= set().union(*(ends[name] for name in MUTATORS))
    shares = Counter(name for end in ends["benign"] for name in MUTATORS if end in ends[name])
    assert min(shares[name] for name in MUTATORS) >= 15
    roles = Counter(end[2] for end in ends["benign"])
    assert 15 <= roles["tool"] <= 30  # a quarter, as among mutants


@pytest.mark.parametrize("distractors", ["1", "4", "12", "all"])
def test_the_size_of_the_tool_list_tells_nothing(
    bfcl_folder: Path, bases: tuple[BaseTrajectory, ...], distractors: str
) -> None:
    made = build(folder=bfcl_folder, per_class=20, distractors=distractors, seed=3)
    tools = {base.task: base.trajectory.to_json()["tool_lists"] for base in bases}
    for record in made.records:
        steps = record["original_trace"]["trace"]
        called = {s["content"]["name"] for s in steps if s["role"] == "agent"}
        listed = [tool["name"] for tool in record["new_trace"]["tool_lists"]]
        every = [tool["name"] for tool in tools[record["source_cluster"]]]
        others = len(every) - len(called)
        wanted = others if distractors == "all" else min(int(distractors), others)
        assert called <= set(listed)
        assert len(listed) == len(called) + wanted, _class(record)
        assert [name for name in every if name in listed] == [n for n in listed if n in every]


def test_without_distractors_there_is_no_room_for_a_successor(bfcl_folder: Path) -> None:
    made = build(folder=bfcl_folder, per_class=5, distractors="0", seed=0)
    assert "VersionConflict" not in _by_class(made)
    assert made.notes == (
        "No VersionConflict: it lists another tool, and benchmark.distractors is 0.",
    )


def test_what_there_is_not_is_said(bfcl_folder: Path) -> None:
    made = build(folder=bfcl_folder, per_class=150, distractors="2", seed=0)
    (note,) = made.notes
    count = len(_by_class(made)["PromptInjectionOut"])
    assert 90 <= count < 150
    assert note == f"PromptInjectionOut: {count} records exist, fewer than the 150 asked."


def test_another_seed_chooses_otherwise(bfcl_folder: Path) -> None:
    first, second, again = (
        build(folder=bfcl_folder, per_class=20, distractors="4", seed=seed).records
        for seed in (1, 2, 1)
    )
    assert first == again
    assert not {r["id"] for r in first} & {r["id"] for r in second}
    assert {_end(r) for r in first} != {_end(r) for r in second}


def test_a_larger_set_contains_the_smaller(bfcl_folder: Path) -> None:
    small, large = (
        {r["id"] for r in build(folder=bfcl_folder, per_class=n, distractors="4", seed=1).records}
        for n in (6, 12)
    )
    assert small < large


_PRINT_DIGEST = """
import sys, json, hashlib
from pathlib import Path
from trace.benchmarks.tracesafe.build import build
made = build(folder=Path(sys.argv[1]), per_class=90, distractors="all", seed=0).records
print(hashlib.sha256(json.dumps(made).encode()).hexdigest())
"""


def test_another_process_gives_the_same_bytes(bfcl_folder: Path, own: OwnSet) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PRINT_DIGEST, str(bfcl_folder)],
        cwd=ROOT,
        env=os.environ | {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = hashlib.sha256(json.dumps(own.records).encode()).hexdigest()
    assert done.stdout.strip() == expected
