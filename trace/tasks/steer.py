"""Push a vector through a model while it answers, and see whether the answers change sides."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from trace import config
from trace.records import Json
from trace.report.canvas import write_drawings
from trace.report.grid import escape
from trace.report.interp.steer_figure import steer_drawings
from trace.report.interp.steer_tables import steer_grids
from trace.report.interp.steer_words import steer_limits, steer_sentences
from trace.report.plan import Plan
from trace.tasks.compared import sha256_of
from trace.tasks.inside import hashed, subject_of
from trace.tasks.results import track_results, write_results
from trace.tracking.manifest import provenance, write_manifest
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run


def run(settings: config.Root, *, group: str | None) -> None:
    """Makes or reads a vector, pushes it, and counts.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
    """
    from trace.interp.steering.direction import save
    from trace.tasks.steering import Steering

    console = Console(highlight=False)
    check_writable(settings.output_dir)
    subject = subject_of(settings)
    origin = dict(subject.origin)
    parts = ("runs", *subject.place(settings.model.name))
    name = f"{'/'.join(parts[1:])} steered"
    with tracked_run(
        settings,
        parts=parts,
        stem="steer",
        hashed={**hashed(settings, subject), "steering": _plain(settings)},
        group=group,
        name=name,
    ) as (run_dir, tracker):
        found = Steering.begun(settings, subject).found()
        result, notes = found.result, [*found.notes, *steer_limits(found.result)]
        for note in found.notes:
            console.print(f"note: {note}", markup=False, soft_wrap=True)
        said = steer_sentences(result)
        save(found.direction, run_dir.path / "vector.safetensors")
        write_drawings(run_dir.path / "figures", steer_drawings(name, result))
        report = [
            *(grid.markdown() for grid in steer_grids(name, result)),
            "\n".join(f"* {escape(sentence)}" for sentence in said),
        ]
        write_results(run_dir.path, settings, found.lines, result, report=report, notes=notes)
        manifest = provenance() | {"run": run_dir.digest, **origin, "notes": notes}
        write_manifest(run_dir.path, manifest, fresh=found.fresh)
        track_results(tracker, run_dir.path, found.lines, result)
    for grid in steer_grids(name, result):
        console.print(grid.terminal())
    for sentence in said:
        console.print(sentence, markup=False, soft_wrap=True)
    console.print(last_lines(run_dir.path, tracker), markup=False, soft_wrap=True)


def plan(settings: config.Root) -> Plan:
    """What `run` would do; no model is opened."""
    subject = subject_of(settings)
    pushes = 2 * len(settings.steering.grid) - 1
    return Plan(
        what=f"steer {'/'.join(subject.place(settings.model.name))} "
        f"at {', '.join(f'{alpha:g}' for alpha in settings.steering.grid)}",
        work=subject.work(),
        notes=(
            "the prompts that the vector was not made from, about half, are then answered under "
            f"{pushes} pushes each (a random direction's among them), and judged like the first.",
        ),
    )


def _plain(settings: config.Root) -> Json:
    """What of the steering can change a result: the strengths as they are measured."""
    steering = config.plain(settings.steering)
    for key in ("alpha", "alphas", "vector"):
        del steering[key]
    given = settings.steering.vector
    vector = None if given is None else sha256_of(Path(given).expanduser())
    return steering | {"grid": settings.steering.grid, "vector": vector}
