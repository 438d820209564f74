"""Audit a set of TraceSafe records: what a judge could learn without judging, and what is wrong."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from trace import config
from trace.benchmarks.tracesafe.audit import collection, reviews, spotcheck
from trace.benchmarks.tracesafe.audit.figure import write_auc
from trace.benchmarks.tracesafe.audit.findings import findings
from trace.benchmarks.tracesafe.audit.tables import tables
from trace.errors import ConfigError
from trace.records import Json, digest
from trace.report.grid import Grid
from trace.report.plan import Plan
from trace.tracking.files import write_json, write_text
from trace.tracking.manifest import completed, provenance
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run

SCHEMA = 1
STAGES = ("all", "spotcheck")
PARTS = ("runs", "tracesafe", "audit")


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the audit out. No model is needed.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
    """
    benchmark = _checked(settings)
    check_writable(settings.output_dir)
    path = Path(benchmark.path).expanduser() if benchmark.path else None
    if settings.stage == "spotcheck":
        spot_check(settings, path, group)
    else:
        audit(settings, benchmark, path, group)


def plan(settings: config.Root) -> Plan:
    """What `run` would do."""
    benchmark = _checked(settings)
    own = "our own set" if settings.stage == "all" else None
    sets = " beside ".join(name for name in (benchmark.path, own) if name)
    return Plan(what=f"audit {sets}, {settings.stage}; no model is asked")


def _checked(settings: config.Root) -> config.TraceSafe:
    if not isinstance(settings.benchmark, config.TraceSafe):
        raise ConfigError(f"benchmark: {settings.benchmark.name} has no audit. Choose tracesafe.")
    if settings.stage not in STAGES:
        raise ConfigError(
            f"stage: {settings.stage!r} is no stage of the audit. Choose {' or '.join(STAGES)}."
        )
    return settings.benchmark


def audit(
    settings: config.Root, benchmark: config.TraceSafe, path: Path | None, group: str | None
) -> None:
    """Audits the given set, if there is one, and our own beside it."""
    console = Console(highlight=False)
    limit, seed, draws = settings.limit, settings.seed, settings.scoring.bootstrap_draws
    collections = [collection.given(path, limit=limit, seed=seed)] if path else []
    collections.append(collection.own(benchmark, limit=limit, seed=seed))
    hashed = {
        "schema": SCHEMA,
        "limit": limit,
        "seed": seed,
        "view": benchmark.view,
        "draws": draws,
        "data": {one.name: dict(one.fingerprint) for one in collections},
    }
    for one in collections:
        for note in one.notes:
            console.print(f"note: {one.name}: {note}", markup=False, soft_wrap=True)
    with tracked_run(settings, parts=PARTS, stem=None, hashed=hashed, group=group) as (
        run_dir,
        tracker,
    ):
        manifest = provenance() | {"run": run_dir.digest, "audited": hashed}
        found = {
            one.name: findings(one, view=benchmark.view, draws=draws, seed=seed)
            for one in collections
        }
        grids = tables(found)
        title = "TraceSafe audit: " + ", ".join(f"{n} ({f['records']})" for n, f in found.items())
        write_json(
            run_dir.path / "audit.json", {"schema": SCHEMA, "view": benchmark.view, "sets": found}
        )
        write_auc(run_dir.path / "figures", found, title)
        notes = [f"- {name}: {note}" for name, f in found.items() for note in f["notes"]]
        report = [f"# {title}", *notes, *(grid.markdown() for grid in grids)]
        write_text(run_dir.path / "report.md", "\n\n".join(report) + "\n")
        write_json(run_dir.path / "manifest.json", completed(manifest))
        tracker.metrics({"metrics": {name: _logged(one) for name, one in found.items()}})
        tracker.artifact(run_dir.path)
    _show(console, grids, last_lines(run_dir.path, tracker))


def spot_check(settings: config.Root, path: Path | None, group: str | None) -> None:
    """Reads the reviews beside the set; where there are none yet, writes the list to fill in."""
    console = Console(highlight=False)
    if path is None:
        raise ConfigError(
            "benchmark.path: no value. stage=spotcheck reads spotcheck.csv beside a set that was "
            "built: benchmark.path=outputs/runs/tracesafe/build/HASH."
        )
    reviewed = collection.given(path, limit=None, seed=settings.seed)
    file = (path if path.is_dir() else path.parent) / reviews.FILE
    if not file.exists():
        reviews.write_empty(file, spotcheck.chosen(reviewed.records))
        console.print(
            f"note: {file} was not there; it now lists the records to review. Fill in the verdict "
            f"({', '.join(reviews.VERDICTS)}), your name and a reason; a second reviewer adds "
            "rows of the same ids. Then type the same command again.",
            markup=False,
            soft_wrap=True,
        )
    said = reviews.read(file, reviewed.records)
    found = spotcheck.agreement(said, reviewed.records)
    hashed = {"schema": SCHEMA, "reviews": digest([r.to_json() for r in said])}
    hashed |= {"data": dict(reviewed.fingerprint)}
    with tracked_run(settings, parts=PARTS, stem=None, hashed=hashed, group=group) as (
        run_dir,
        tracker,
    ):
        manifest = provenance() | {"run": run_dir.digest, "audited": hashed}
        grids = spotcheck.tables(found)
        write_json(run_dir.path / "audit.json", {"schema": SCHEMA, "spotcheck": found})
        report = ["# TraceSafe spot check", *(grid.markdown() for grid in grids)]
        write_text(run_dir.path / "report.md", "\n\n".join(report) + "\n")
        write_json(run_dir.path / "manifest.json", completed(manifest))
        tracker.metrics({"metrics": {"spotcheck": found}})
        tracker.artifact(run_dir.path)
    _show(console, grids, last_lines(run_dir.path, tracker))


def _logged(found: dict[str, Json]) -> dict[str, Json]:
    """The parts that are numbers to watch; lists of records stay in the artefact."""
    return {part: found[part] for part in ("records", "criteria", "structure", "ngrams", "phrases")}


def _show(console: Console, grids: list[Grid], last: str) -> None:
    for grid in grids:
        console.print(grid.terminal())
        console.print()
    console.print(last, markup=False, soft_wrap=True)
