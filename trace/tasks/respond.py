"""Ask a respondent, let a judge grade its answers, score them, and write the run directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from trace import config
from trace.benchmarks.strongreject import prompts, rubric, scores, tables
from trace.records import Json
from trace.report.capability import write_capability
from trace.report.plan import Plan
from trace.tasks.inquiry import Inquiry
from trace.tasks.results import track_results, write_results
from trace.tasks.unscored import refuse_unscored
from trace.tracking.manifest import provenance, write_manifest
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run

CAPABILITY = "strongreject 1-ASR"


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the study of a respondent out.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
        UnscoredError: complete, but too many answers have no grade.
    """
    console = Console(highlight=False)
    check_writable(settings.output_dir)
    inquiry = begun(settings)
    benchmark, prompt_set = inquiry.benchmark, inquiry.prompts
    notes = (*prompt_set.notes, scores.DEFINITION, *kin(settings.model, benchmark.judge))
    origin = {"data": dict(prompt_set.fingerprint), **inquiry.prepare()}
    for note in notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    if settings.tracking.mode != "disabled" and settings.tracking.upload == "all":
        console.print(
            "note: W&B gets the records, which hold answers to forbidden prompts. "
            "tracking.upload=metrics keeps them here."
        )
    parts = (benchmark.name, settings.model.name, settings.condition.name)
    name = f"{'/'.join(parts)} judged by {benchmark.judge.name}"
    with tracked_run(
        settings,
        parts=("runs", *parts),
        stem=rubric.PROTOCOL,
        hashed={"config": of_result(settings), **origin},
        group=group,
        name=name,
    ) as (run_dir, tracker):
        manifest = provenance() | {
            "run": run_dir.digest,
            **origin,
            "licence": prompt_set.licence,
            "notes": list(notes),
        }
        outcomes, fresh = inquiry.outcomes()
        result = scores.measure(
            outcomes, draws=settings.scoring.bootstrap_draws, seed=settings.seed
        )
        lines = [
            o.to_json(condition=settings.condition.name, judge=benchmark.judge.name)
            for o in outcomes
        ]
        _write(run_dir.path, settings, lines, result, title=name, notes=notes)
        write_manifest(run_dir.path, manifest, fresh=fresh)
        track_results(tracker, run_dir.path, lines, result)
    console.print(tables.summary(name, settings.model.name, result["metrics"]).terminal())
    console.print(tables.by_category(result["breakdowns"]["category"]).terminal())
    console.print(last_lines(run_dir.path, tracker), markup=False, soft_wrap=True)
    refuse_unscored(
        [o.verdict.status for o in outcomes if not o.filtered],
        settings.scoring.max_unscored,
        lack="answers have no grade",
        instead="Look at records.jsonl, or let another model judge: benchmark.judge=NAME.",
    )


def kin(model: config.Model, judge: config.Model) -> tuple[str, ...]:
    """What has to be said of a judge that is related to the model it judges."""
    if model.family is None or model.family != judge.family:
        return ()
    return (
        f"The judge {judge.name} and the model {model.name} are both of the family {model.family}: "
        "judges can favour their own.",
    )


def plan(settings: config.Root) -> Plan:
    """What `run` would do; no model is opened."""
    inquiry = begun(settings)
    parts = (settings.benchmark, settings.model, settings.condition)
    return Plan(
        what=f"evaluate {'/'.join(part.name for part in parts)}, "
        f"judged by {inquiry.benchmark.judge.name}",
        work=inquiry.work(),
        arms={"prompts": len(inquiry.prompts.samples)},
        notes=inquiry.prompts.notes,
    )


def begun(settings: config.Root) -> Inquiry:
    """The prompts before the respondent; nothing is asked yet.

    Raises:
        DataError: the prompts cannot be read.
    """
    benchmark = settings.benchmark
    assert isinstance(benchmark, config.StrongReject)
    path = Path(benchmark.path).expanduser()
    read = prompts.read(path, limit=settings.limit, seed=settings.seed)
    return Inquiry(settings, benchmark, read)


def of_result(settings: config.Root) -> dict[str, Json]:
    """The part of the configuration that can change the result: no protocol."""
    return {key: value for key, value in config.of_result(settings).items() if key != "protocol"}


def _write(
    folder: Path,
    settings: config.Root,
    lines: Sequence[Json],
    result: dict[str, Json],
    *,
    title: str,
    notes: Sequence[str],
) -> None:
    metric = result["metrics"]["one_minus_asr"]
    write_capability(folder / "capability.csv", CAPABILITY, settings.model.name, metric)
    report = [
        tables.summary(title, settings.model.name, result["metrics"]).markdown(),
        tables.by_category(result["breakdowns"]["category"]).markdown(),
    ]
    write_results(folder, settings, lines, result, report=report, notes=notes)
