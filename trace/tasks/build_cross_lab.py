"""Make rubrics: collect responses, have labels proposed, freeze what a person made of them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rich.console import Console

from trace import config
from trace.benchmarks.cross_lab import freeze
from trace.benchmarks.cross_lab.collect import collect
from trace.benchmarks.cross_lab.items import read_items
from trace.benchmarks.cross_lab.proposal import FEWEST
from trace.benchmarks.cross_lab.rubric import BUNDLED, Rubrics, read_rubrics
from trace.errors import DataError
from trace.report.grid import Grid, escape, many
from trace.report.plan import Plan
from trace.tasks.proposing import ROLE, Build
from trace.tracking.files import write_jsonl, write_text
from trace.tracking.manifest import provenance, write_manifest
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run

PROPOSED, FROZEN, CHANGES = "rubrics_proposed.yaml", "rubrics.yaml", "CHANGES.md"


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the build out up to `stage`: `<output_dir>/runs/cross_lab/build/<hash8>/`.

    Every stage is a function of the runs, of what a person edited, and of the completions in the
    log, so the next stage goes on from there, and a repeat asks nothing again.

    Raises:
        TraceError: something the user can change.
    """
    build, stage = _build(settings), settings.stage
    check_writable(settings.output_dir)
    console = Console(highlight=False)
    identities = build.helpers.prepare()
    for note in (notes := _notes(build)):
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    data = dict(build.items.fingerprint)
    if build.benchmark.edited is not None:
        data["edited"] = _sha256(Path(build.benchmark.edited).expanduser())
    runs = list(build.collected.runs)
    hashed = {"how": build.how(), "models": identities, "data": data, "runs": runs}
    with tracked_run(
        settings, parts=("runs", "cross_lab", "build"), stem=None, hashed=hashed, group=group
    ) as (run_dir, tracker):
        folder = run_dir.path
        manifest = provenance() | {"run": run_dir.digest, **hashed, "notes": notes}
        manifest |= {
            "responses": build.collected.hash,
            "counts": build.collected.counts(),
            "respondents": list(build.collected.respondents),
        }
        write_jsonl(folder / "responses.jsonl", (r.to_json() for r in build.collected.responses))
        grids = [build.collected.grid()]
        if stage != "collect":
            grids = _write_proposal(build, folder)
            manifest["proposal"] = build.proposal.to_json()
        if stage == "freeze":
            rubrics, changed = _write_frozen(build, folder)
            manifest["frozen"] = {
                "version": rubrics.version,
                "rubrics": rubrics.hash,
                "sha256": _sha256(folder / FROZEN),
                "changes": changed,
            }
            grids = [_labels(rubrics)]
        write_manifest(folder, manifest, fresh=stage != "collect")  # a later stage says more
        tracker.metrics({"metrics": {"responses": len(build.collected.responses)}})
        tracker.artifact(folder)
    for grid in grids:
        console.print(grid.terminal())
    if stage != "collect":
        _say(console, build)
    console.print(last_lines(folder, tracker), markup=False, soft_wrap=True)


def plan(settings: config.Root) -> Plan:
    """What `run` would ask, at most; no model is opened. The log may have some of it already."""
    build = _build(settings)
    return Plan(
        what=f"build rubrics of {settings.benchmark.name}, stage {settings.stage}: from "
        f"{many(len(build.collected.responses), 'response')} to development items by "
        f"{', '.join(build.collected.respondents)}",
        work=tuple(build.work()),
        notes=tuple(_notes(build)),
    )


def _build(settings: config.Root) -> Build:
    benchmark = settings.benchmark
    assert isinstance(benchmark, config.CrossLab)
    assert benchmark.responses is not None  # the configuration has checked it
    items = read_items(benchmark.path)
    return Build(
        settings=settings,
        benchmark=benchmark,
        items=items,
        before=read_rubrics(benchmark.rubrics),
        collected=collect(benchmark.responses, items, limit=settings.limit, seed=settings.seed),
    )


