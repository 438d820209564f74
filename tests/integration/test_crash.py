"""A real process is killed at random moments: nothing computed is lost, the end is the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT, hear_interrupts
from trace.tracking.files import read_jsonl

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_set")]

COMMON = ["limit=1", "benchmark.distractors=0", "tracking.mode=disabled"]
JOBS = {
    "score": ["protocol.answer=score", "protocol=binary"],
    "generate": ["protocol=binary", "sampling.max_new_tokens=6", "model.engine.decode_rows=2",
                 "scoring.max_unscored=1"],
}  # fmt: skip


def start(arguments: list[str], output_dir: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "trace.run", *arguments, f"output_dir={output_dir}"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=hear_interrupts,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> Path:
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    return Path(out.rstrip().splitlines()[-1].removeprefix("run: "))


def timed(arguments: list[str], output_dir: Path) -> tuple[Path, float]:
    began = time.monotonic()
    return finish(start(arguments, output_dir)), time.monotonic() - began


@pytest.mark.parametrize("job", JOBS)
def test_killed_ten_times_and_resumed_a_run_ends_byte_identical(job: str, tmp_path: Path) -> None:
    arguments = [*COMMON, *JOBS[job]]
    undisturbed, whole = timed(arguments, tmp_path / "undisturbed")
    _, idle = timed(arguments, tmp_path / "undisturbed")  # everything but the model's work
    moments = random.Random(job)
    killed, folder = 0, 0
    while killed < 10:
        process = start(arguments, tmp_path / f"killed_{folder}")
        try:
            process.wait(timeout=moments.random() * (idle + (whole - idle) / 5))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            killed += 1
        else:  # it came through: what it wrote counts too, and the next begins anew
            compare(finish(process), undisturbed)
            folder += 1
            assert folder < 20, "the runs end before they can be killed"
    compare(finish(start(arguments, tmp_path / f"killed_{folder}")), undisturbed)
    for log in tmp_path.glob("killed_*/completions"):
        keys = [line["key"] for segment in log.rglob("*.jsonl") for line in read_jsonl(segment)]
        assert len(keys) == len(set(keys)), "a finished completion was made twice"


def compare(resumed: Path, undisturbed: Path) -> None:
    assert resumed.name == undisturbed.name
    for name in ("records.jsonl", "metrics.json", "report.md"):
        assert (resumed / name).read_bytes() == (undisturbed / name).read_bytes()
    leftovers = [p for p in resumed.rglob(".*") if p.name != ".lock"]
    assert not leftovers


def test_ctrl_c_keeps_what_was_finished_and_exits_with_130(tmp_path: Path) -> None:
    process = start([*COMMON, *JOBS["score"]], tmp_path)
    log = tmp_path / "completions" / "smollm2"
    for _ in range(6000):  # whatever the pace of the machine
        if any(p.stat().st_size for p in log.glob("*.jsonl")):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "same command goes on" in err
    assert any(list(read_jsonl(p)) for p in log.glob("*.jsonl"))


def test_one_model_load_for_the_four_protocols(tmp_path: Path) -> None:
    code = (
        "import sys; from trace.models.hf.load import Source; from trace.run import main\n"
        "load, count = Source.load_weights, []\n"
        "Source.load_weights = lambda *a, **k: (count.append(1), load(*a, **k))[1]\n"
        "status = main(sys.argv[1:]); print('loads:', len(count)); sys.exit(status)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "-m", "limit=1", "benchmark.distractors=0",
         "protocol.answer=score", "tracking.mode=disabled", f"output_dir={tmp_path}"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("run: ") == 4
    assert "loads: 1" in ran.stdout
