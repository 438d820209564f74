"""Build evidence-grounded triples: curate prompts, infer answers, annotate them, freeze the set."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from trace import config
from trace.benchmarks.evidence import card, counts, infer, tables
from trace.benchmarks.evidence.curate import curate
from trace.errors import ConfigError, DataError
from trace.report.grid import Grid
from trace.report.plan import Plan
from trace.tasks.evidence_stages import RULES, Build
from trace.tracking.files import write_json, write_jsonl, write_text
from trace.tracking.manifest import completed, provenance
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run

SUMMED = ("prompts.jsonl", "inferred.jsonl", "annotated.jsonl", "queue.jsonl", "dataset.jsonl",
          "card.md")  # fmt: skip
"""The files whose sums stand in SHA256SUMS: all but the manifest, which tells when and where."""

LAST = {"curate": "prompts.jsonl", "infer": "inferred.jsonl", "annotate": "queue.jsonl",
        "freeze": SUMMED[-1], "all": SUMMED[-1]}  # fmt: skip
"""The last of them that a stage writes."""


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the build out up to `stage`: `<output_dir>/runs/evidence/build/<hash8>/`.

    Every stage is a function of the sources and of the completions in the log, so the next stage
    goes on from there, and a repeat asks nothing again.

    Raises:
        TraceError: something the user can change.
    """
    benchmark = _checked(settings)
    check_writable(settings.output_dir)
    console = Console(highlight=False)
    curated = curate(benchmark.builder, limit=settings.limit, seed=settings.seed)
    build = Build(settings=settings, builder=benchmark.builder, curated=curated)
    identities = build.helpers.prepare()
    notes = curated.notes
    for note in notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    hashed = {"how": build.how(), "models": identities, "data": dict(curated.fingerprint)}
    with tracked_run(
        settings, parts=("runs", "evidence", "build"), stem=None, hashed=hashed, group=group
    ) as (run_dir, tracker):
        folder = run_dir.path
        manifest = provenance() | {"run": run_dir.digest, **hashed, "licences": card.LICENCES}
        grids = write(build, settings.stage, folder)
        if settings.stage in ("freeze", "all"):
            summary = build.summary()
            write_json(
                folder / "manifest.json",
                completed(manifest | summary | {"terms": card.TERMS, "notes": list(notes)}),
            )
            tracker.metrics({"metrics": {"triples": summary["triples"], **summary["queued"]}})
            tracker.artifact(folder)
    for grid in grids:
        console.print(grid.terminal())
    if errors := build.errors:
        console.print(
            f"{len(errors):,} requests to models failed ({errors[0]}). They are not logged: the "
            "same command asks them again.",
            markup=False,
            soft_wrap=True,
        )
    console.print(last_lines(folder, tracker), markup=False, soft_wrap=True)


def plan(settings: config.Root) -> Plan:
    """What `run` would ask, at most; no model is opened. The log may have some of it already."""
    benchmark = _checked(settings)
    curated = curate(benchmark.builder, limit=settings.limit, seed=settings.seed)
    build = Build(settings=settings, builder=benchmark.builder, curated=curated)
    return Plan(
        what=f"build {benchmark.name}, stage {settings.stage}: up to "
        f"{len(curated.prompts) * len(build.builder.respondents):,} triples of "
        f"{len(curated.prompts):,} prompts",
        work=tuple(build.work()),
        notes=tuple(curated.notes),
    )


def write(build: Build, stage: str, folder: Path) -> list[Grid]:
    """Carries the stages out up to `stage`, and writes what each found.

    What was frozen before is removed where it no longer follows from that: requests that had
    failed were answered since.

    Returns:
        The tables of the last of them.

    Raises:
        DataError: nothing can be frozen.
    """
    grids = _write(build, stage, folder)
    sums = folder / "SHA256SUMS"
    if sums.is_file() and sums.read_text("utf-8") != _sums(folder):
        for name in (*SUMMED[SUMMED.index(LAST[stage]) + 1 :], sums.name, "manifest.json"):
            (folder / name).unlink(missing_ok=True)
    return grids