def _write_proposal(build: Build, folder: Path) -> list[Grid]:
    """Writes the proposal for a person to edit.

    Raises:
        DataError: nothing usable was proposed, and no person has written labels either.
    """
    if not build.proposal.labels:
        if build.settings.stage == "freeze":
            return []
        raise _nothing(build, folder)
    text = freeze.as_yaml(build.proposed, freeze.TO_DO, build.collected.hash)
    write_text(folder / PROPOSED, text)
    return [_labels(read_rubrics(folder / PROPOSED))]


def _write_frozen(build: Build, folder: Path) -> tuple[Rubrics, list[str]]:
    assert build.benchmark.edited is not None  # the configuration has checked it
    edited = freeze.frozen(
        Path(build.benchmark.edited).expanduser(),
        categories=list(dict.fromkeys(item.category for item in build.items.items)),
        respondents=[*build.collected.respondents, *freeze.sources(build.before)],
        responses=build.collected.hash,
    )
    write_text(folder / FROZEN, freeze.as_yaml(edited, freeze.FROZEN, build.collected.hash))
    changed = freeze.changes(build.proposed, edited)
    listed = [f"- {escape(line)}" for line in changed] or ["Nothing: they stand as proposed."]
    write_text(folder / CHANGES, "\n".join(["# What a person changed", "", *listed]) + "\n")
    return read_rubrics(folder / FROZEN), changed


def _labels(rubrics: Rubrics) -> Grid:
    grid = Grid(title=f"Labels ({rubrics.status})", header=["Category", "Label", "Derived from"])
    for category, rubric in rubrics.of.items():
        for place, label in enumerate(rubric.labels):
            first = "" if place else category
            grid.rows.append([(first,), (label.name,), label.derived_from or ("–",)])
        grid.ends.append(len(grid.rows))
    return grid


def _notes(build: Build) -> list[str]:
    few = sorted({item.category for item in build.items.items} - {*build.observed})
    kept = f"fewer than {FEWEST} development responses, so no label is proposed:"
    return [*build.collected.notes, *([f"{kept} {', '.join(few)}."] if few else [])]


def _say(console: Console, build: Build) -> None:
    """What the proposer's replies came to, where they did not come to everything."""
    proposal, said = build.proposal, []
    if unusable := proposal.unusable.total():
        said.append(
            f"{unusable:,} of {proposal.replies:,} replies propose nothing that can be used "
            f"({proposal.reasons()})."
        )
    if lacking := [name for name in build.observed if name not in proposal.labels]:
        said.append(f"nothing is proposed for {', '.join(lacking)}: write their labels yourself.")
    if proposal.errors:
        said.append(
            f"{many(len(proposal.errors), 'request')} failed ({proposal.errors[0]}). They are not "
            "logged: the same command asks them again."
        )
    for line in said:
        console.print(line, markup=False, soft_wrap=True)


def _nothing(build: Build, folder: Path) -> DataError:
    """Says what became of every reply, and how to go on without them."""
    assert build.benchmark.proposer is not None
    name = build.benchmark.proposer.name
    if not build.observed:
        return DataError(
            f"benchmark.responses: no category has {FEWEST} development responses, and labels are "
            "not made from fewer. Run more items first."
        )
    instead = (
        "Choose a larger one, or write the labels yourself: read "
        f"{folder / 'responses.jsonl'}, edit a copy of {BUNDLED.name} "
        "(trace/benchmarks/cross_lab/data), and freeze it."
    )
    if build.proposal.unusable["too long"]:
        instead = (
            f"Where replies are too long, tell its context: benchmark.{ROLE}.context=N. {instead}"
        )
    return DataError(
        f"benchmark.{ROLE}: {name} has proposed no labels that can be used, as small models do. Of "
        f"{build.proposal.replies:,} replies: {build.proposal.reasons()}. All but errors are "
        f"logged. {instead}"
    )


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
