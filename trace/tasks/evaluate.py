"""Ask a model about every sample, read its answers, score them, and write the run directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from rich.console import Console

from trace import config
from trace.benchmarks.answerable import answerable
from trace.benchmarks.base import Dataset
from trace.benchmarks.load import load
from trace.judging.protocols import judge_protocol
from trace.records import Json
from trace.report.agreement import agreement_grid
from trace.report.capability import write_capability
from trace.report.corrected import corrected_grid
from trace.report.figures import write_figures
from trace.report.grid import Grid
from trace.report.plan import Plan
from trace.report.table import per_class, per_class_markdown, scores, summary, to_markdown
from trace.tasks import clarify, cross_lab, rag_safety, respond
from trace.tasks.bench import Bench
from trace.tasks.beside import read_beside
from trace.tasks.planning import work
from trace.tasks.results import track_results, write_results
from trace.tasks.scoring import other_rows, score
from trace.tasks.unscored import refuse_unscored, scores_would_help
from trace.tracking.manifest import provenance, write_manifest
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the evaluation out.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
        UnscoredError: complete, but too many samples have no label.
    """
    if settings.benchmark.asks_respondent:
        _study_of_respondent(settings.benchmark).run(settings, group=group)
        return
    console = Console(highlight=False)
    check_writable(settings.output_dir)
    dataset = _dataset(settings)
    beside = read_beside(settings, {sample.id for sample in dataset.samples})
    bench = Bench(settings, dataset)
    identities, prompt, notes = bench.introduce()
    notes = (*dataset.notes, *notes, *beside.notes)
    for note in notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    origin = {
        "data": dict(dataset.fingerprint),
        "model": identities,
        "prompt": prompt,
        **beside.origin,
    }
    parts = (settings.benchmark.name, bench.name, settings.condition.name)
    asked = settings.protocol
    how = " by likelihood" if asked.answer == "score" else ""
    wording = "" if asked.variant == "plain" else f" ({asked.variant})"
    name = "/".join((*parts, asked.name)) + wording + how
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
        sitting = bench.sit(beside.excluded)
        result = score(settings, dataset, sitting, beside)
        lines = [record.to_json() for record in sitting.records(settings)]
        own = () if dataset.study is None else tuple(dataset.study.grids(result))
        _write(
            run_dir.path, settings, lines, result, title=name, who=bench.title, notes=notes, own=own
        )
        if dataset.capability is not None:
            label = f"{settings.benchmark.name} {settings.protocol.name}"  # a row for each
            metric = result["metrics"][dataset.capability]
            write_capability(run_dir.path / "capability.csv", label, bench.name, metric)
        manifest |= {"usage": sitting.used} if sitting.used else {}
        write_manifest(run_dir.path, manifest, fresh=sitting.fresh)
        track_results(tracker, run_dir.path, lines, result)
    console.print(summary(name, bench.title, result["metrics"], other_rows(result)))
    for grid in (*panel_grids(result, bench.title), *own):
        console.print(grid.terminal())
    console.print(per_class("By gold class", result["breakdowns"]["class"]))
    console.print(last_lines(run_dir.path, tracker), markup=False, soft_wrap=True)
    status = [verdict.status for verdict in sitting.verdicts]
    how_asked = judge_protocol(settings.protocol, dataset.taxonomy, settings.condition)
    helped = scores_would_help(settings, how_asked.label_strings, status)
    refuse_unscored(
        status,
        settings.scoring.max_unscored,
        lack="samples have no label",
        instead="Look at records.jsonl"
        + (", or try protocol.answer=score, which cannot fail to parse." if helped else "."),
    )


def plan(settings: config.Root) -> Plan:
    """What `run` would do; no model is opened."""
    if settings.benchmark.asks_respondent:
        planned: Plan = _study_of_respondent(settings.benchmark).plan(settings)
        return planned
    dataset = _dataset(settings)
    beside = read_beside(settings, {sample.id for sample in dataset.samples})
    gold = Counter(sample.gold.label for sample in dataset.samples)
    bench = Bench(settings, dataset)
    names = (settings.benchmark.name, bench.name, settings.condition.name, settings.protocol.name)
    return Plan(
        what="evaluate " + "/".join(names),
        work=tuple(
            work(hearing.judge, hearing.questions())
            for hearing in bench.hearings.values()
            if not isinstance(hearing.judge, config.RuleModel)
        ),
        arms={f"{label} samples": gold[label] for label in ("unsafe", "safe")},
        notes=(*dataset.notes, *beside.notes),
    )


def _study_of_respondent(benchmark: config.Benchmark) -> ModuleType:
    """The script for a benchmark on which `model` answers and others judge."""
    scripts = {
        config.RagSafety: rag_safety,
        config.CrossLab: cross_lab,
        config.Clarify: clarify,
    }
    return scripts.get(type(benchmark), respond)


def _dataset(settings: config.Root) -> Dataset:
    dataset = load(
        settings.benchmark,
        condition=settings.condition,
        limit=settings.limit,
        seed=settings.seed,
    )
    return answerable(dataset, settings.protocol.answers)


def _write(
    folder: Path,
    settings: config.Root,
    lines: Sequence[Json],
    result: dict[str, Json],
    *,
    title: str,
    who: str,
    notes: Sequence[str],
    own: Sequence[Grid] = (),
) -> None:
    write_figures(folder / "figures", result, title)
    report = [
        to_markdown(title, who, result["metrics"], other_rows(result)),
        *(grid.markdown() for grid in (*panel_grids(result, who), *own, *scores(result))),
        per_class_markdown("By gold class", result["breakdowns"]["class"]),
    ]
    write_results(folder, settings, lines, result, report=report, notes=notes)


def panel_grids(result: Mapping[str, Json], who: str) -> list[Grid]:
    """A panel's agreement, and the corrected shares where humans labelled some samples."""
    shown = result["breakdowns"]
    grids = [agreement_grid(shown["agreement"])] if "agreement" in shown else []
    return [*grids, corrected_grid(shown["corrected"], who)] if "corrected" in shown else grids
