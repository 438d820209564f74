"""Compare finished runs: tables, figures with their CSV, and every number in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from trace import config
from trace.errors import ConfigError, DataError
from trace.records import Json
from trace.report.canvas import write_drawings
from trace.report.compare.judged import How
from trace.report.compare.section import Section
from trace.report.gather import find
from trace.report.grid import escape
from trace.report.judged import unscored_as
from trace.report.plan import Plan
from trace.report.run_folder import study_of
from trace.tasks import compare_cross_lab, compare_judgements, registering
from trace.tasks.compare_runs import of_runs
from trace.tasks.compared import Compared, Found
from trace.tracking.files import write_json, write_text
from trace.tracking.manifest import completed, provenance
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run

SCHEMA = 1
_OF_ANSWERS = {
    "rag_safety": compare_judgements.of_answers,
    "cross_lab": compare_cross_lab.of_answers,
}
"""Studies of respondents -> what compares their runs; all other runs test a judge."""


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the comparison out: `<output_dir>/compare/<hash8>/`, and prints the main table.

    No model is needed: everything stands in the run directories, or in the file of judgements. All
    that is written but the manifest is a function of them and the settings.

    Raises:
        DataError: nothing finished matches, or the input is damaged or not comparable.
        TraceError: something else the user can change; nothing half-written is left.
    """
    if _registers(settings):
        registering.run(settings)
        return
    console = Console(highlight=False)
    check_writable(settings.output_dir)
    compared = read_input(settings)
    how = How(
        unscored=unscored_as(settings.scoring.unscored),
        draws=settings.scoring.bootstrap_draws,
        seed=settings.seed,
    )
    hashed: dict[str, Json] = {
        "schema": SCHEMA,
        **compared.identity,
        "unscored": how.unscored,
        "draws": how.draws,
        "seed": how.seed,
    }
    with tracked_run(settings, parts=("compare",), stem=None, hashed=hashed, group=group) as (
        run_dir,
        tracker,
    ):
        manifest = provenance() | {"run": run_dir.digest, "compared": hashed}
        found = compared.analyses(how)
        said = [*compared.notes, *found.notes]
        write(run_dir.path, found, said)
        write_json(run_dir.path / "manifest.json", completed(manifest))
        tracker.metrics({"metrics": {one.name: one.result for one in found.sections}})
        tracker.artifact(run_dir.path)
    for note in said:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    show(console, found.sections)
    console.print(last_lines(run_dir.path, tracker), markup=False, soft_wrap=True)


def plan(settings: config.Root) -> Plan:
    """What `run` would do: the input is read and checked, nothing is computed.

    Raises:
        TraceError: what `run` would refuse, too.
    """
    if _registers(settings):
        return registering.plan(settings)
    compared = read_input(settings)
    return Plan(what=f"{compared.what} under {settings.output_dir}/compare", notes=compared.notes)


def read_input(settings: config.Root) -> Compared:
    """What the configuration says is compared.

    Raises:
        TraceError: there is no such input, or it cannot be compared.
    """
    task = settings.task
    assert isinstance(task, config.Compare)
    if settings.judgements is not None:
        if isinstance(settings.benchmark, config.CrossLab):
            return compare_cross_lab.of_judgements(settings, task)
        _refuse_registration(task, settings.benchmark.name)
        return compare_judgements.of_judgements(settings, task)
    folders = [] if settings.runs is None else find(settings.runs)
    studies = {folder: study_of(folder) for folder in folders}
    found = {study: folder for folder, study in studies.items() if study in _OF_ANSWERS}
    if not found:
        _refuse_registration(task, settings.benchmark.name)
        return of_runs(settings.runs, task)
    study, first = next(iter(found.items()))
    if others := [folder for folder, other in studies.items() if other != study]:
        raise DataError(
            f"runs: {first} is of the study {study}, and {others[0]} is not. Compare them apart."
        )
    if study != "cross_lab":
        _refuse_registration(task, study)
    return _OF_ANSWERS[study](folders, task)


def _registers(settings: config.Root) -> bool:
    return isinstance(settings.task, config.Compare) and settings.task.action == "register"


def _refuse_registration(task: config.Compare, study: str) -> None:
    if task.registration is not None:
        raise ConfigError(
            f"task.registration: claims are registered of cross_lab, and this is {study}. Leave it "
            "out."
        )


def show(console: Console, sections: Sequence[Section]) -> None:
    """Prints the main table, and what the others lack."""
    for grid in sections[0].grids:
        console.print(grid.terminal())
    for section in sections:
        if section.reason:
            console.print(f"{section.title}: {section.reason}", markup=False, soft_wrap=True)
    if parts := [one.title for one in sections if one.left_out and not one.reason]:
        told = "judges or protocols left out, said in tables.md"
        console.print(f"{told}: {'; '.join(parts)}", markup=False, soft_wrap=True)


def write(folder: Path, found: Found, said: Sequence[str]) -> None:
    """Writes everything but the manifest."""
    done = found.sections
    text = [
        "# Comparison",
        *(f"- {escape(note)}" for note in said),
        *(one.markdown() for one in done),
    ]
    write_text(folder / "tables.md", "\n\n".join(text) + "\n")
    write_json(
        folder / "compare.json",
        {
            "schema": SCHEMA,
            "notes": list(said),
            "runs": list(found.runs),
            "analyses": {one.name: one.result for one in done},
            "left_out": {one.name: list(one.left_out) for one in done if one.left_out},
        },
    )
    write_drawings(folder / "figures", (drawing for one in done for drawing in one.drawings))
