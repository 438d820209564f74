"""Ask a model about every sample, read its answers, score them, and write the run directory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import partial

from omegaconf import OmegaConf
from rich.console import Console

from trace import config
from trace.benchmarks.load import load
from trace.errors import UnscoredError
from trace.models.open import open_model
from trace.models.unopened import Unopened
from trace.records import Completion, Json, Record, Verdict
from trace.report.capability import write_capability
from trace.report.figures import write_figures
from trace.report.grid import escape
from trace.report.judged import Judged
from trace.report.metrics import baselines, evaluate
from trace.report.plan import Plan
from trace.report.table import per_class, per_class_markdown, summary, to_markdown
from trace.tasks import respond
from trace.tasks.answers import answers
from trace.tasks.ask import Interview
from trace.tasks.planning import work
from trace.tracking.files import write_json, write_jsonl, write_text
from trace.tracking.manifest import completed, provenance
from trace.tracking.rundir import RunDir, check_writable
from trace.tracking.secrets import redact
from trace.tracking.tracked import tracked_run


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the evaluation out.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
        UnscoredError: complete, but too many samples have no label.
    """
    if isinstance(settings.benchmark, config.StrongReject):  # it studies a respondent
        respond.run(settings, group=group)
        return
    console = Console(highlight=False)
    check_writable(settings.output_dir)
    dataset = load(settings.benchmark, limit=settings.limit, seed=settings.seed)
    interview = Interview(settings, dataset, open_model(settings.model)).under_condition()
    interview.model.prepare(interview.requests[0])
    for note in interview.dataset.notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    origin = {
        "data": dict(dataset.fingerprint),
        "model": dict(interview.model.identity),
        "prompt": interview.protocol.prompt_hash,
    }
    parts = (settings.benchmark.name, settings.model.name, settings.condition.name)
    how = " by likelihood" if settings.protocol.answer == "score" else ""
    name = "/".join((*parts, settings.protocol.name)) + how
    hashed = {"config": config.of_result(settings), **origin}
    with tracked_run(
        settings,
        parts=("runs", *parts),
        stem=settings.protocol.name,
        hashed=hashed,
        group=group,
        name=name,
    ) as (run_dir, tracker):
        manifest = provenance() | {
            "run": run_dir.digest,
            **origin,
            "licence": dataset.licence,
            "notes": list(interview.dataset.notes),
        }
        completions, fresh = answers(
            interview.model,
            settings.model.name,
            interview.requests,
            settings.output_dir,
            unscored=lambda completion: interview.strict(completion).status != "ok",
        )
        records = interview.records(completions)
        result = score(interview, completions, records)
        write_results(run_dir, interview, records, result, title=name)
        if fresh or not (run_dir.path / "manifest.json").is_file():
            # A repeat computes nothing: who made the completions, and when, stays.
            used = {"usage": dict(interview.model.usage)} if interview.model.usage else {}
            write_json(run_dir.path / "manifest.json", completed(manifest | used))
        tracker.metrics(result)
        tracker.table("records", [record.to_json() for record in records])
        tracker.artifact(run_dir.path)
    rows = result["breakdowns"]["parser"] | result["breakdowns"]["baseline"]
    console.print(summary(name, settings.model.name, result["metrics"], rows))
    console.print(per_class("By gold class", result["breakdowns"]["class"]))
    console.print(f"run: {run_dir.path}", markup=False, soft_wrap=True)
    refuse_unscored(settings, records)


def plan(settings: config.Root) -> Plan:
    """What `run` would do; no model is opened."""
    if isinstance(settings.benchmark, config.StrongReject):
        return respond.plan(settings)
    mock = isinstance(settings.model, config.MockModel)
    model = open_model(settings.model) if mock else Unopened()
    dataset = load(settings.benchmark, limit=settings.limit, seed=settings.seed)
    interview = Interview(settings, dataset, model).under_condition()
    gold = Counter(sample.gold.label for sample in interview.dataset.samples)
    names = (settings.benchmark, settings.model, settings.condition, settings.protocol)
    return Plan(
        what="evaluate " + "/".join(group.name for group in names),
        work=(work(settings.model, interview.requests),),
        arms={f"{label} samples": gold[label] for label in ("unsafe", "safe")},
        notes=interview.dataset.notes,
    )


