"""Ask a model about every sample, read its answers, score them, and write the run directory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from omegaconf import OmegaConf
from rich.console import Console

from trace import config
from trace.benchmarks.base import Dataset
from trace.benchmarks.load import load
from trace.errors import UnscoredError
from trace.judging.labels import gold_label
from trace.judging.likelihood import verdict_from_scores
from trace.judging.parse import parse_verdict
from trace.judging.protocols import JudgeProtocol, judge_protocol
from trace.models.base import Model
from trace.models.complete import complete
from trace.models.log import CompletionLog, log_folder
from trace.models.mock import plant
from trace.models.open import open_model
from trace.records import Completion, Json, Record, Request, Sample, Verdict
from trace.records import Sampling as RequestSampling
from trace.report.figures import write_figures
from trace.report.metrics import Judged, baselines, evaluate
from trace.report.table import per_class, per_class_markdown, summary, to_markdown
from trace.tracking.files import write_json, write_jsonl, write_text
from trace.tracking.manifest import completed, provenance
from trace.tracking.progress import progress
from trace.tracking.rundir import RunDir, check_writable, open_run
from trace.tracking.wandb_run import track


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the evaluation out.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
        UnscoredError: complete, but too many samples have no label.
    """
    console = Console(highlight=False)
    check_writable(settings.output_dir)
    dataset = load(settings.benchmark, limit=settings.limit, seed=settings.seed)
    for note in dataset.notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    protocol = judge_protocol(settings.protocol, dataset.taxonomy)
    model = open_model(settings.model)
    asked = list(repeated(dataset.samples, settings.epochs))
    requests = [
        request_of(settings, protocol, dataset, model, sample, epoch) for sample, epoch in asked
    ]
    parts = (settings.benchmark.name, settings.model.name, settings.condition.name)
    hashed = {
        "config": config.of_result(settings),
        "data": dict(dataset.fingerprint),
        "model": dict(model.identity),
        "prompt": protocol.prompt_hash,
    }
    name = "/".join((*parts[:2], settings.protocol.name))
    with open_run(settings.output_dir, parts, settings.protocol.name, hashed) as run_dir:
        manifest = provenance() | {
            "data": dict(dataset.fingerprint),
            "licence": dataset.licence,
            "notes": list(dataset.notes),
            "model": dict(model.identity),
            "prompt": protocol.prompt_hash,
            "run": run_dir.digest,
        }
        write_json(run_dir.path / "manifest.json", manifest)
        with track(
            settings.tracking,
            run_id=run_dir.digest[:16],
            name=f"{name}-{run_dir.digest[:8]}",
            group=group,
            config=config.plain(settings),
            folder=Path(settings.output_dir) / "wandb",
            job_type=settings.task.name,
        ) as tracker:
            completions = answers(settings, protocol, model, requests)
            records = [
                record_of(settings, protocol, sample, epoch, completion)
                for (sample, epoch), completion in zip(asked, completions, strict=True)
            ]
            result = score(settings, dataset, protocol, records)
            write_results(run_dir, settings, records, result, title=name)
            write_json(run_dir.path / "manifest.json", completed(manifest))
            tracker.metrics(result["metrics"])
            tracker.table("records", [record.to_json() for record in records])
            tracker.artifact(run_dir.path)
    rows = result["breakdowns"]["baseline"]
    console.print(summary(name, settings.model.name, result["metrics"], rows))
    console.print(per_class(f"{name}: by gold class", result["breakdowns"]["class"]))
    console.print(f"run: {run_dir.path}", markup=False, soft_wrap=True)
    refuse_unscored(settings, records)


def repeated(samples: Sequence[Sample], epochs: int) -> Iterator[tuple[Sample, int]]:
    """Every sample with every epoch, in the order of the samples."""
    return ((sample, epoch) for sample in samples for epoch in range(epochs))


def request_of(
    settings: config.Root,
    protocol: JudgeProtocol,
    dataset: Dataset,
    model: Model,
    sample: Sample,
    epoch: int,
) -> Request:
    """What the judge is asked about a sample."""
    scores = settings.protocol.answer == "score"
    template_args = dict(settings.model.template_args)
    if scores and settings.model.reasoning == "think":
        template_args["enable_thinking"] = False  # the verdict is read where an answer would begin
    planted = None
    if model.wants_planted:
        gold, labels = gold_of(settings, dataset, sample), protocol.labels.labels
        planted = plant(sample.gold.class_ or dataset.taxonomy.benign.name, gold, labels)
    return Request(
        messages=protocol.messages(sample),
        sampling=RequestSampling(**config.plain(settings.sampling)),
        labels=protocol.label_strings if scores else (),
        prefix=protocol.answer_prefix if scores else "",
        template_args=template_args,
        epoch=epoch,
        sample=sample.id,
        planted=planted,
    )


