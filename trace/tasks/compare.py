"""Compare finished runs: tables, figures with their CSV, and every number in one file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from trace import config
from trace.errors import ConfigError
from trace.records import Json
from trace.report.canvas import write_drawings
from trace.report.compare import (
    capability,
    check_rank,
    classes,
    confusion,
    dangers,
    kinship,
    length,
    plane,
    rerun,
    size,
    spread,
    subsample,
    table,
)
from trace.report.compare.judged import How, Judge, blocks, measure, usual
from trace.report.compare.scores import Scores, read_scores
from trace.report.compare.section import Section
from trace.report.evidence.guards import BENCHMARK as EVIDENCE
from trace.report.evidence.sections import sections as evidence_sections
from trace.report.gather import EXAMPLE, Gathered, gather
from trace.report.grid import escape
from trace.report.judged import unscored_as
from trace.report.plan import Plan
from trace.tracking.files import write_json, write_text
from trace.tracking.manifest import completed, provenance
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run

SCHEMA = 1


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the comparison out: `<output_dir>/compare/<hash8>/`, and prints the main table.

    No model is needed: everything stands in the run directories. All that is written but the
    manifest is a function of the runs and the settings.

    Raises:
        DataError: nothing finished matches, or the runs are damaged or not comparable.
        TraceError: something else the user can change; nothing half-written is left.
    """
    task = settings.task
    assert isinstance(task, config.Compare)
    console = Console(highlight=False)
    check_writable(settings.output_dir)
    gathered, scores = read_input(settings.runs, task)
    capability = None if task.capability is None else Path(task.capability).expanduser()
    how = How(
        unscored=unscored_as(settings.scoring.unscored),
        draws=settings.scoring.bootstrap_draws,
        seed=settings.seed,
    )
    hashed: dict[str, Json] = {
        "schema": SCHEMA,
        "runs": sorted(one.digest for one in gathered.runs),
        "unscored": how.unscored,
        "draws": how.draws,
        "seed": how.seed,
        "capability": capability and hashlib.sha256(capability.read_bytes()).hexdigest(),
        "check_judge": task.check_judge,
    }
    with tracked_run(settings, parts=("compare",), stem=None, hashed=hashed, group=group) as (
        run_dir,
        tracker,
    ):
        manifest = provenance() | {"run": run_dir.digest, "compared": hashed}
        judges = [measure(one, how) for one in gathered.runs]
        done = sections(judges, scores, how, task.check_judge)
        write(run_dir.path, gathered, judges, done)
        write_json(run_dir.path / "manifest.json", completed(manifest))
        tracker.metrics({"metrics": {one.name: one.result for one in done}})
        tracker.artifact(run_dir.path)
    for note in notes(gathered, judges, done):
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    for grid in done[0].grids:
        console.print(grid.terminal())
    for section in done:
        if section.reason:
            console.print(f"{section.title}: {section.reason}", markup=False, soft_wrap=True)
    if parts := [one.title for one in done if one.left_out and not one.reason]:
        told = "judges or protocols left out, said in tables.md"
        console.print(f"{told}: {'; '.join(parts)}", markup=False, soft_wrap=True)
    console.print(last_lines(run_dir.path, tracker), markup=False, soft_wrap=True)


def plan(settings: config.Root) -> Plan:
    """What `run` would do: the input is read and checked, nothing is computed.

    Raises:
        TraceError: what `run` would refuse, too.
    """
    task = settings.task
    assert isinstance(task, config.Compare)
    gathered, _ = read_input(settings.runs, task)
    return Plan(
        what=f"compare {len(gathered.runs)} runs under {settings.output_dir}/compare",
        notes=gathered.notes,
    )


def read_input(runs: str | None, task: config.Compare) -> tuple[Gathered, Scores | None]:
    """The runs, and the table of scores if there is one.

    Raises:
        ConfigError: there is no pattern of runs, none of them is of `task.check_judge`, or they
            are of a study that has no use for a setting.
        DataError: the runs or the table cannot be read, or the runs are not comparable.
    """
    if runs is None:
        raise ConfigError(f"runs: no value. Say which runs are compared: {EXAMPLE}.")
    scores = None if task.capability is None else read_scores(Path(task.capability).expanduser())
    gathered = gather(runs, mixed=task.mixed)
    names = {name for one in gathered.runs for name in (one.model, one.name)}
    if task.check_judge is not None and task.check_judge not in names:
        raise ConfigError(
            f"task.check_judge: {task.check_judge!r} is none of the judges of these runs. Name one "
            f"of {', '.join(sorted(names))}; or leave it out."
        )
    given = {"capability": task.capability, "check_judge": task.check_judge}
    if all(one.benchmark == EVIDENCE for one in gathered.runs):
        for key in (key for key, value in given.items() if value is not None):
            raise ConfigError(f"task.{key}: plays no part in the {EVIDENCE} study. Leave it out.")
    return gathered, scores