def score(
    interview: Interview, completions: Sequence[Completion], records: Sequence[Record]
) -> dict[str, Json]:
    """The metrics, the breakdowns, and on the same samples the baselines and the other parser.

    Where replies are written, `breakdowns["parser"]` has the metrics by the parser that does not
    score this run, so that strict and released stand side by side.
    """
    settings, labels = interview.settings, interview.protocol.labels
    asked = interview.asked

    def judged(verdicts: Sequence[Verdict]) -> list[Judged]:
        return [
            Judged(
                gold=a.gold,
                verdict=verdict,
                cluster=a.sample.cluster,
                class_=interview.class_of(a.sample),
                sample=a.sample.id,
            )
            for a, verdict in zip(asked, verdicts, strict=True)
        ]

    measure = partial(
        evaluate,
        labels=labels.labels,
        negative=labels.negative,
        unscored=settings.scoring.unscored,
        draws=settings.scoring.bootstrap_draws,
        seed=settings.seed,
    )
    scored = judged([record.verdict for record in records])
    result = measure(scored)
    rules = {
        name: [interview.label_of(judge(a.sample)) for a in asked]
        for name, judge in interview.dataset.rule_judges.items()
    }
    result["breakdowns"]["baseline"] = baselines(
        scored,
        labels.labels,
        labels.negative,
        rules,
        unscored=settings.scoring.unscored,
        draws=settings.scoring.bootstrap_draws,
        seed=settings.seed,
    )
    other: dict[str, Json] = {}
    if settings.protocol.answer == "generate":
        if settings.scoring.parser == "strict":
            read = [interview.released(c, a.gold) for c, a in zip(completions, asked, strict=True)]
            other["released parser"] = measure(judged(read))["metrics"]
        else:
            read = [interview.strict(c) for c in completions]
            other["strict parser"] = measure(judged(read))["metrics"]
    result["breakdowns"]["parser"] = other
    return result


def write_results(
    run_dir: RunDir,
    interview: Interview,
    records: Sequence[Record],
    result: dict[str, Json],
    *,
    title: str,
) -> None:
    """Writes everything but the manifest: a function of data, configuration and completions."""
    settings = interview.settings
    resolved = OmegaConf.to_yaml(redact(config.plain(settings)))
    write_text(run_dir.path / "config.yaml", resolved)
    write_jsonl(run_dir.path / "records.jsonl", (record.to_json() for record in records))
    write_json(run_dir.path / "metrics.json", {"schema": 1, **result})
    write_figures(run_dir.path / "figures", result, title)
    if (metric := interview.dataset.capability) is not None:
        name = f"{settings.benchmark.name} {settings.protocol.name}"  # a model has a row for each
        path = run_dir.path / "capability.csv"
        write_capability(path, name, settings.model.name, result["metrics"][metric])
    rows = result["breakdowns"]["parser"] | result["breakdowns"]["baseline"]
    report = [
        to_markdown(title, settings.model.name, result["metrics"], rows),
        per_class_markdown("By gold class", result["breakdowns"]["class"]),
        *(f"Note: {escape(note)}" for note in interview.dataset.notes),
    ]
    write_text(run_dir.path / "report.md", "\n\n".join(report) + "\n")


def refuse_unscored(settings: config.Root, records: Sequence[Record]) -> None:
    """Ends a complete run with exit status 1 when too much of it has no label."""
    status = [record.verdict.status for record in records]
    without = {s: status.count(s) for s in sorted(set(status) - {"ok"})}
    share = sum(without.values()) / len(status)
    if share > settings.scoring.max_unscored:
        raise UnscoredError(
            f"{sum(without.values())} of {len(status)} samples have no label "
            f"({json.dumps(without)}), more than scoring.max_unscored="
            f"{settings.scoring.max_unscored}. Look at records.jsonl, or try "
            "protocol.answer=score, which cannot fail to parse."
        )
