"""Compare finished runs: tables, figures with their CSV, and every number in one file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from trace import config
from trace.errors import ConfigError
from trace.records import Json, digest
from trace.report import canvas
from trace.report.compare import (
    capability,
    classes,
    confusion,
    dangers,
    kinship,
    length,
    plane,
    rerun,
    size,
    subsample,
    table,
)
from trace.report.compare.judged import How, Judge, measure, usual
from trace.report.compare.scores import read_scores
from trace.report.compare.section import Section
from trace.report.gather import EXAMPLE, Gathered, gather
from trace.report.metrics import unscored_as
from trace.tracking.files import write_json, write_text
from trace.tracking.manifest import completed, provenance
from trace.tracking.rundir import check_writable

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is compared, and how.

    `capability` is a CSV of benchmark, model, score. With `mixed`, runs that are not comparable
    are marked instead of refused.
    """

    runs: str
    output_dir: Path
    how: How
    capability: Path | None = None
    mixed: bool = False


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the comparison out. No model is needed: everything stands in the run directories.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
    """
    if settings.runs is None:
        raise ConfigError(f"runs: no value. Say which runs are compared: {EXAMPLE}.")
    how = How(
        unscored=unscored_as(settings.scoring.unscored),
        draws=settings.scoring.bootstrap_draws,
        seed=settings.seed,
    )
    task = settings.task
    assert isinstance(task, config.Compare)
    compare(
        Options(
            runs=settings.runs,
            output_dir=Path(settings.output_dir),
            how=how,
            capability=None if task.capability is None else Path(task.capability).expanduser(),
            mixed=task.mixed,
        )
    )


def compare(options: Options) -> Path:
    """Writes `<output_dir>/compare/<hash8>/` and prints the main table; returns that folder.

    Everything there but the manifest is a function of the runs and of `options`.

    Raises:
        DataError: nothing finished matches, or the runs are damaged or not comparable.
    """
    console = Console(highlight=False)
    check_writable(options.output_dir)
    gathered = gather(options.runs, mixed=options.mixed)
    started = provenance()
    judges = [measure(one, options.how) for one in gathered.runs]
    done = sections(judges, options)
    manifest = started | {"compared": hashed(options, gathered)}
    folder = options.output_dir / "compare" / digest(manifest["compared"])[:8]
    write(folder, gathered, judges, done)
    write_json(folder / "manifest.json", completed(manifest))
    for note in notes(gathered, judges):
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    for grid in done[0].grids:
        console.print(grid.terminal())
    for section in done:
        if section.reason:
            console.print(f"{section.title}: {section.reason}", markup=False, soft_wrap=True)
    console.print(f"run: {folder}", markup=False, soft_wrap=True)
    return folder


def hashed(options: Options, gathered: Gathered) -> dict[str, Json]:
    """All that can change what is found."""
    given = options.capability
    return {
        "schema": SCHEMA,
        "runs": sorted(one.digest for one in gathered.runs),
        "unscored": options.how.unscored,
        "draws": options.how.draws,
        "seed": options.how.seed,
        "capability": given and hashlib.sha256(given.read_bytes()).hexdigest(),
    }


def sections(judges: Sequence[Judge], options: Options) -> list[Section]:
    """Every analysis in the order of the report; the main table first."""
    how, alike = options.how, usual(judges)
    scores = None if options.capability is None else read_scores(options.capability)
    return [
        table.section(judges),
        classes.section(judges, how),
        confusion.section(alike, how),
        dangers.section(alike, how),
        size.section(alike),
        plane.section(alike),
        length.section(alike, how),
        capability.section(alike, scores, how),
        subsample.section(alike, how),
        rerun.section(alike, how),
        kinship.section(alike, how),
    ]


def notes(gathered: Gathered, judges: Sequence[Judge]) -> list[str]:
    """What has to be said beside the numbers."""
    said = list(gathered.notes)
    if aside := len(judges) - len(usual(judges)):
        said.append(
            f"{aside} of {len(judges)} runs ask in another way; they stand in the main table and "
            "in the table by class alone."
        )
    if any(judge.run.epochs > 1 for judge in judges):
        said.append(
            "Where a run has several epochs, the first is counted: n is the number of samples."
        )
    return said


def write(
    folder: Path, gathered: Gathered, judges: Sequence[Judge], done: Sequence[Section]
) -> None:
    """Writes everything but the manifest."""
    said = notes(gathered, judges)
    text = ["# Comparison", *(f"- {note}" for note in said), *(one.markdown() for one in done)]
    write_text(folder / "tables.md", "\n\n".join(text) + "\n")
    runs = [
        {
            "run": judge.run.digest,
            "judge": judge.name,
            "protocol": judge.run.protocol,
            "samples": len(judge.run.once),
            "epochs": judge.run.epochs,
        }
        for judge in judges
    ]
    analyses = {one.name: one.result for one in done}
    write_json(
        folder / "compare.json",
        {"schema": SCHEMA, "notes": said, "runs": runs, "analyses": analyses},
    )
    (folder / "figures").mkdir(exist_ok=True)
    for drawing in (drawing for one in done for drawing in one.drawings):
        canvas.write(folder / "figures" / f"{drawing.stem}.png", canvas.png(drawing.draw))
        canvas.write(folder / "figures" / f"{drawing.stem}.csv", canvas.table(drawing.rows))
