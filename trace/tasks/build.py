"""Build a set of TraceSafe records, and write all that belongs beside it."""

from __future__ import annotations

from dataclasses import fields

from rich.console import Console

from trace import config
from trace.benchmarks.tracesafe import agreement, card, checking, rewording, spotcheck_page
from trace.benchmarks.tracesafe.audit.spotcheck import chosen
from trace.benchmarks.tracesafe.build import OwnSet, build
from trace.benchmarks.tracesafe.names import BENIGN, CLASSES
from trace.benchmarks.tracesafe.samples import options, parsed
from trace.errors import ConfigError, DataError
from trace.models.runnable import this_machine, verdict
from trace.records import Json, digest
from trace.report.plan import Plan
from trace.tasks import build_cross_lab, build_evidence, build_rag_safety
from trace.tasks.bases import origin_of
from trace.tasks.build_report import about_models, table
from trace.tasks.helpers import Helpers
from trace.tracking.files import write_json, write_jsonl, write_text
from trace.tracking.manifest import completed, provenance
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run

PROMPTS = {
    "check": checking.PROMPT_HASH,
    "second_check": checking.PROMPT_HASH,
    "model": rewording.PROMPT_HASH,
}
"""What identifies our wording of the question to each role but the agent's."""


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the build out: `<output_dir>/runs/tracesafe/build/<hash8>/`.

    No model is needed; those that `benchmark.builder` names take part, their replies logged.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
    """
    if isinstance(settings.benchmark, config.Evidence):
        build_evidence.run(settings, group=group)
        return
    if isinstance(settings.benchmark, config.RagSafety):
        build_rag_safety.run(settings, group=group)
        return
    if isinstance(settings.benchmark, config.CrossLab):
        build_cross_lab.run(settings, group=group)
        return
    benchmark = _checked(settings)
    check_writable(settings.output_dir)
    console = Console(highlight=False)
    helpers = Helpers(_roles(benchmark.builder), settings.output_dir)
    identities = helpers.prepare()
    origin = origin_of(settings, benchmark, helpers)
    for said in origin.notes:
        console.print(f"note: {said}", markup=False, soft_wrap=True)
    built = build(
        origin.bases,
        options(benchmark, settings.seed),
        check=helpers.ask("check"),
        second_check=helpers.ask("second_check"),
        reword=helpers.ask("model"),
    )
    for said in built.notes:
        console.print(f"note: {said}", markup=False, soft_wrap=True)
    _some_mutant(built, benchmark)
    live = benchmark.builder.agent is not None
    how: dict[str, Json] = {
        "per_class": benchmark.per_class,
        "splits": list(benchmark.splits) if benchmark.base is None else None,
        "distractors": benchmark.distractors,
        "truncate": benchmark.truncate,
        "decoys": benchmark.decoys,
        "seed": settings.seed,
        "limit": settings.limit,
        "sampling": config.plain(settings.sampling) if live else None,
        "models": identities or None,
        "prompts": {role: hash_ for role, hash_ in PROMPTS.items() if role in identities} or None,
    }
    hashed = {
        "how": how,
        "data": dict(origin.fingerprint),
        "records": digest([r["id"] for r in built.records]),
    }
    checks = None
    if built.checked:
        draws = settings.scoring.bootstrap_draws
        checks = agreement.summary(built.checked, seed=settings.seed, draws=draws)
    rewordings = None if built.rewordings is None else built.rewordings.to_json()
    names = {role: model.name for role, model in helpers.models.items()}
    with tracked_run(
        settings, parts=("runs", "tracesafe", "build"), stem=None, hashed=hashed, group=group
    ) as (run_dir, tracker):
        folder = run_dir.path
        manifest = provenance() | {
            "run": run_dir.digest,
            "built": hashed,
            "records": len(built.records),
            "counts": card.counts(built.records),
            "suitable": dict(built.suitable),
            "refused": {name: dict(why.most_common()) for name, why in built.refused.items()},
            "seeds": {"builder": settings.seed},
            "models": names,
            "checks": checks,
            "rewordings": rewordings,
            "licences": card.LICENCES,
            "notes": [*origin.notes, *built.notes],
        }
        write_jsonl(folder / "dataset.jsonl", built.records)
        if built.checked:
            write_jsonl(folder / "checks.jsonl", (one.to_json() for one in built.checked))
        text = card.card(
            built.records,
            source=origin.source,
            truncate=benchmark.truncate,
            settings={k: v for k, v in how.items() if v is not None and not isinstance(v, dict)},
            notes=[*origin.notes, *built.notes],
            models=names,
            checks=checks,
            rewordings=rewordings,
        )
        write_text(folder / "card.md", text)
        write_text(folder / "spotcheck.html", spotcheck_page.page(chosen(parsed(built))))
        write_json(folder / "manifest.json", completed(manifest))
        tracker.metrics({"metrics": {"records": len(built.records), "checks": checks or {}}})
        tracker.artifact(folder)
    console.print(table(built))
    for line in about_models(checks, rewordings):
        console.print(line, markup=False, soft_wrap=True)
    console.print(last_lines(folder, tracker), markup=False, soft_wrap=True)


def plan(settings: config.Root) -> Plan:
    """What `run` would do; no trajectory is made."""
    if isinstance(settings.benchmark, config.Evidence):
        return build_evidence.plan(settings)
    if isinstance(settings.benchmark, config.RagSafety):
        return build_rag_safety.plan(settings)
    if isinstance(settings.benchmark, config.CrossLab):
        return build_cross_lab.plan(settings)
    benchmark = _checked(settings)
    most = benchmark.per_class * (len(CLASSES) + 1)
    most_checks = checking.most_asked(benchmark.per_class) * len(CLASSES)
    asked = {
        "agent": "at least one request for every user turn of every task",
        "model": "a request for every payload",
        "check": f"at least {benchmark.per_class * len(CLASSES):,} requests, one a chosen call, "
        f"and at most {most_checks:,}: a class is given up when fewer than one call in "
        f"{checking.ONE_IN} suits",
        "second_check": "as many requests as the first judge",
    }
    said = []
    for role, model in Helpers(_roles(benchmark.builder), settings.output_dir).models.items():
        here = verdict(model, this_machine([model.id] if model.id else []))
        said.append(f"{model.name} ({role}): {asked[role]}")
        if not here.runs:
            said.append(f"{model.name} cannot run here: {here.reason}")
    return Plan(what=f"build {benchmark.name}: up to {most:,} records", notes=tuple(said))


def _some_mutant(built: OwnSet, benchmark: config.TraceSafe) -> None:
    """Refuses a set without a mutant: nothing can be measured with it."""
    if any(card.class_of(record) != BENIGN.name for record in built.records):
        return
    judge = benchmark.builder.check
    if judge is None or not built.checked:
        raise DataError(
            "task=build: nothing can be built: no call of the base trajectories can take a fault "
            "of any class. Give others: benchmark.base=FILE."
        )
    unread = sum(one.first.suitable is None for one in built.checked)
    raise DataError(
        f"benchmark.builder.check={judge.name}: nothing can be built. It was asked about "
        f"{len(built.checked):,} calls and found none suitable; {unread:,} of its replies hold no "
        "verdict. They are logged. Choose another judge, or leave it out."
    )


def _roles(builder: config.Builder) -> dict[str, config.Model]:
    """The models that take part, by their fields."""
    given = {field.name: getattr(builder, field.name) for field in fields(builder)}
    return {role: model for role, model in given.items() if model is not None}


def _checked(settings: config.Root) -> config.TraceSafe:
    benchmark = settings.benchmark
    if not isinstance(benchmark, config.TraceSafe):
        raise ConfigError(
            f"benchmark: {benchmark.name} cannot be built. Choose tracesafe, evidence, "
            "rag_safety or cross_lab."
        )
    if benchmark.path is not None:
        raise ConfigError(
            f"benchmark.path: {benchmark.path} is a set already. Leave it out, or give base "
            "trajectories to build from: benchmark.base=FILE."
        )
    if settings.limit is not None and benchmark.builder.agent is None:
        raise ConfigError(
            f"limit: task=build makes whole classes. Say how large: "
            f"benchmark.per_class={settings.limit}."
        )
    if settings.stage != "all":
        raise ConfigError(f"stage: {settings.stage!r} is no stage of the build. Leave it out.")
    return benchmark
