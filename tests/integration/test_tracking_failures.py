"""W&B that fails is said and counted, and ends nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trace.run import main
from trace.tracking import wandb_run

pytestmark = pytest.mark.usefixtures("own_set")

SECRET = "p1anted-secret-0123456789"
RUN = ["model=mock", "model.rates={default: 1}", "limit=1", "scoring.bootstrap_draws=100"]


class Failing:
    """A W&B run that takes nothing."""

    url = "nowhere"
    id = "r"

    def __init__(self, folder: Path) -> None:
        self.dir = str(folder / "files")
        self.summary: dict[str, Any] = {}

    def log(self, *_: Any) -> None:
        raise ConnectionError(f"no route for {SECRET}")

    def log_artifact(self, *_: Any) -> None:
        raise OSError("disk full")

    def finish(self, **_: Any) -> None:
        raise TimeoutError("still uploading")


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.rstrip("\n").splitlines()


def manifest(lines: list[str]) -> dict[str, Any]:
    path = Path(lines[-1].removeprefix("run: ")) / "manifest.json"
    loaded: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return loaded


def test_failures_are_counted_in_the_end_and_kept_until_an_upload_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", SECRET)
    arguments = [*RUN, f"output_dir={tmp_path}/outputs"]
    started: list[Any] = [(Failing(tmp_path), True, [])]
    monkeypatch.setattr(wandb_run, "_start", lambda *_: started[-1])

    assert main([*arguments, "tracking.mode=online"]) == 0
    lines = said(capsys)
    assert lines[-1].startswith("run: ")
    assert lines[-2].startswith("note: W&B failed 4 times: metrics could not be logged (no route")
    failures = manifest(lines)["tracking"]["failures"]
    assert [failure.partition(" could")[0] for failure in failures] == [
        "metrics", "records", "artifact", "the end of the run"
    ]  # fmt: skip
    assert "disk full" in failures[2]
    assert SECRET not in "\n".join([*lines, *failures])
    ended = manifest(lines)["ended"]

    assert main([*arguments, "tracking.mode=disabled"]) == 0  # tells nothing of W&B
    lines = said(capsys)
    assert not [line for line in lines if "W&B" in line]
    assert manifest(lines)["tracking"]["failures"] == failures

    class Working(Failing):
        def log(self, *_: Any) -> None: ...
        def log_artifact(self, *_: Any) -> None: ...
        def finish(self, **_: Any) -> None: ...

    started.append((Working(tmp_path), True, []))
    assert main([*arguments, "tracking.mode=online"]) == 0
    lines = said(capsys)
    assert not [line for line in lines if "W&B" in line]
    assert "tracking" not in manifest(lines)
    assert manifest(lines)["ended"] == ended  # the results are those of the first run


def test_a_server_that_does_not_answer_is_a_failure_of_every_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import wandb

    def refused(*_: Any) -> Any:
        raise ConnectionError("refused")

    monkeypatch.setattr(wandb, "login", lambda **_: True)
    monkeypatch.setattr(wandb_run, "_begin", refused)
    monkeypatch.setattr(wandb_run, "_silent_hosts", {})
    assert main([*RUN, f"output_dir={tmp_path}/outputs", "tracking.mode=auto", "-m",
                 "protocol=binary,fine"]) == 0  # fmt: skip
    lines = said(capsys)
    notes = [line for line in lines if "W&B failed" in line]
    assert len(notes) == 2
    assert all("cannot be used (refused)" in note for note in notes)
    assert len(manifest(lines)["tracking"]["failures"]) == 2  # online and offline
