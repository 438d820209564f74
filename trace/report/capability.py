"""A model's score on a benchmark of capability, as `task=compare` reads it."""

from __future__ import annotations

from pathlib import Path

from trace.report.canvas import table, write
from trace.report.compare.scores import COLUMNS
from trace.report.entry import Metric


def write_capability(path: Path, benchmark: str, model: str, metric: Metric) -> None:
    """Writes a table of one row; nothing where the metric is undefined."""
    if metric["value"] is not None:
        write(path, table([list(COLUMNS), [benchmark, model, metric["value"]]]))
