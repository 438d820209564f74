"""Put underspecified requests to a respondent: does it ask back? Write the run directory."""

from __future__ import annotations

from rich.console import Console

from trace import config
from trace.benchmarks.clarify import tables
from trace.benchmarks.clarify.scores import DEFINITION, measure
from trace.report.plan import Plan
from trace.tasks.clarifying import Clarifying
from trace.tasks.results import track_results, write_results
from trace.tasks.unscored import refuse_unscored
from trace.tracking.manifest import provenance, write_manifest
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the study of a respondent out.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
        UnscoredError: complete, but too many answers have no label.
    """
    console = Console(highlight=False)
    check_writable(settings.output_dir)
    clarifying = Clarifying(settings)
    origin, said = clarifying.introduce()
    notes = (*said, DEFINITION)
    for note in notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    judge = clarifying.bench.name
    parts = (settings.benchmark.name, settings.model.name, settings.condition.name)
    name = f"{'/'.join(parts)} judged by {judge}"
    with tracked_run(
        settings,
        parts=("runs", *parts),
        stem=settings.protocol.name,
        hashed={"config": config.of_result(settings), **origin},
        group=group,
        name=name,
    ) as (run_dir, tracker):
        manifest = provenance() | {
            "run": run_dir.digest,
            **origin,
            "licence": clarifying.items.licence,
            "notes": list(notes),
        }
        outcomes = clarifying.judge(*clarifying.respond())
        result = measure(outcomes, draws=settings.scoring.bootstrap_draws, seed=settings.seed)
        lines = [outcome.to_json() for outcome in outcomes]
        grids = [tables.summary(name, judge, result), *tables.further(result)]
        report = [grid.markdown() for grid in grids]
        write_results(run_dir.path, settings, lines, result, report=report, notes=notes)
        manifest |= {"usage": clarifying.used} if clarifying.used else {}
        write_manifest(run_dir.path, manifest, fresh=clarifying.fresh)
        track_results(tracker, run_dir.path, lines, result)
    for grid in grids:
        console.print(grid.terminal())
    console.print(last_lines(run_dir.path, tracker), markup=False, soft_wrap=True)
    refuse_unscored(
        [o.record.verdict.status for o in outcomes if not o.filtered],
        settings.scoring.max_unscored,
        lack="answers have no label",
        instead="Look at records.jsonl: `response` says what the model answered, and `verdict` why "
        "that has no label.",
    )


def plan(settings: config.Root) -> Plan:
    """What `run` would do; no model is opened."""
    clarifying = Clarifying(settings)
    parts = (settings.benchmark, settings.model, settings.condition)
    return Plan(
        what=f"evaluate {'/'.join(part.name for part in parts)}, judged by {clarifying.bench.name}",
        work=clarifying.work(),
        arms={"pairs of requests": len(clarifying.items.pairs)},
        notes=(clarifying.items.note, *clarifying.beside.notes),
    )
