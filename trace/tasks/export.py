"""Write finished runs as logs of Inspect, so that `inspect view` shows them sample by sample."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from trace import config
from trace.errors import ConfigError, DataError
from trace.report.gather import EXAMPLE, find
from trace.report.grid import many
from trace.report.inspect_log import check_installed, log_of, write_log
from trace.report.inspect_sample import Exported
from trace.report.plan import Plan
from trace.report.run_folder import AGAIN, config_of, finished, read, study_of
from trace.tasks.export_asked import asked
from trace.tracking.files import read_jsonl, safe_name
from trace.tracking.rundir import check_writable

FOLDER = "inspect"
"""Under `output_dir`: all logs, side by side, as `inspect view` wants them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Run directories that are exported, and a sentence for each that is not."""

    folders: tuple[Path, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The log of a run as plain data, the name of its file, and what has to be said of it."""

    name: str
    log: Mapping[str, Any]
    notes: tuple[str, ...]


def run(settings: config.Root, *, group: str | None) -> None:
    """Writes `<output_dir>/inspect/<run>.eval`, one log a run; the same run gives the same log.

    Raises:
        ConfigError: inspect_ai is missing, or the pattern cannot be read.
        DataError: no finished evaluation matches, or one is damaged.
    """
    check_writable(settings.output_dir)
    check_installed()
    found = _find(settings)
    _say(found.notes)
    place = Path(settings.output_dir, FOLDER)
    for folder in found.folders:
        made = make(folder, settings.output_dir)
        path = place / f"{made.name}.eval"
        write_log(path, made.log)
        _say(made.notes, f"{path}: {many(len(made.log['samples']), 'sample')}")
    _say((), f"look at them: inspect view --log-dir {place}")


def plan(settings: config.Root) -> Plan:
    """What `run` would do; nothing is written.

    Raises:
        TraceError: what `run` would refuse, too.
    """
    check_installed()
    found = _find(settings)
    what = f"write {many(len(found.folders), 'log')} of Inspect"
    return Plan(what=f"{what} under {Path(settings.output_dir, FOLDER)}", notes=found.notes)


def make(folder: Path, output_dir: str) -> Made:
    """Reads a finished evaluation and puts together what was asked.

    Args:
        folder: the run directory.
        output_dir: of the command that reads.

    Raises:
        DataError: a file of it is damaged or of another version.
    """
    judged = read(folder)  # None where a respondent is studied
    lines = list(read_jsonl(folder / "records.jsonl"))
    if not lines:
        raise DataError(f"{folder}: records.jsonl is empty. {AGAIN}")
    requests, why = asked(folder, output_dir)
    try:
        exported = Exported(
            config=config_of(folder),
            manifest=json.loads((folder / "manifest.json").read_bytes()),
            metrics=json.loads((folder / "metrics.json").read_bytes())["metrics"],
            lines=lines,
            targets=[None] * len(lines)
            if judged is None
            else [observation.gold for observation in judged.observations],
            asked=requests,
        )
        log, name = log_of(exported), _name(folder, exported)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: is of another version ({error!r}). {AGAIN}") from None
    bare = sum(isinstance(sample["input"], str) for sample in log["samples"])
    if why is None and bare:
        of = many(len(lines), "sample")
        why = f"{bare} of {of} were asked nothing, or in other words than this version's."
    told = (
        () if why is None else (f"{folder}: ids stand where it is not known what was asked: {why}",)
    )
    return Made(name=name, log=log, notes=told)


def _name(folder: Path, run: Exported) -> str:
    """Of a log: benchmark, who is measured, condition, and the name of the run directory."""
    benchmark, condition = run.config["benchmark"]["name"], run.config["condition"]["name"]
    return "_".join(map(safe_name, (benchmark, run.measured, condition, folder.name)))


def _find(settings: config.Root) -> _Found:
    if settings.runs is None:
        raise ConfigError(f"runs: says which runs are exported. Try {EXAMPLE}.")
    folders, notes = [], []
    for folder in find(settings.runs):
        if not finished(folder):
            notes.append(f"not finished, left out: {folder}")
        elif study_of(folder) is None:
            notes.append(f"no evaluation, left out: {folder}")
        else:
            folders.append(folder)
    if not folders:
        reason = "; ".join(notes[:3]) or "no run directory is there"
        raise DataError(
            f"runs: no finished evaluation matches {settings.runs} ({reason}). Try {EXAMPLE}."
        )
    return _Found(folders=tuple(folders), notes=tuple(notes))


def _say(notes: Sequence[str], *lines: str) -> None:
    console = Console(highlight=False)
    for line in (*(f"note: {note}" for note in notes), *lines):
        console.print(line, markup=False, soft_wrap=True)