def gold_of(settings: config.Root, dataset: Dataset, sample: Sample) -> str:
    """The right label of a sample under the protocol."""
    class_name = sample.gold.class_ or dataset.taxonomy.benign.name
    return gold_label(settings.protocol.answers, dataset.taxonomy, class_name)


def answers(
    settings: config.Root, protocol: JudgeProtocol, model: Model, requests: Sequence[Request]
) -> list[Completion]:
    """The completions in the order of the requests, from the log or made now."""
    folder = log_folder(settings.output_dir, settings.model.name)
    with CompletionLog(folder) as log, progress(len(requests), settings.model.name) as meter:

        def advance(completion: Completion) -> None:
            scored = verdict_of(settings, protocol, completion).status == "ok"
            meter.advance(unscored=0 if scored else 1)

        return list(complete(model, requests, log, advance))


def verdict_of(settings: config.Root, protocol: JudgeProtocol, completion: Completion) -> Verdict:
    """Reads a completion as a judgement. Never cached: another parser needs no new completion."""
    if completion.scores is not None:
        scores = protocol.by_label(completion.scores)
        return verdict_from_scores(scores, protocol.labels, settings.protocol.normalise)
    if not completion.reasoning_closed:
        return Verdict(status="truncated")
    return parse_verdict(completion.text, protocol.labels, finish=completion.finish)


def record_of(
    settings: config.Root,
    protocol: JudgeProtocol,
    sample: Sample,
    epoch: int,
    completion: Completion,
) -> Record:
    """One line of records.jsonl."""
    verdict = verdict_of(settings, protocol, completion)
    return Record(
        id=sample.id,
        gold=sample.gold,
        condition=settings.condition.name,
        protocol=settings.protocol.name,
        verdict=verdict,
        judges={settings.model.name: verdict},
        completion=completion,
        cluster=sample.cluster,
        epoch=epoch,
        meta=sample.meta,
    )


def score(
    settings: config.Root, dataset: Dataset, protocol: JudgeProtocol, records: Sequence[Record]
) -> dict[str, Json]:
    """The metrics, the breakdowns and the baselines on the same samples."""
    by_id = {sample.id: sample for sample in dataset.samples}
    benign = dataset.taxonomy.benign.name
    judged = [
        Judged(
            gold=gold_of(settings, dataset, by_id[record.id]),
            verdict=record.verdict,
            cluster=record.cluster,
            class_=record.gold.class_ or benign,
        )
        for record in records
    ]
    rules = {
        name: [
            gold_label(settings.protocol.answers, dataset.taxonomy, judge(by_id[record.id]))
            for record in records
        ]
        for name, judge in dataset.rule_judges.items()
    }
    labels, negative = protocol.labels.labels, protocol.labels.negative
    how, seed = settings.scoring, settings.seed
    result = evaluate(
        judged, labels, negative, unscored=how.unscored, draws=how.bootstrap_draws, seed=seed
    )
    result["breakdowns"]["baseline"] = baselines(
        judged,
        labels,
        negative,
        rules,
        unscored=how.unscored,
        draws=how.bootstrap_draws,
        seed=seed,
    )
    return result


def write_results(
    run_dir: RunDir,
    settings: config.Root,
    records: Sequence[Record],
    result: dict[str, Json],
    *,
    title: str,
) -> None:
    """Writes everything but the manifest: a function of data, configuration and completions."""
    write_text(run_dir.path / "config.yaml", OmegaConf.to_yaml(config.plain(settings)))
    write_jsonl(run_dir.path / "records.jsonl", (record.to_json() for record in records))
    write_json(run_dir.path / "metrics.json", {"schema": 1, **result})
    write_figures(run_dir.path / "figures", result, title)
    name, rows = settings.model.name, result["breakdowns"]["baseline"]
    report = [
        to_markdown(title, name, result["metrics"], rows),
        per_class_markdown("By gold class", result["breakdowns"]["class"]),
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