def _write(build: Build, stage: str, folder: Path) -> list[Grid]:
    write_jsonl(folder / "prompts.jsonl", (p.to_json() for p in build.curated.prompts))
    if stage == "curate":
        return [build.curated.grid()]
    write_jsonl(folder / "inferred.jsonl", (one.to_json() for one in build.answered))
    if stage == "infer":
        return [tables.inferred(build.answered)]
    write_jsonl(folder / "annotated.jsonl", (one.to_json() for one in build.annotated))
    waiting = (one.question() for one in build.annotated if one.open)
    write_jsonl(folder / "queue.jsonl", waiting)
    if stage == "annotate":
        return [tables.voted(counts.failures(build.annotated), len(build.annotated)), *_open(build)]
    if not build.triples:
        raise _empty(build, folder)
    write_jsonl(folder / "dataset.jsonl", (triple.to_json() for triple in build.triples))
    write_text(folder / "card.md", _card(build))
    write_text(folder / "SHA256SUMS", _sums(folder))
    return [*_open(build), tables.by_language(build.triples), tables.transitions(build.triples)]


def _open(build: Build) -> list[Grid]:
    """What makes no triple, and why."""
    invalid = infer.invalid_counts(build.answered)
    return [tables.not_here(invalid, counts.queued(build.annotated))]


def _card(build: Build) -> str:
    summary, builder = build.summary(), build.builder
    elicited = [n for n, m in builder.respondents.items() if infer.origin(m) == "elicited"]
    return card.card(
        build.triples,
        queued=summary["queued"],
        invalid=summary["invalid"],
        annotated=len(build.annotated),
        failures=summary["failures"],
        agreement=summary["agreement"],
        invented=summary["invented"],
        sources=sorted({prompt.source for prompt in build.curated.prompts}),
        respondents=list(builder.respondents),
        elicited=elicited,
        annotators=list(builder.annotators),
        notes=build.curated.notes,
    )


def _empty(build: Build, folder: Path) -> DataError:
    """Says what became of every answer where none became a triple."""
    invalid = Counter[str]()
    for reasons in infer.invalid_counts(build.answered).values():
        invalid.update(reasons)
    waiting = counts.queued(build.annotated)
    triples = waiting.pop("triples")
    voteless = {
        f"{reason} by {name}": n
        for name, reasons in counts.failures(build.annotated).items()
        for reason, n in reasons.items()
    }
    votes = f" Votes that cannot be counted{_said(voteless)}." if voteless else ""
    return DataError(
        f"task=build: no triple can be frozen. Of {len(build.answered):,} answers "
        f"{invalid.total():,} are invalid{_said(invalid)}, and {triples:,} wait for a human"
        f"{_said(waiting)}: {folder / 'queue.jsonl'}.{votes} All replies are logged. Choose other "
        "respondents or annotators (benchmark.builder), or give them more tokens "
        "(benchmark.builder.answers.max_new_tokens, sampling.max_new_tokens). Quotes that differ "
        "in white space alone count with benchmark.builder.quotes=whitespace."
    )


def _said(found: Mapping[str, int]) -> str:
    listed = "; ".join(f"{n:,} {reason}" for reason, n in found.items())
    return f" ({listed})" if listed else ""


def _sums(folder: Path) -> str:
    there = [name for name in SUMMED if (folder / name).is_file()]
    return "".join(f"{_sha256(folder / name)}  {name}\n" for name in there)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(settings: config.Root) -> config.Evidence:
    benchmark = settings.benchmark
    assert isinstance(benchmark, config.Evidence)
    if benchmark.path is not None:
        raise ConfigError(
            f"benchmark.path: {benchmark.path} is a set already. Leave it out, or give sources to "
            "build from: benchmark.builder.s_eval=FOLDER benchmark.builder.wildchat=FILE."
        )
    for name, model in benchmark.builder.annotators.items():
        if isinstance(model, config.RuleModel) and model.rule not in RULES:
            raise ConfigError(
                f"benchmark.builder.annotators.{name}.rule: {model.rule!r} cannot annotate. "
                f"Choose from {', '.join(RULES)}."
            )
    return benchmark
