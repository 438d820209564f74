from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from trace.errors import BusyError, ConfigError
from trace.records import digest
from trace.tracking.rundir import check_writable, open_run, run_path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("runs", "tracesafe", "smollm2", "plain")
HOLD = """
import sys, time
from trace.tracking.rundir import open_run
with open_run(sys.argv[1], ("runs", "tracesafe", "smollm2", "plain"), "schema", {"seed": 0}) as run:
    (run.path / ".tmp-0badcafe-records.jsonl").write_text("half")
    print("held", flush=True)
    time.sleep(600)
"""


def test_one_directory_for_every_configuration(tmp_path: Path) -> None:
    with open_run(tmp_path, PARTS, "schema", {"seed": 0}) as run:
        assert run.digest == digest({"seed": 0})
        wanted = tmp_path.joinpath(*PARTS, f"schema-{run.digest[:8]}")
        assert run.path == wanted == run_path(tmp_path, PARTS, "schema", {"seed": 0})
        assert run.path.is_dir()
        (run.path / "records.jsonl").write_text("kept")
    with open_run(tmp_path, PARTS, "schema", {"seed": 0}) as again:
        assert (again.path / "records.jsonl").read_text() == "kept"
    with open_run(tmp_path, PARTS, "schema", {"seed": 1}) as other:
        assert other.path != again.path


def test_names_cannot_leave_the_output_folder(tmp_path: Path) -> None:
    path = run_path(tmp_path, ("runs", "..", "org/model", "."), "../../x", {})
    assert path.parts[: len(tmp_path.parts) + 1] == (*tmp_path.parts, "runs")
    assert ".." not in path.parts
    assert len(path.relative_to(tmp_path).parts) == 5


def test_a_second_holder_in_one_process_is_refused(tmp_path: Path) -> None:
    with (
        open_run(tmp_path, PARTS, "schema", {}),
        pytest.raises(BusyError),
        open_run(tmp_path, PARTS, "schema", {}),
    ):
        pass


def test_it_is_released_when_the_work_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), open_run(tmp_path, PARTS, "schema", {}):
        raise RuntimeError
    with open_run(tmp_path, PARTS, "schema", {}):
        pass


def test_a_process_holds_it_until_it_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        path = run_path(tmp_path, PARTS, "schema", {"seed": 0})
        with (
            pytest.raises(BusyError, match="another process") as refusal,
            open_run(tmp_path, PARTS, "schema", {"seed": 0}),
        ):
            pass
        assert str(path) in str(refusal.value)
        with open_run(tmp_path, PARTS, "schema", {"seed": 1}):
            pass  # another configuration is free
        holder.kill()  # SIGKILL: nothing of the holder's own runs
    with open_run(tmp_path, PARTS, "schema", {"seed": 0}) as run:
        assert [file.name for file in run.path.iterdir()] == [".lock"]  # what it left is gone


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for output_dir in (file, file / "below", file / "far" / "below"):
        with pytest.raises(ConfigError, match=r"output_dir: .*output_dir=FOLDER"):
            check_writable(output_dir)
        with pytest.raises(ConfigError, match="output_dir"), open_run(output_dir, PARTS, "s", {}):
            pass


def test_looking_leaves_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "not" / "yet")
    check_writable(tmp_path)
    assert list(tmp_path.iterdir()) == []
