"""Each test tracks in a process of its own: W&B keeps settings and a service a process."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tracking.wandb_job import JOB, KEY, LOGGED, ROOT, SECRET, Job
from trace.config import Tracking
from trace.tracking.wandb_run import track


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.mark.slow
def test_wandbs_own_inspector_finds_everything(job: Job) -> None:
    stdout, stderr = job.run()
    assert stderr == ""  # W&B says nothing on the terminal
    (log,) = job.logs()
    assert f"where {log.parent}" in stdout.splitlines()
    summary = json.loads(job.inspect(log, "--summary"))
    assert {k: summary["summary"].get(k) for k in LOGGED} == LOGGED
    assert summary["summary"]["auroc_reason"] == "no scores"
    assert "auroc" not in summary["summary"]
    assert summary["config"] == {
        "model": {"name": "m", "key": None},
        "note": "says [redacted]",
    }
    assert (summary["run_id"], summary["name"]) == ("schema-01234567", "org-model-schema")
    assert summary["exit_code"] == 0

    records = [json.loads(line) for line in job.inspect(log).splitlines()]
    (history,) = [r["history"]["item"] for r in records if "tpr" in str(r.get("history"))]
    assert {k: v for k, v in history.items() if k[0] != "_"} == LOGGED
    artifacts = {r["artifact"]["type"]: r["artifact"] for r in records if r["type"] == "artifact"}
    directory = {c["path"] for c in artifacts["run-directory"]["manifest"]["contents"]}
    assert directory == {"metrics.json", "figures/a.png"}
    (table,) = log.parent.glob("files/media/table/*.table.json")
    assert json.loads(table.read_text()) == {
        "columns": ["id", "gold_label", "completion_text", "completion_n"],
        "data": [
            ["a", "safe", "<b>marked</b> {x}", 1],
            ["b", None, "lone \\ud800 [redacted]", 2],
        ],
    }
    (listed,) = artifacts["run_table"]["manifest"]["contents"]
    assert json.loads(Path(listed["local_path"]).read_text())["data"][0][0] == "a"
    assert log.parent in Path(listed["local_path"]).parents  # staged inside the run's own folder


@pytest.mark.slow
def test_auto_without_a_login_is_offline_and_a_failed_job_marked(job: Job) -> None:
    stdout, stderr = job.run(settings={"mode": "auto"}, fail=True)
    assert "the job failed" in stdout
    assert stderr == ""
    (log,) = job.logs()
    assert log.parent.name.startswith("offline-run-")
    assert json.loads(job.inspect(log, "--summary"))["exit_code"] == 1


@pytest.mark.slow
def test_a_key_of_the_wrong_form_is_no_obstacle(job: Job) -> None:
    _, stderr = job.run({"WANDB_API_KEY": "short key"}, settings={"mode": "auto"})
    assert stderr.count("WARNING") == 1 == len(stderr.splitlines())
    assert "short key" not in stderr
    assert len(job.logs()) == 1


@pytest.mark.slow
def test_a_key_without_a_network_warns_once_and_goes_offline(job: Job) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound but not listening: every connection is refused
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        key = {"WANDB_API_KEY": KEY, "WANDB_BASE_URL": url}
        _, stderr = job.run(key, settings={"mode": "auto"}, attempts=2, seconds=1)
    assert stderr.count("WARNING") == 1 == len(stderr.splitlines())
    assert "tracked offline" in stderr
    (log,) = [log for log in job.logs() if log.parent.name.startswith("offline-run-")]
    assert json.loads(job.inspect(log, "--summary"))["summary"]["tpr"] == 0.8125


@pytest.mark.slow
def test_a_resumed_job_continues_its_run_online(job: Job, wandb_server: Any) -> None:
    key = {"WANDB_API_KEY": KEY, "WANDB_BASE_URL": wandb_server.url}
    settings = {"mode": "auto", "upload": "metrics"}
    for _ in range(2):
        stdout, stderr = job.run(key, settings=settings)
        assert stderr == ""
        assert f"where {wandb_server.url}/me/p/runs/schema-01234567" in stdout.splitlines()
    assert list(wandb_server.runs) == ["schema-01234567"]
    (row,) = wandb_server.history["schema-01234567"]  # the same numbers are no second row
    summary = wandb_server.summaries["schema-01234567"]
    assert {k: row.get(k) for k in LOGGED} == {k: summary.get(k) for k in LOGGED} == LOGGED
    assert summary["auroc_reason"] == "no scores"
    first = wandb_server.upserts[0]
    assert (first["displayName"], first["groupName"]) == ("org-model-schema", "g")
    sent = "\n".join(body for _, body in wandb_server.sent)
    assert "tpr_low" in sent
    for kept_back in (SECRET, KEY, "marked", socket.gethostname()):
        assert kept_back not in sent


@pytest.mark.slow
def test_offline_attempts_are_one_run_once_synced(job: Job, wandb_server: Any) -> None:
    worse = {"schema": 1, "metrics": {"tpr": {"value": 0.125}}}
    settings = {"mode": "offline", "upload": "metrics"}
    job.run(settings=settings, metrics=worse, fail=True)
    job.run(settings=settings, fail=True)
    assert len(job.logs()) == 2
    assert '"type":"artifact"' not in job.inspect(job.logs()[0])  # only metrics: no records
    assert not [f for f in job.files() if b"marked" in f.read_bytes()]
    key = {"WANDB_API_KEY": KEY, "WANDB_BASE_URL": wandb_server.url}
    command = [sys.executable, "-m", "wandb", "sync", str(job.out / "wandb")]
    quiet = {"WANDB_ERROR_REPORTING": "false", "WANDB_CACHE_DIR": str(job.out / "wandb/cache")}
    subprocess.run(
        command, cwd=job.out, env=job.clean | key | quiet, check=True, capture_output=True
    )
    assert list(wandb_server.runs) == ["schema-01234567"]
    summary = wandb_server.summaries["schema-01234567"]
    assert {k: summary.get(k) for k in LOGGED} == LOGGED  # the last attempt stands

    job.run(settings=settings, attempts=2)
    assert len(job.logs()) == 1  # a job that ends well makes the others superfluous


@pytest.mark.parametrize(
    ("mode", "environment"), [("disabled", {}), ("auto", {"WANDB_MODE": "disabled"})]
)
def test_disabled_does_not_even_import(job: Job, mode: str, environment: dict[str, str]) -> None:
    stdout, stderr = job.run(environment, settings={"mode": mode})
    assert stdout.splitlines() == ["where None", "imported False"]
    assert stderr == ""
    assert not (job.out / "wandb").exists()


def test_online_is_taken_at_its_word(job: Job) -> None:
    ask = JOB.replace("except RuntimeError", "except wandb_run.ConfigError")
    assert ask != JOB
    given = {"out": str(job.out), "note": "", "metrics": {}, "rows": [],
             "settings": {"mode": "online"}}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", ask, json.dumps(given)],
        cwd=ROOT, env=job.clean, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=True, timeout=60,
    )  # fmt: skip
    assert "not logged in" in done.stdout
    assert "tracking.mode=auto" in done.stdout
    assert job.logs() == []


def test_the_folder_has_the_name_that_wandb_wants(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="named wandb"),
        track(Tracking(), run_id="a", name="a", group=None, config={}, folder=tmp_path),
    ):
        pass
