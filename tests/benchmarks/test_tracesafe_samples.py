from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trace import config
from trace.benchmarks.base import Dataset
from trace.benchmarks.tracesafe.names import CLASSES, resolve
from trace.benchmarks.tracesafe.samples import load
from trace.errors import DataError


def _load(path: Path | None, **options: Any) -> Dataset:
    limit, seed = options.pop("limit", None), options.pop("seed", 0)
    settings = config.TraceSafe(path=path and str(path), **options)
    return load(settings, limit=limit, seed=seed)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def to_file(*records: Any) -> Path:
        path = tmp_path / "data.jsonl"
        path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
        return path

    return to_file


def test_golden_records_and_their_originals(released_data: Path) -> None:
    data = _load(released_data / "golden_sample.jsonl")
    counts = Counter(sample.gold.class_ for sample in data.samples)
    assert counts == {
        "Benign": 32,
        "HallucinatedTool": 8,
        "HallucinatedArgValue": 8,
        "RedundantArg": 8,
        "VersionConflict": 8,
    }
    assert "32 distinct originals of the 32 mutants" in data.notes[0]
    assert data.notes[1].startswith(
        "The user query differs from the first user turn of the trajectory in "
        "8 HallucinatedArgValue, 8 HallucinatedTool, 8 RedundantArg"
    )
    assert list(data.fingerprint) == ["golden_sample.jsonl"]


def test_raw_records_share_originals(released_data: Path, mutants: list[Any]) -> None:
    data = _load(released_data / "mutated_llama3_sample.jsonl")
    raw = [r for r in mutants if "golden_meta" not in r]
    originals = {json.dumps(r["original_trace"]) for r in raw}
    counts = Counter(sample.gold.label for sample in data.samples)
    assert counts == {"unsafe": 36, "safe": len(originals)}
    assert f"{len(originals)} distinct originals of the 36 mutants" in data.notes[0]
    assert {s.meta["kind"] for s in data.samples if s.gold.label == "safe"} == {"original"}


def test_base_trajectories_are_benign(released_data: Path) -> None:
    data = _load(released_data / "seeds_llama3.jsonl")
    assert [s.gold.class_ for s in data.samples] == ["Benign"] * 20
    assert {s.meta["kind"] for s in data.samples} == {"seed"}
    assert "20 of 20 benign records are whole base trajectories" in data.notes[0]


def test_a_whole_folder_uses_the_benign_records_it_has(released_data: Path) -> None:
    data = _load(released_data)
    counts = Counter(sample.gold.label for sample in data.samples)
    assert counts == {"unsafe": 68, "safe": 219}
    assert len(data.fingerprint) == 4


def test_given_benign_records_are_the_negatives(
    record: dict[str, Any], write: Callable[..., Path]
) -> None:
    benign = {
        **record,
        "mutation_category": "BENIGN",
        "new_trace": record["original_trace"],
        "mutation_metadata": {"mutator_name": "benign"},
    }
    data = _load(write(record, benign))
    assert [s.gold.class_ for s in data.samples] == ["Benign", "HallucinatedTool"]
    assert data.notes == ()
    assert data.samples[0].meta["kind"] == "benign"


def test_every_sample_has_a_gold_of_the_taxonomy(released_data: Path) -> None:
    for sample in _load(released_data).samples:
        row = resolve(str(sample.gold.class_))
        assert row is not None
        assert (sample.gold.domain, sample.meta["class_number"]) == (row.domain, row.number)
        assert (sample.gold.label == "safe") == (row.number == 0)


def test_the_risky_step_of_real_mutants_is_the_last(released_data: Path) -> None:
    """True of all 593 records that were looked at (also with the output for class 2)."""
    mutants = [s for s in _load(released_data).samples if s.gold.label == "unsafe"]
    assert len(mutants) == 68
    for sample in mutants:
        assert sample.meta["risky_step"] == sample.meta["steps"] - 1
        last = sample.view["trajectory"][-1]
        assert last["role"] == ("tool" if sample.meta["class_number"] == 2 else "agent")


def test_a_risky_step_that_is_not_there_is_said(
    record: dict[str, Any], write: Callable[..., Path]
) -> None:
    record["mutation_metadata"]["internal_meta"] = {"ghost_tool_name": "another"}
    data = _load(write(record))
    assert data.samples[-1].meta["risky_step"] is None
    assert "No risky step is found in 1 HallucinatedTool." in data.notes


