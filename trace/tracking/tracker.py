"""What is logged of a job: metrics, tables and the run directory, as W&B takes them."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trace.records import Json
from trace.tracking.files import safe_name
from trace.tracking.flatten import columns, numbers_and_reasons
from trace.tracking.secrets import redact

MAX_ROWS = 10_000
"""Rows of a table; W&B cuts longer ones."""

_log = logging.getLogger(__name__)


class Tracker:
    """Logs one job.

    `where` says where it can be seen; None when it is not tracked. `gives_away` says whether
    records and artefacts leave the machine. A failure of W&B is a warning and one of `failures`,
    never the end of a job: everything is in the run directory.
    """

    def __init__(
        self, run: Any, *, upload: str, online: bool, failures: Sequence[str] = ()
    ) -> None:
        self._run, self._upload = run, upload
        self.gives_away = run is not None and online and upload == "all"
        self.failures = list(failures)
        self.where: str | None = None
        if run is not None:
            self.where = run.url if online else str(Path(run.dir).parent)

    def metrics(self, metrics: Mapping[str, Json]) -> None:
        """Logs every number of a `metrics.json` under a flat name, and the reasons of the nulls.

        `{"tpr": {"value": 0.5, "low": 0.4, …}}` becomes `tpr`, `tpr_low` and so on.
        """
        if self._run is None:
            return
        with self._spared("metrics"):
            numbers, reasons = numbers_and_reasons(metrics)
            # A resumed run has its old summary: what stands there needs no second row of history.
            # No step is given: W&B counts on by itself, and drops rows whose step goes back.
            known = self._run.summary
            if new := {name: n for name, n in numbers.items() if known.get(name) != n}:
                self._run.log(new)
            self._run.summary.update(reasons)

    def table(self, name: str, rows: Sequence[Mapping[str, Json]]) -> None:
        """Logs rows as a table of plain values, unless only metrics may be uploaded."""
        if self._run is None or self._upload == "metrics" or not rows:
            return
        import wandb

        if len(rows) > MAX_ROWS:
            _log.warning("W&B: the table %s holds %d of %d rows", name, MAX_ROWS, len(rows))
        with self._spared(name):
            names, cells = columns([redact(row) for row in rows[:MAX_ROWS]])
            self._run.log({safe_name(name): wandb.Table(columns=names, data=cells)})

    def artifact(self, run_directory: Path) -> None:
        """Logs the files of the run directory, unless only metrics may be uploaded.

        Hidden files (the lock, unfinished ones) stay out.
        """
        if self._run is None or self._upload == "metrics":
            return
        import wandb

        with self._spared("artifact"):
            artifact = wandb.Artifact(safe_name(f"run-{self._run.id}"), type="run-directory")
            for file in sorted(run_directory.rglob("*")):
                inside = file.relative_to(run_directory)
                if file.is_file() and not any(part.startswith(".") for part in inside.parts):
                    artifact.add_file(str(file), name=inside.as_posix(), skip_cache=True)
            self._run.log_artifact(artifact)

    def finish(self, exit_code: int) -> None:
        """Ends the run and waits for its upload, for a limited time."""
        if self._run is None:
            return
        own = Path(self._run.dir).parent
        with self._spared("the end of the run"):
            self._run.finish(exit_code=exit_code)
            if exit_code == 0:
                for log in own.parent.glob(f"offline-run-*/run-{self._run.id}.wandb"):
                    if log.parent != own:
                        shutil.rmtree(log.parent)

    @contextmanager
    def _spared(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            failure = f"{what} could not be logged ({first_line(error)})"
            self.failures.append(redact(failure))
            _log.warning(
                "W&B: %s. `wandb sync --include-online %s` tries again.",
                failure,
                Path(self._run.dir).parent,
            )


def first_line(error: BaseException) -> str:
    """What an error says, on one line; its type where it says nothing."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
