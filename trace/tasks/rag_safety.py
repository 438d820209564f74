"""Ask a respondent under a retrieval condition, let a panel judge, and write the run directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from trace import config
from trace.benchmarks.rag_safety import samples, tables
from trace.benchmarks.rag_safety.scores import DEFINITION, measure
from trace.judging.protocols import judge_protocol
from trace.records import Json
from trace.report.canvas import write_drawings
from trace.report.plan import Plan
from trace.tasks.answering import Answering
from trace.tasks.beside import read_beside
from trace.tasks.notes import Notes
from trace.tasks.respond import kin
from trace.tasks.results import track_results, write_results
from trace.tasks.spent import spent
from trace.tasks.unscored import refuse_unscored, scores_would_help
from trace.tracking.manifest import provenance, write_manifest
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the study of a respondent out.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
        UnscoredError: complete, but too many answers have no verdict.
    """
    console = Console(highlight=False)
    check_writable(settings.output_dir)
    answering = _begun(settings)
    beside = read_beside(settings, {s.id for s in answering.dataset.samples})
    identities, said = answering.introduce()
    dataset, bench = answering.dataset, answering.bench
    notes = Notes(console)
    notes.add(*dataset.notes, *said, *_warnings(settings), *beside.notes, DEFINITION)
    origin = {"data": dict(dataset.fingerprint), **identities, **beside.origin}
    parts = (settings.benchmark.name, settings.model.name, settings.condition.name)
    stem = settings.protocol.name
    name = f"{'/'.join((*parts[:-1], answering.condition, stem))} judged by {bench.name}"
    with tracked_run(
        settings,
        parts=("runs", *parts),
        stem=stem,
        hashed={"config": config.of_result(settings), **origin},
        group=group,
        name=name,
    ) as (run_dir, tracker):
        begun = provenance()
        answering = answering.ready()
        notes.add(*answering.notes)
        given, used, fresh = answering.respond()
        given = answering.let_through(given)
        notes.add(*answering.notes)
        sitting = answering.sit(given, beside.excluded)
        outcomes = answering.outcomes(given, sitting, beside.excluded)
        filtering = answering.filtering
        result = measure(
            outcomes,
            {n: hearing.title for n, hearing in bench.hearings.items()},
            negative=bench.labels.negative,
            unsafe=beside.unsafe,
            draws=settings.scoring.bootstrap_draws,
            seed=settings.seed,
            place=None if filtering is None else filtering.place,
            screened=() if filtering is None else filtering.said,
        )
        lines = [outcome.to_json() for outcome in outcomes]
        _write(
            run_dir.path, settings, lines, result, title=name, panel=bench.name, notes=notes.said
        )
        manifest = begun | {
            "run": run_dir.digest,
            **origin,
            "licence": dataset.licence,
            "notes": notes.said,
            **spent(answering, outcomes, used, sitting),
        }
        fresh = fresh or answering.asked_anew or (sitting is not None and sitting.fresh)
        write_manifest(run_dir.path, manifest, fresh=fresh)
        track_results(tracker, run_dir.path, lines, result)
    found = result["breakdowns"]
    for grid in (
        tables.summary(name, bench.name, result),
        *tables.further(result, bench.name),
        tables.groups("By family", "Family", found["family"]),
    ):
        console.print(grid.terminal())
    console.print(last_lines(run_dir.path, tracker), markup=False, soft_wrap=True)
    how = judge_protocol(settings.protocol, dataset.taxonomy, settings.condition)
    judged = [o.record.verdict.status for o in outcomes if o.answer.delivered]
    helped = scores_would_help(settings, how.label_strings, judged)
    refuse_unscored(
        [o.record.verdict.status for o in outcomes if not o.answer.filtered],
        settings.scoring.max_unscored,
        lack="answers have no verdict",
        instead="Look at records.jsonl: `response` says what the model answered, `judges` what "
        "each judge said of it, and `verdict` why that gives no label"
        + (", or try protocol.answer=score, which cannot fail to parse." if helped else "."),
    )


def plan(settings: config.Root) -> Plan:
    """What `run` would do; no model is opened, so nothing is cut to a context."""
    answering = _begun(settings)
    beside = read_beside(settings, {s.id for s in answering.dataset.samples})
    parts = (settings.benchmark, settings.model, settings.condition, settings.protocol)
    return Plan(
        what=f"evaluate {'/'.join(part.name for part in parts)}, judged by {answering.bench.name}",
        work=answering.work(),
        arms={"questions": len(answering.dataset.samples)},
        notes=(*answering.dataset.notes, *_warnings(settings), *beside.notes),
    )


def _begun(settings: config.Root) -> Answering:
    """The questions before the respondent; nothing is asked yet.

    Raises:
        DataError: the questions cannot be read.
    """
    benchmark = settings.benchmark
    assert isinstance(benchmark, config.RagSafety)
    dataset = samples.of(
        benchmark, condition=settings.condition, limit=settings.limit, seed=settings.seed
    )
    return Answering.begun(settings, benchmark, dataset)


def _warnings(settings: config.Root) -> tuple[str, ...]:
    """What a configuration that can work still makes doubtful."""
    assert settings.judges is not None
    notes = [
        note for judge in settings.judges.models.values() for note in kin(settings.model, judge)
    ]
    if settings.epochs > 1 and settings.sampling.temperature == 0:
        notes.append(
            f"epochs={settings.epochs} at sampling.temperature=0 ask for the same answer again."
        )
    return tuple(notes)


def _write(
    folder: Path,
    settings: config.Root,
    lines: Sequence[Json],
    result: dict[str, Json],
    *,
    title: str,
    panel: str,
    notes: Sequence[str],
) -> None:
    found = result["breakdowns"]
    write_drawings(folder / "figures", tables.drawings(title, result))
    report = [
        tables.summary(title, panel, result).markdown(),
        *(grid.markdown() for grid in tables.further(result, panel)),
        tables.groups("By family", "Family", found["family"]).markdown(),
        tables.groups("By subcategory", "Subcategory", found["subcategory"]).markdown(),
    ]
    write_results(folder, settings, lines, result, report=report, notes=notes)
