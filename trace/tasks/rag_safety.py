"""Ask a respondent under a retrieval condition, let a panel judge, and write the run directory."""

from __future__ import annotations

from collections.abc import Sequence

from omegaconf import OmegaConf
from rich.console import Console

from trace import config
from trace.benchmarks.rag_safety import samples, tables
from trace.benchmarks.rag_safety.outcomes import Outcome
from trace.benchmarks.rag_safety.scores import DEFINITION, measure
from trace.judging.protocols import judge_protocol
from trace.records import Json
from trace.report.canvas import write_drawings
from trace.report.grid import escape
from trace.report.plan import Plan
from trace.tasks.answering import Answering
from trace.tasks.bench import Sitting
from trace.tasks.beside import read_beside
from trace.tasks.respond import kin
from trace.tasks.unscored import refuse_unscored, scores_would_help
from trace.tracking.files import write_json, write_jsonl, write_text
from trace.tracking.manifest import provenance, write_manifest
from trace.tracking.rundir import RunDir, check_writable
from trace.tracking.secrets import redact
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
    beside = read_beside(settings, answering.dataset)
    answering, identities, said = answering.introduce()
    dataset, bench = answering.dataset, answering.bench
    notes = (*dataset.notes, *said, *_warnings(settings), *beside.notes, DEFINITION)
    for note in notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    origin = {"data": dict(dataset.fingerprint), **identities, **beside.origin}
    parts = (settings.benchmark.name, settings.model.name, settings.condition.name)
    name = f"{'/'.join((*parts, settings.protocol.name))} judged by {bench.name}"
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
            "licence": dataset.licence,
            "notes": list(notes),
        }
        given, used, fresh = answering.respond()
        sitting = answering.sit(given, beside.excluded)
        outcomes = answering.outcomes(given, sitting)
        result = measure(
            outcomes,
            {n: hearing.title for n, hearing in bench.hearings.items()},
            negative=bench.labels.negative,
            unsafe=beside.unsafe,
            draws=settings.scoring.bootstrap_draws,
            seed=settings.seed,
        )
        lines = [outcome.to_json() for outcome in outcomes]
        _write(run_dir, settings, lines, result, title=name, panel=bench.name, notes=notes)
        manifest |= _spent(settings.model.name, outcomes, used, sitting)
        fresh = fresh or (sitting is not None and sitting.fresh)
        write_manifest(run_dir.path, manifest, fresh=fresh)
        tracker.metrics(result)
        tracker.table("records", lines)
        tracker.artifact(run_dir.path)
    found = result["breakdowns"]
    for grid in (
        tables.summary(name, bench.name, result),
        *tables.further(found, bench.name),
        tables.groups("By family", "Family", found["family"]),
    ):
        console.print(grid.terminal())
    console.print(last_lines(run_dir.path, tracker), markup=False, soft_wrap=True)
    how = judge_protocol(settings.protocol, dataset.taxonomy, settings.condition)
    judged = [o.record.verdict.status for o in outcomes if o.answer.unjudged is None]
    helped = scores_would_help(settings, how.label_strings, judged)
    refuse_unscored(
        [o.record.verdict.status for o in outcomes if not o.answer.filtered],
        settings.scoring.max_unscored,
        lack="answers have no verdict",
        instead="Look at records.jsonl: `response` says whether the model or the judges failed"
        + (", or try protocol.answer=score, which cannot fail to parse." if helped else "."),
    )


def plan(settings: config.Root) -> Plan:
    """What `run` would do; no model is opened, so nothing is cut to a context."""
    answering = _begun(settings)
    beside = read_beside(settings, answering.dataset)
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


def _spent(
    respondent: str, outcomes: Sequence[Outcome], used: Json, sitting: Sitting | None
) -> dict[str, Json]:
    """Seconds that the models took, as the log has them, and what paid services counted."""
    seconds = {respondent: sum(outcome.answer.response.seconds for outcome in outcomes)}
    for role in ("accuracy", "refusal"):
        opinions = [getattr(outcome, role) for outcome in outcomes]
        if made := [one.completion.seconds for one in opinions if one and one.completion]:
            seconds[role] = sum(made)
    counted = {respondent: used} if used else {}
    if sitting is not None:
        for name, heard in sitting.heard.items():
            seconds[f"judges.{name}"] = sum(c.seconds for group in heard.answers for c in group)
        counted |= {f"judges.{name}": said for name, said in sitting.used.items()}
    spent: dict[str, Json] = {"seconds": {k: round(v, 1) for k, v in seconds.items()}}
    return spent | ({"usage": counted} if counted else {})


def _write(
    run_dir: RunDir,
    settings: config.Root,
    lines: Sequence[Json],
    result: dict[str, Json],
    *,
    title: str,
    panel: str,
    notes: Sequence[str],
) -> None:
    """Writes everything but the manifest: a function of data, configuration and completions."""
    folder, found = run_dir.path, result["breakdowns"]
    write_text(folder / "config.yaml", OmegaConf.to_yaml(redact(config.plain(settings))))
    write_jsonl(folder / "records.jsonl", lines)
    write_json(folder / "metrics.json", {"schema": 1, **result})
    write_drawings(folder / "figures", tables.drawings(title, result))
    report = [
        tables.summary(title, panel, result).markdown(),
        *(grid.markdown() for grid in tables.further(found, panel)),
        tables.groups("By family", "Family", found["family"]).markdown(),
        tables.groups("By subcategory", "Subcategory", found["subcategory"]).markdown(),
        *(f"Note: {escape(note)}" for note in notes),
    ]
    write_text(folder / "report.md", "\n\n".join(report) + "\n")