def test_clusters_are_the_source_trajectories(released_data: Path, mutants: list[Any]) -> None:
    samples = _load(released_data / "golden_sample.jsonl").samples
    sources = {
        (r["golden_meta"]["source_model"], r["original_trace"]["user_query"])
        for r in mutants
        if "golden_meta" in r
    }
    assert len({s.cluster for s in samples}) == len(sources) == 29
    # The rewritten query of a mutant does not tear it from its original.
    assert {s.cluster for s in samples if s.gold.label == "safe"} == {s.cluster for s in samples}


def test_meta_tells_what_breakdowns_need(
    record: dict[str, Any], write: Callable[..., Path]
) -> None:
    sample = _load(write(record)).samples[-1]
    assert sample.meta == {
        "class_number": 7,
        "generator": "someone",
        "steps": 2,
        "calls": 1,
        "tools": 1,
        "chars": len("List the folder.") + len('{"name": "list_files", "arguments": {}}'),
        "risky_step": 1,
        "kind": "mutant",
    }


def test_the_order_is_by_class_and_id_whatever_the_file_says(
    released_data: Path, tmp_path: Path
) -> None:
    lines = (released_data / "golden_sample.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "x.jsonl").write_bytes(b"".join(reversed(lines)))
    turned = _load(tmp_path / "x.jsonl").samples
    samples = _load(released_data / "golden_sample.jsonl").samples
    assert turned == samples
    keys = [(s.meta["class_number"], s.id) for s in samples]
    assert keys == sorted(keys)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_limit_is_a_subset_of_a_larger_one(released_data: Path, seed: int) -> None:
    path = released_data / "golden_sample.jsonl"
    everything = _load(path).samples
    chosen: list[set[str]] = []
    for limit in (1, 4, 6, 99):
        samples = _load(path, limit=limit, seed=seed).samples
        counts = Counter(s.gold.class_ for s in samples)
        assert all(n == min(limit, 32 if c == "Benign" else 8) for c, n in counts.items())
        assert len(counts) == 5
        assert samples == tuple(s for s in everything if s.id in {x.id for x in samples})
        chosen.append({s.id for s in samples})
    assert chosen[0] < chosen[1] < chosen[2] < chosen[3]


def test_the_seed_chooses(released_data: Path) -> None:
    path = released_data / "golden_sample.jsonl"
    ids = [{s.id for s in _load(path, limit=3, seed=seed).samples} for seed in (0, 1)]
    assert ids[0] != ids[1]


def test_views(released_data: Path) -> None:
    path = released_data / "golden_sample.jsonl"
    assert {tuple(s.view) for s in _load(path).samples} == {("user_query", "tools", "trajectory")}
    shown = _load(path, view="released").samples
    assert {tuple(s.view) for s in shown} == {("trace",)}
    assert all("is_distractor" in s.view["trace"]["tool_lists"][0] for s in shown)
    judge = _load(path).rule_judges["schema_rules"]
    assert [judge(s) for s in shown] == [judge(s) for s in _load(path).samples]


def test_our_own_set(bfcl_folder: Path) -> None:
    data = _load(None, per_class=10, distractors="4", limit=5)
    counts = Counter(s.gold.class_ for s in data.samples)
    assert counts == dict.fromkeys(("Benign", *(row.name for row in CLASSES)), 5)
    assert data.notes == ("Built from BFCL: 130 records of 13 classes.",)
    assert set(data.fingerprint) == {"bfcl", "own set"}
    assert all(s.cluster.startswith("multi_turn_") for s in data.samples)
    assert {s.meta["generator"] for s in data.samples} == {"bfcl-ground-truth"}
    more = _load(None, per_class=10, distractors="4", limit=8)
    assert {s.id for s in data.samples} < {s.id for s in more.samples}
    assert {"benign", "decoy", "mutant"} == {s.meta["kind"] for s in more.samples}
    assert data.fingerprint == more.fingerprint


def test_a_set_of_base_trajectories_in_a_file(released_data: Path) -> None:
    """The noise of the released trajectories (late tools, text for lists) stands in no way."""
    file = released_data / "seeds_qwen.jsonl"
    data = _load(None, base=str(file), per_class=6)
    counts = Counter(s.gold.class_ for s in data.samples)
    assert set(counts.values()) == {6}
    assert len(counts) == 13
    assert data.notes[0] == "Built from seeds_qwen.jsonl: 78 records of 13 classes."
    assert set(data.fingerprint) == {"seeds_qwen.jsonl", "own set"}
    assert {s.meta["generator"] for s in data.samples} != {"bfcl-ground-truth"}


def test_errors_of_a_file_reach_the_user(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        _load(tmp_path / "nothing.jsonl")
