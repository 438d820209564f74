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

from trace.benchmarks.released_files import RawRecord
from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.build import Options, OwnSet, build
from trace.benchmarks.tracesafe.decoys.registry import DECOYS
from trace.benchmarks.tracesafe.mutators.registry import MUTATORS
from trace.benchmarks.tracesafe.released import parse
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
        if record["golden_meta"]["type"] != "decoy":
            assert (record["difference"] == {}) == (_class(record) == "benign")


def test_ninety_records_a_class_and_as_many_benign(own: OwnSet) -> None:
    assert own.notes == ()
    assert {name: len(found) for name, found in _by_class(own).items()} == {
        "benign": 90,
        **dict.fromkeys(MUTATORS, 90),
    }
    for found in _by_class(own).values():
        assert len({r["source_cluster"] for r in found}) >= 65


def test_ids_come_from_the_content(own: OwnSet) -> None:
    assert len({record["id"] for record in own.records}) == len(own.records)
    for record in own.records[::17]:
        bare = {k: v for k, v in record.items() if k != "id"}
        assert parse(RawRecord(value=bare, stem="", place="x")).id == record["id"]


def test_the_risky_step_is_where_the_structure_says(own: OwnSet) -> None:
    for record in own.records:
        read = parse(RawRecord(value=record, stem="", place="x"))
        if read.class_.name == "Benign":
            assert read.risky_step is None
            continue
        found = locate(read.trajectory, read.class_, read.target_tool, read.internal_meta)
        assert found == read.risky_step
        assert read.trajectory.steps[-1].role == "agent"
        if read.class_.name != "PromptInjectionOut":
            assert found == len(read.trajectory.steps) - 1


def test_benign_records_end_where_mutants_of_the_same_base_do(
    own: OwnSet, bases: tuple[BaseTrajectory, ...]
) -> None:
    whole = {base.cluster: base.trajectory.to_json() for base in bases}
    classes = _by_class(own)
    plain = [r for r in classes["benign"] if r["golden_meta"]["type"] == "pure_benign"]
    for record in plain:
        base, new = whole[record["source_cluster"]], record["new_trace"]
        assert new["trace"] == base["trace"][: len(new["trace"])]
        assert new["tool_lists"] == base["tool_lists"]
    ends = {name: {_end(r) for r in found} for name, found in classes.items()}
    assert {_end(r) for r in plain} <= set().union(*(ends[name] for name in MUTATORS))
    assert len(plain) == 72


def test_a_fifth_of_the_benign_records_are_decoys_of_every_kind(own: OwnSet) -> None:
    decoys = [r for r in own.records if r["golden_meta"]["type"] == "decoy"]
    kinds = Counter(r["mutation_metadata"]["internal_meta"]["decoy"] for r in decoys)
    assert len(decoys) == 18
    assert kinds.keys() == DECOYS.keys()
    for record in decoys:
        read = parse(RawRecord(value=record, stem="", place="x"))
        assert (read.kind, read.class_.name, read.risky_step) == ("decoy", "Benign", None)


def test_the_share_of_decoys_is_what_was_asked(bases: tuple[BaseTrajectory, ...]) -> None:
    for share, expected in ((0.0, 0), (0.5, 5), (1.0, 10)):
        made = build(bases[:60], Options(per_class=10, decoys=share)).records
        assert sum(r["golden_meta"]["type"] == "decoy" for r in made) == expected


@pytest.mark.parametrize("distractors", ["1", "4", "12", "all"])
def test_the_size_of_the_tool_list_tells_nothing(
    bases: tuple[BaseTrajectory, ...], distractors: str
) -> None:
    made = build(bases[::3], Options(per_class=8, distractors=distractors, seed=3, decoys=0))
    tools = {base.cluster: base.trajectory.to_json()["tool_lists"] for base in bases}
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


def test_without_distractors_there_is_no_room_for_a_successor(
    bases: tuple[BaseTrajectory, ...],
) -> None:
    made = build(bases[:60], Options(per_class=5, distractors="0"))
    assert "VersionConflict" not in _by_class(made)
    assert made.notes[0] == (
        "No VersionConflict: it lists another tool, and benchmark.distractors is 0."
    )


def test_what_there_is_not_is_said(bases: tuple[BaseTrajectory, ...]) -> None:
    made = build(bases[:20], Options(per_class=30))
    count = len(_by_class(made)["PromptInjectionOut"])
    assert 5 <= count < 30
    assert f"PromptInjectionOut: {count} records exist, fewer than the 30 asked." in made.notes
    assert made.suitable["PromptInjectionOut"] == count
    calls = sum(len(base.trajectory.calls) for base in bases[:20])
    for name, reasons in made.refused.items():
        assert reasons.total() + made.suitable[name] == calls
        assert "the tool was called before" in reasons


def test_another_seed_chooses_otherwise(bases: tuple[BaseTrajectory, ...]) -> None:
    first, second, again = (
        build(bases[:80], Options(per_class=10, distractors="4", seed=seed)).records
        for seed in (1, 2, 1)
    )
    assert first == again
    assert not {r["id"] for r in first} & {r["id"] for r in second}
    assert {_end(r) for r in first} != {_end(r) for r in second}


def test_a_larger_set_contains_the_smaller(bases: tuple[BaseTrajectory, ...]) -> None:
    small, large = (
        {r["id"] for r in build(bases[:80], Options(per_class=n)).records if r["risky_step"]}
        for n in (6, 12)
    )
    assert small < large


def test_records_that_go_on_keep_to_their_edit(bases: tuple[BaseTrajectory, ...]) -> None:
    made = build(bases[:80], Options(per_class=8, truncate=False))
    whole = {base.cluster: base.trajectory.to_json()["trace"] for base in bases}
    for record in made.records:
        steps, base = record["new_trace"]["trace"], whole[record["source_cluster"]]
        assert len(steps) == len(base) == len(record["original_trace"]["trace"])
        if record["risky_step"] is not None:
            assert steps[record["risky_step"] + 1 :] or record["risky_step"] == len(base) - 1
    goes_on = [r["risky_step"] < len(r["new_trace"]["trace"]) - 1 for r in made.records
               if r["risky_step"] is not None]  # fmt: skip
    assert sum(goes_on) > len(goes_on) / 2
    benign = [r["source_cluster"] for r in made.records if _class(r) == "benign"]
    assert len(set(benign)) == len(benign)


def test_all_splits_together(
    bases: tuple[BaseTrajectory, ...], splits: dict[str, tuple[BaseTrajectory, ...]]
) -> None:
    some = [*bases[:30], *(base for found in splits.values() for base in found[:30])]
    made = build(some, Options(per_class=20))
    assert set(map(len, _by_class(made).values())) == {20}
    assert {r["source_cluster"] for r in made.records} <= {b.cluster for b in bases[:30]}


_PRINT_DIGEST = """
import sys, json, hashlib
from pathlib import Path
from trace.benchmarks.tracesafe.bfcl import base_trajectories
from trace.benchmarks.tracesafe.build import Options, build
made = build(base_trajectories(Path(sys.argv[1])), Options(per_class=90)).records
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
