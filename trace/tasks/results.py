"""What every evaluation leaves in its run directory, and tells W&B."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from omegaconf import OmegaConf

from trace import config
from trace.records import Json
from trace.report.grid import escape
from trace.tracking.files import write_json, write_jsonl, write_text
from trace.tracking.secrets import redact
from trace.tracking.tracker import Tracker


def write_results(
    folder: Path,
    settings: config.Root,
    lines: Sequence[Json],
    result: Mapping[str, Json],
    *,
    report: Sequence[str],
    notes: Sequence[str],
) -> None:
    """Writes all but the manifest and the figures: a function of data, settings and completions.

    Args:
        folder: the run directory.
        settings: the configuration, whose secrets are left out.
        lines: of records.jsonl.
        result: `metrics` and `breakdowns`.
        report: the tables in Markdown.
        notes: what has to be said below them.
    """
    write_text(folder / "config.yaml", OmegaConf.to_yaml(redact(config.plain(settings))))
    write_jsonl(folder / "records.jsonl", lines)
    write_json(folder / "metrics.json", {"schema": 1, **result})
    said = [f"Note: {escape(note)}" for note in notes]
    write_text(folder / "report.md", "\n\n".join([*report, *said]) + "\n")


def track_results(
    tracker: Tracker, folder: Path, lines: Sequence[Json], result: Mapping[str, Json]
) -> None:
    """Gives W&B the metrics, and the records and files where they may leave the machine."""
    tracker.metrics(result)
    tracker.table("records", lines)
    tracker.artifact(folder)
