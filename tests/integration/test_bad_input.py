"""What a user can get wrong: one message that says what and where, exit 2, nothing half-written."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Door
from trace.models import log as completion_log

MOCK = ["model=mock", "model.rates={default: 0.9}"]


def refused(door: Door, tmp_path: Path, *arguments: str) -> str:
    ran = door(*arguments)
    assert ran.status == 2, ran.out + ran.err
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1, f"one message: {ran.err}"
    assert "Traceback" not in ran.err
    outputs = tmp_path / "outputs"
    left = [p for p in outputs.rglob("*") if p.is_file()] if outputs.is_dir() else []
    assert not [p for p in left if "conf-" not in str(p)], left
    return ran.err


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("benchmark=tracesfe", "Did you mean tracesafe?"),
        ("model=smolm2", "Did you mean smollm2?"),
        ("protocol=fin", "Did you mean fine"),
        ("judges.models.a=smollm2", "judges=panel"),
        ("limt=3", "Did you mean limit?"),
        ("+limt=3", "Did you mean limit?"),
        ("benchmark.pth=x", "Did you mean benchmark.path or"),
        ("limit=many", "could not be converted to Integer"),
        ("limit=0", "below 1"),
        ("limit=-4", "below 1"),
        ("limit=2.5", "could not be converted to Integer"),
        ("benchmark.path=/no/such/file.jsonl", "/no/such/file.jsonl"),
        ("key=a=b,[c", "has to be quoted. Type 'key=\"a=b,[c\"'"),
        ("benchmark.path=数据.jsonl", "Type 'benchmark.path=\"数据.jsonl\"'"),
        ("limit", "Write key=value"),
        ("sweeps=tracesafe_pilot", "+sweeps"),
    ],
)
@pytest.mark.parametrize("many", [False, True])
def test_on_the_command_line(
    door: Door, tmp_path: Path, argument: str, says: str, many: bool
) -> None:
    flag = ["-m"] if many and "path" not in argument else []
    assert says in refused(door, tmp_path, *flag, *MOCK, argument)


GOOD: dict[str, Any] = {
    "mutation_category": "HALLUCINATION",
    "mutation_metadata": {"mutator_name": "HallucinatedTool", "target_tool": "ls",
                          "internal_meta": {"ghost_tool_name": "dir"}},
    "difference": {},
}  # fmt: skip


def record(query: str = "List the files.", **changes: Any) -> dict[str, Any]:
    def trace(tool: str) -> dict[str, Any]:
        listed = {"name": "ls", "description": "Lists files.", "parameters": {},
                  "prototype": "def ls() -> Any: pass", "is_distractor": False}  # fmt: skip
        return {
            "domain": "d", "user_query": query, "scenario_description": "s", "environment": "e",
            "tool_lists": [listed], "agent_model": "m",
            "trace": [{"role": "user", "content": query},
                      {"role": "agent", "content": {"name": tool, "arguments": {}}}],
        }  # fmt: skip

    return GOOD | {"original_trace": trace("ls"), "new_trace": trace("dir")} | changes


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {k: v for k, v in value.items() if k != name}


def lines(*values: Any) -> bytes:
    return "".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values).encode()


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (LFS, "LFS"),
        (lines(record()) + b'{"broken": \n' + lines(record("Other.")), "data.jsonl:2"),
        (lines(record(), without(record("Other."), "new_trace")), "new_trace"),
        (lines(record(), record()), "data.jsonl:2"),
        (lines(record(id="x"), record("Other.", id="x")), "x"),
        (lines(record()) + "caf\u00e9 ".encode("latin-1") + b"\n", "UTF-8"),
        (lines(record()) + json.dumps(record("Other.")).encode("utf-16") + b"\n", "UTF-8"),
    ],
)
def test_in_the_data(door: Door, tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "data.jsonl"
    file.write_bytes(content)
    message = refused(door, tmp_path, *MOCK, f"benchmark.path={file}")
    assert says in message
    assert str(file) in message


def test_an_empty_folder(door: Door, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    assert "data" in refused(door, tmp_path, *MOCK, f"benchmark.path={tmp_path / 'data'}")


def test_line_separators_inside_strings_are_text(door: Door, tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_bytes(lines(record("One\u2028two\u0085three."), record("Four.")))
    ran = door(*MOCK, f"benchmark.path={file}")
    assert ran.status == 0, ran.err
    assert len(ran.records()) == 4


@pytest.mark.parametrize("many", [[], ["-m"]])
def test_an_output_folder_below_a_file(door: Door, tmp_path: Path, many: list[str]) -> None:
    (tmp_path / "file").write_text("")
    ran = door(*many, *MOCK, output_dir=tmp_path / "file" / "outputs")
    assert ran.status == 2
    assert ran.err.startswith("error: output_dir")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["model.rates={Benin: 0.2}"], "Did you mean Benign?"),
        (["model.rates={ApiKeyLeak: 0.3}"], "no rate for"),
        (["model=smollm2", "model.id=/no/such/model", "model.asset=null"], "/no/such/model"),
        (["model=smollm2", "model/engine=mock"], "model=mock"),
        (["model=smollm2", "model.engine.device=nowhere"], "model.engine.device=nowhere"),
        (["protocol.tools=false", "benchmark.view=released"], "benchmark.view=clean"),
        (["condition=cot", "protocol.answer=score"], "protocol.answer=generate"),
        (["runs=outputs"], "task=compare"),
        (["+sweeps=tracesafe_pilot"], "Add -m"),
        (["condition=few_shot", "limit=1"], "Raise limit"),
    ],
)
@pytest.mark.usefixtures("own_set")
def test_what_cannot_work_together(
    door: Door, tmp_path: Path, arguments: list[str], says: str
) -> None:
    base = [] if "model=smollm2" in arguments else ["model=mock"]
    rates = [] if base == [] or "rates" in arguments[0] else ["model.rates={default: 0.9}"]
    limit = [] if "limit=1" in arguments else ["limit=1"]
    assert says in refused(door, tmp_path, *base, *rates, *limit, *arguments)


def test_all_files_are_looked_for_before_the_first_job(
    door: Door, tmp_path: Path, shared_data: Path
) -> None:
    good = shared_data / "tracesafe" / "golden_sample.jsonl"
    ran = door("-m", *MOCK, f"benchmark.path={good},/no/such.jsonl")
    assert ran.status == 2
    assert "1 of 2 jobs cannot run" in ran.err
    assert "run: " not in ran.out


@pytest.mark.usefixtures("own_set")
def test_a_full_disk_while_the_results_are_written(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "metrics.json")

    monkeypatch.setattr(Path, "replace", full)
    ran = door(*MOCK, "limit=2")
    assert ran.status == 2
    assert "metrics.json: No space left on device" in ran.err
    assert ran.err.count("error: ") == 1
    monkeypatch.undo()
    monkeypatch.chdir(Path(__file__).parents[2])
    assert real is os.replace
    assert door(*MOCK, "limit=2").status == 0


@pytest.mark.usefixtures("own_set")
def test_a_full_disk_loses_nothing_and_the_same_command_goes_on(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = door(*MOCK, "limit=20", output_dir=tmp_path / "undisturbed")
    real, written = os.write, 0

    def full_disk(fd: int, data: bytes) -> int:
        nonlocal written
        if b'"key"' not in bytes(data):
            return real(fd, data)
        if written > 15_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        written += (n := real(fd, data[: max(1, len(data) // 2)]))
        return n

    monkeypatch.setattr(completion_log.os, "write", full_disk)
    ran = door(*MOCK, "limit=20")
    assert ran.status == 2
    assert "No space left" in ran.err
    monkeypatch.undo()
    kept = sum(p.read_bytes().count(b"\n") for p in (tmp_path / "outputs").rglob("2*.jsonl"))
    assert 0 < kept < 100
    monkeypatch.chdir(Path(__file__).parents[2])
    again = door(*MOCK, "limit=20")
    assert again.status == 0, again.err
    for name in ("records.jsonl", "metrics.json"):
        assert (again.folder / name).read_bytes() == (whole.folder / name).read_bytes()
