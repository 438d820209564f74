"""Build questions with audited documents: corpus, questions, documents, audit, review, freeze."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from trace import config
from trace.benchmarks.rag_safety.builder import articles, corpus, freeze, review, tables
from trace.benchmarks.rag_safety.builder.card import LICENCE, TERMS, licences
from trace.errors import ConfigError, DataError
from trace.records import Json
from trace.report.grid import many
from trace.report.plan import Plan
from trace.tasks.rag_safety_folder import write
from trace.tasks.rag_safety_stages import Build
from trace.tracking.files import write_json
from trace.tracking.manifest import completed, provenance
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the build out up to `stage`: `<output_dir>/runs/rag_safety/build/<hash8>/`.

    Every stage is a function of the articles, of what people decided, and of the completions in the
    log, so the next stage goes on from there, and a repeat asks nothing again.

    Raises:
        TraceError: something the user can change.
    """
    build = _build(settings)
    check_writable(settings.output_dir)
    console = Console(highlight=False)
    fingerprint = {**build.articles.fingerprint, **build.reviews.fingerprint}
    identities = build.helpers.prepare()
    notes = _notes(build)
    for note in notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    hashed = {"how": build.how(), "models": identities, "data": fingerprint}
    with tracked_run(
        settings, parts=("runs", "rag_safety", "build"), stem=None, hashed=hashed, group=group
    ) as (run_dir, tracker):
        folder = run_dir.path
        manifest = provenance() | {"run": run_dir.digest, **hashed}
        grids = write(build, settings.stage, folder, run_dir.digest[:8], notes)
        if build.does("freeze"):
            summary = _summary(build)
            terms = {"licence": LICENCE, "terms": TERMS, "notes": list(notes)}
            write_json(folder / "manifest.json", completed(manifest | summary | terms))
            tracker.metrics({"metrics": {"questions": summary["questions"]}})
            tracker.artifact(folder)
    for grid in grids:
        console.print(grid.terminal())
    if failed := build.failed:
        console.print(failed, markup=False, soft_wrap=True)
    if unused := build.unused:
        console.print(
            f"{unused:,} of the {len(build.reviews.decisions):,} decisions of "
            "benchmark.builder.reviewed are about no document of this build, and were not used.",
            markup=False,
            soft_wrap=True,
        )
    if waiting := build.waiting:
        console.print(
            f"{many(waiting, 'document')} are undecided. Give them to people: task=annotate "
            f"annotate.action=export annotate.form=rag_document "
            f"annotate.source={folder / 'queue.jsonl'}. Then type this command again with "
            "benchmark.builder.reviewed=FOLDER, the folder of the import.",
            markup=False,
            soft_wrap=True,
        )
    console.print(last_lines(folder, tracker), markup=False, soft_wrap=True)


def plan(settings: config.Root) -> Plan:
    """What `run` would ask, at most; no model is opened. The log may have some of it already."""
    build = _build(settings)
    wanted = sum(one.number for one in build.asked)
    return Plan(
        what=f"build {settings.benchmark.name}, stage {settings.stage}: up to {wanted:,} questions "
        f"about {len(build.corpus.documents):,} documents of "
        f"{len(build.articles.articles):,} articles",
        work=tuple(build.work()),
        notes=tuple(_notes(build)),
    )


def _summary(build: Build) -> dict[str, Json]:
    """What the manifest says of the set."""
    return {
        "questions": len(build.kept.kept),
        "balanced": len(build.balanced),
        "without_keys": sum(not one.question.keys for one in build.kept.kept),
        "counts": dict(zip(("full", "balanced"), build.counts, strict=True)),
        "articles": len(build.articles.articles),
        "passed_over": dict(build.articles.passed_over),
        "documents": len(build.corpus.documents),
        "lost": dict(build.corpus.lost),
        "left_out": build.left_out(),
        "audit": tables.counted(build.audited),
        "decided_by_people": build.by_people,
        "decisions_unused": build.unused,
        "licences": licences(freeze.sources(build.kept.kept)),
    }


def _notes(build: Build) -> list[str]:
    passed = ", ".join(f"{why} ({n:,})" for why, n in build.articles.passed_over.items())
    return [
        *([f"Pages of the export that were passed over: {passed}."] if passed else []),
        *corpus.lost_note(build.corpus.lost),
        *corpus.few_note(build.corpus),
        *build.scarce[0],
    ]


def _build(settings: config.Root) -> Build:
    benchmark = settings.benchmark
    assert isinstance(benchmark, config.RagSafety)
    for name in ("path", "mirage", "corpus", "balanced", "benign"):
        if given := getattr(benchmark, name):
            raise ConfigError(
                f"benchmark.{name}: {given} is not read by a build. Leave it out: a set is built "
                "from benchmark.builder.articles=FILE, full and balanced."
            )
    builder = benchmark.builder
    reviewed = builder.reviewed
    build = Build(
        settings=settings,
        builder=builder,
        articles=articles.read(builder),
        reviews=review.Reviews() if reviewed is None else review.read(Path(reviewed).expanduser()),
    )
    if not build.corpus.documents:
        raise DataError(
            f"benchmark.builder.articles: {builder.articles} has no article of 50 words or more."
        )
    if not build.asked:
        raise DataError(
            f"benchmark.builder.articles: all of {builder.articles} is harmless, and questions are "
            'asked about articles with a subcategory. Write "subcategory": "explosives" or another '
            "into theirs."
        )
    notes, all_ = build.scarce
    if all_ and build.does("questions"):  # before a model is paid for it
        raise DataError(f"benchmark.builder.articles: {builder.articles}: {' '.join(notes)}")
    return build