def sections(
    judges: Sequence[Judge], scores: Scores | None, how: How, check_judge: str | None
) -> list[Section]:
    """Every analysis in the order of the report; the main table first.

    The evidence study has its own: its runs are of three components, and not of four protocols.
    """
    evidence = [judge.run for judge in judges if judge.run.benchmark == EVIDENCE]
    others = of_other_studies(judges)
    return [
        *(by_protocol(others, scores, how, check_judge) if others else ()),
        *(evidence_sections(evidence, how) if evidence else ()),
    ]


def of_other_studies(judges: Sequence[Judge]) -> list[Judge]:
    """The judges that are compared protocol by protocol."""
    return [judge for judge in judges if judge.run.benchmark != EVIDENCE]


def by_protocol(
    judges: Sequence[Judge], scores: Scores | None, how: How, check_judge: str | None
) -> list[Section]:
    """The analyses of all studies but that of evidence."""
    alike = usual(judges)
    return [
        table.section(judges),
        classes.section(judges, how),
        confusion.section(alike),
        dangers.section(alike, how),
        size.section(alike),
        plane.section(alike),
        length.section(alike, how),
        capability.section(alike, scores, how),
        subsample.section(alike, how),
        rerun.section(alike, how),
        spread.section(judges),
        kinship.section(alike, how),
        check_rank.section(alike, check_judge, how),
    ]


def notes(gathered: Gathered, judges: Sequence[Judge], done: Sequence[Section]) -> list[str]:
    """What has to be said beside the numbers."""
    others = of_other_studies(judges)
    said = [*gathered.notes, *sizes(others)]
    if aside := len(others) - len(usual(others)):
        said.append(
            f"{aside} of {len(others)} runs ask in another way; they stand in the main table and "
            "in the table by class alone, and where the wording differs, under its sensitivity."
        )
    if any(judge.run.epochs > 1 for judge in judges):
        said.append(
            "Where a run has several epochs, the first is counted: n is the number of samples."
        )
    return [*said, *(note for one in done for note in one.notes)]


def sizes(judges: Sequence[Judge]) -> list[str]:
    """A sentence if the protocols were not asked of the same samples, as with another limit."""
    asked: dict[str, set[str]] = {}
    for protocol, block in blocks(usual(judges)).items():
        asked[protocol] = {o.id for judge in block for o in judge.run.once}
    if len({frozenset(ids) for ids in asked.values()}) < 2:
        return []
    counts = ", ".join(f"{protocol} {len(ids)}" for protocol, ids in asked.items())
    common = len(set.intersection(*asked.values()))
    return [
        f"The protocols were asked of different samples ({counts}; {common} in common): a "
        "difference between them may be one of the samples."
    ]


def write(
    folder: Path, gathered: Gathered, judges: Sequence[Judge], done: Sequence[Section]
) -> None:
    """Writes everything but the manifest."""
    said = notes(gathered, judges, done)
    text = [
        "# Comparison",
        *(f"- {escape(note)}" for note in said),
        *(one.markdown() for one in done),
    ]
    write_text(folder / "tables.md", "\n\n".join(text) + "\n")
    runs = [
        {
            "run": judge.run.digest,
            "judge": judge.name,
            "protocol": judge.run.protocol,
            **({"component": judge.run.condition} if judge.run.condition else {}),
            "samples": len(judge.run.once),
            "epochs": judge.run.epochs,
        }
        for judge in judges
    ]
    analyses = {one.name: one.result for one in done}
    write_json(
        folder / "compare.json",
        {
            "schema": SCHEMA,
            "notes": said,
            "runs": runs,
            "analyses": analyses,
            "left_out": {one.name: list(one.left_out) for one in done if one.left_out},
        },
    )
    write_drawings(folder / "figures", (drawing for one in done for drawing in one.drawings))
