"""A run directory and the W&B run of the same job, held together."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trace import config
from trace.records import Json
from trace.tracking.files import write_json
from trace.tracking.rundir import RunDir, open_run
from trace.tracking.tracker import Tracker
from trace.tracking.wandb_run import track

logger = logging.getLogger(__name__)


@contextmanager
def tracked_run(
    settings: config.Root,
    *,
    parts: tuple[str, ...],
    stem: str | None,
    hashed: Json,
    group: str | None,
    name: str | None = None,
) -> Iterator[tuple[RunDir, Tracker]]:
    """Holds the run directory of `hashed` and tracks the job that writes it.

    What W&B failed to take is kept in the manifest, under `tracking`.

    Args:
        settings: the configuration of the job.
        parts: the folders below `output_dir`.
        stem: the beginning of the directory's name; None for the hash alone.
        hashed: JSON of all that can change the result.
        group: what the jobs of one multirun share; None outside one.
        name: what W&B shows before the hash; the folders without one.

    Raises:
        BusyError: another process holds the directory.
        ConfigError: it cannot be written, or W&B cannot be used as asked.
    """
    with open_run(settings.output_dir, parts, stem, hashed) as run_dir:
        with track(
            settings.tracking,
            run_id=run_dir.digest[:16],
            name=f"{name or '/'.join(parts)}-{run_dir.digest[:8]}",
            group=group,
            config=config.plain(settings),
            folder=Path(settings.output_dir) / "wandb",
            job_type=settings.task.name,
        ) as tracker:
            if tracker.gives_away and settings.benchmark.sensitive:
                logger.warning(
                    "W&B gets all records and files of this run, unsafe texts among them; "
                    "tracking.upload=metrics sends numbers alone"
                )
            yield run_dir, tracker
        if tracker.where is not None or tracker.failures:
            _remember(run_dir.path / "manifest.json", tracker.failures)


def last_lines(folder: Path, tracker: Tracker) -> str:
    """What a task ends with: how often W&B failed, if it did, and where the results are."""
    count, end = len(tracker.failures), f"run: {folder}"
    if not count:
        return end
    times = "once" if count == 1 else f"{count} times"
    return f"note: W&B failed {times}: {'; '.join(tracker.failures)}. All of it is in:\n{end}"


def _remember(path: Path, failures: Sequence[str]) -> None:
    """Keeps in the manifest what W&B did not get, and forgets it once it did."""
    if not path.is_file():
        return
    manifest = json.loads(path.read_bytes())
    before = manifest.pop("tracking", None)
    if failures:
        manifest["tracking"] = {"failures": list(failures)}
    if manifest.get("tracking") != before:
        write_json(path, manifest)
