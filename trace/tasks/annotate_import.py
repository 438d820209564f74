"""Take finished work back: answers, decisions, agreement, and the data set with them in it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console

from trace import config
from trace.annotation.assign import Assignment
from trace.annotation.client import connect
from trace.annotation.decide import Decision, decided, disagreements
from trace.annotation.exported import Pass, read_export
from trace.annotation.study import HumanStudy, Merged
from trace.benchmarks.human import study as human_study
from trace.errors import DataError
from trace.records import Json, digest
from trace.report.annotated import measure_annotation
from trace.report.annotated_table import annotation_grids, strata_grid
from trace.report.grid import Grid
from trace.report.workload import problems, workload
from trace.tasks.annotate_command import command
from trace.tasks.annotate_gather import gather
from trace.tracking.files import write_json, write_jsonl, write_text
from trace.tracking.manifest import completed, provenance
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run

logger = logging.getLogger(__name__)

SCHEMA = 1


def take_back(settings: config.Root, *, group: str | None) -> None:
    """Carries the import out. What is not finished yet can be imported again later.

    Raises:
        TraceError: the export, the server or the projects are not as they should be; nothing was
            written.
    """
    check_writable(settings.output_dir)
    assert settings.annotate.export is not None  # the configuration has checked it
    exported = read_export(Path(settings.annotate.export).expanduser())
    study = human_study(settings, select=exported.manifest["selected"])
    exported.check(study)
    with connect(settings.annotate) as client:
        gathered = gather(client, exported, study)
    if not gathered.answers:
        raise DataError(f"annotate.export: {gathered.nothing} See annotate.action=status.")
    exported = replace(
        exported, given=replace(exported.given, answers=gathered.answers, lost=gathered.lost)
    )
    first, second = exported.passes
    ruled = () if second is None else second.answers
    decisions = decided(first.items, study.forms, first.answers, ruled)
    merged = study.merge((*first.answers, *ruled), decisions)
    hashed = {
        "schema": SCHEMA,
        "export": exported.manifest["run"],
        "answers": digest([answer.to_json() for answer in gathered.answers]),
        "lost": {who: asdict(lost) for who, lost in gathered.lost.items()},
        "bootstrap_draws": settings.scoring.bootstrap_draws,
        "seed": settings.seed,
    }
    with tracked_run(
        settings, parts=("runs", study.name, "annotated"), stem=None, hashed=hashed, group=group
    ) as (run_dir, tracker):
        result = measure_annotation(
            first.items,
            study.forms,
            assignments(study, first),
            first.answers,
            decisions,
            first.lost,
            draws=settings.scoring.bootstrap_draws,
            seed=settings.seed,
        )
        if second is not None:
            result["breakdowns"]["second"] = {
                "work": workload(assignments(study, second), second.answers, second.lost),
                "problems": problems(second.answers),
            }
        grids = [*annotation_grids(result), _merged(merged)]
        notes = (*gathered.notes, *merged.notes)
        manifest = {
            **exported.manifest,
            **provenance(),
            "run": run_dir.digest,
            **hashed,
            "notes": list(notes),
        }
        replace(exported, folder=run_dir.path).write()
        write(run_dir.path, decisions, merged, result)
        strata = strata_grid(result)
        tables = [grid.markdown() for grid in (*grids, *([strata] if strata.rows else []))]
        report = ["# Annotation", *(f"- {note}" for note in notes), *tables]
        write_text(run_dir.path / "report.md", "\n\n".join(report) + "\n")
        write_json(run_dir.path / "manifest.json", completed(manifest))
        if tracker.gives_away and settings.annotate.form and not settings.benchmark.sensitive:
            logger.warning(
                "W&B gets all files of this import, the texts among them; tracking.upload=metrics "
                "sends numbers alone"
            )
        tracker.metrics(result)
        tracker.artifact(run_dir.path)
    console = Console(highlight=False)
    for note in notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    for grid in grids:
        console.print(grid.terminal())
    if left := disagreements(decisions):
        said = _left(settings, len(left), None if second else run_dir.path)
        console.print(said, markup=False, soft_wrap=True)
    console.print(last_lines(run_dir.path, tracker), markup=False, soft_wrap=True)


def assignments(study: HumanStudy, given: Pass) -> list[Assignment]:
    """What was given out, without the question for consent."""
    return [one for one in given.assignments if one.form in study.forms]


def write(
    folder: Path, decisions: Sequence[Decision], merged: Merged, result: Mapping[str, Json]
) -> None:
    """Writes what was decided, what it does to the data set, and the numbers."""
    write_jsonl(folder / "decisions.jsonl", (d.to_json() for d in decisions))
    write_jsonl(folder / "disagreements.jsonl", ({"id": i} for i in disagreements(decisions)))
    for name, lines in merged.files.items():
        if name.endswith(".jsonl"):
            write_jsonl(folder / name, lines)
        else:
            write_text(folder / name, "".join(f"{line}\n" for line in lines))
    write_json(folder / "metrics.json", {"schema": 1, **result})


def _merged(merged: Merged) -> Grid:
    grid = Grid(title="Data set", header=["", "n"])
    grid.rows = [[(what,), (f"{n:,}",)] for what, n in merged.counts.items()]
    return grid


def _left(settings: config.Root, left: int, folder: Path | None) -> str:
    """What becomes of the items on which people differ: a second pass, or nothing after one."""
    if folder is None:
        return f"{left:,} items were not settled by the second pass (disagreements.jsonl)."
    typed = command(
        settings,
        action="export",
        select="disagreements",
        imported=str(folder),
        annotators=("J1",),
    )
    return f"{left:,} items need a second pass, by somebody else, here called J1: {typed}"
