"""One W&B run for a job. The library is imported when a job is tracked, never before."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from trace.config import Tracking
from trace.errors import ConfigError
from trace.records import Json
from trace.tracking.files import safe_name
from trace.tracking.secrets import redact
from trace.tracking.tracker import Tracker, first_line

INIT_SECONDS = 15.0
"""How long W&B may take to answer before a run goes on offline."""
FINISH_SECONDS = 300.0
"""How long an upload may take at the end. What is left stays on disk for `wandb sync`."""

AFTER_FAILURE = {"online": "tracked offline", "offline": "not tracked"}
INSTEAD = {"online": "auto, which goes offline by itself", "offline": "disabled"}

_log = logging.getLogger(__name__)
_silent_hosts: dict[str, str] = {}
"""Those that did not answer, and why: asked once a process, not once a job."""


@contextmanager
def track(
    settings: Tracking,
    *,
    run_id: str,
    name: str,
    group: str | None,
    config: Mapping[str, Json],
    folder: Path,
    job_type: str = "evaluate",
) -> Iterator[Tracker]:
    """A W&B run around a job; marked as failed when the job raises.

    The same `run_id` continues the same run: online by W&B's resuming. Offline every attempt makes
    a folder of its own. `wandb sync` (0.31) uploads all that have one id to one run, oldest first;
    a job that ends well, having logged everything again, removes the folders of earlier attempts.

    Args:
        settings: `auto` is online when the user is logged in and W&B answers, else offline; it
            heeds WANDB_MODE. `online` and `offline` are taken at their word, `disabled` does not
            even import the library.
        run_id: derived from the hash of the run.
        name: what W&B shows.
        group: shared by the jobs of a multirun.
        config: the resolved configuration; credentials are taken out here.
        folder: where all files go, `<output_dir>/wandb` (W&B itself insists on the last name).
        job_type: the task.

    Raises:
        ConfigError: `online` was asked for, and there is no login or no answer; or `offline`, and
            W&B cannot start.
    """
    if folder.name != "wandb":
        raise ValueError(f"the folder of W&B has to be named wandb: {folder}")
    mode = settings.mode
    if mode == "auto":
        asked = os.environ.get("WANDB_MODE", "")
        mode = {"offline": "offline", "dryrun": "offline", "disabled": "disabled"}.get(asked, mode)
    if mode == "disabled":
        yield Tracker(None, upload=settings.upload, online=False)
        return
    with _environment(folder, mode):
        arguments: dict[str, Any] = {
            "dir": str(folder.parent),
            "project": safe_name(settings.project),
            "entity": settings.entity,
            "id": safe_name(run_id, 64),
            "name": safe_name(name),
            "group": None if group is None else safe_name(group),
            "job_type": job_type,
            "config": redact(config),
        }
        run, online, failures = _start(mode, arguments)
        if run is not None:
            # Staged copies lie with their run, so that deleting its folder deletes all of it.
            os.environ["WANDB_DATA_DIR"] = str(Path(run.dir).parent)
        tracker = Tracker(run, upload=settings.upload, online=online, failures=failures)
        exit_code = 1
        try:
            yield tracker
            exit_code = 0
        finally:
            tracker.finish(exit_code)


def _start(mode: str, arguments: Mapping[str, Any]) -> tuple[Any, bool, list[str]]:
    """The run, whether it is online, and what failed; no run when `auto` finds no way."""
    import wandb

    host = os.environ.get("WANDB_BASE_URL", "W&B")
    ways = {"auto": ("online", "offline")}.get(mode, (mode,))
    problem = ""
    failures: list[str] = []
    for way in ways:
        if way == "online" and mode == "auto" and host in _silent_hosts:
            failures.append(_silent_hosts[host])
            continue
        try:
            if way == "online" and not wandb.login(prompt=False, verify=False):
                problem = "you are not logged in to W&B (type `wandb login` or set WANDB_API_KEY)"
                continue
            return _begin(way, arguments), way == "online", failures
        except Exception as error:  # whatever W&B raises: a job can do without it
            problem = f"{host} cannot be used ({first_line(error)})"
            with suppress(Exception):  # its service would hold on to the id of this attempt
                wandb.teardown()
            if mode == "auto":
                failures.append(redact(problem))
                if way == "online":
                    _silent_hosts[host] = failures[-1]
                _log.warning("W&B: %s. The run is %s.", problem, AFTER_FAILURE[way])
    if mode == "auto":
        return None, False, failures
    raise ConfigError(
        f"tracking.mode: {mode}, but {problem}. Or use tracking.mode={INSTEAD[mode]}."
    )


def _begin(way: str, arguments: Mapping[str, Any]) -> Any:
    import wandb

    settings = wandb.Settings(
        mode=way,
        resume="allow",
        reinit="create_new",
        console="off",
        silent=True,
        save_code=False,
        disable_code=True,
        disable_git=True,  # the address of a remote may hold a credential
        x_disable_machine_info=True,  # nor the command line; the manifest has both, redacted
        init_timeout=INIT_SECONDS,
        finish_timeout=FINISH_SECONDS,
        finish_timeout_raises=True,
    )
    return wandb.init(**arguments, settings=settings)


@contextmanager
def _environment(folder: Path, mode: str) -> Iterator[None]:
    """Keeps W&B quiet and inside `folder`; the environment is put back afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {
        "WANDB_DIR": str(folder.parent),
        "WANDB_DATA_DIR": str(folder / "staging"),
        "WANDB_CACHE_DIR": str(folder / "cache"),
        "WANDB_ARTIFACT_DIR": str(folder / "artifacts"),
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_SILENT": "true",
        "WANDB_CONSOLE": "off",
    }
    if mode != "auto":
        wanted["WANDB_MODE"] = mode
    before = _variables()
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name in _variables():  # the library adds some of its own
            del os.environ[name]
        os.environ.update(before)


def _variables() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k.startswith("WANDB_")}
