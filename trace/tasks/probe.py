"""Read the residual stream behind judged answers, and see how well a linear probe tells them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from trace import config
from trace.errors import ConfigError
from trace.models.open import open_model
from trace.records import Json
from trace.report.canvas import write_drawings
from trace.report.grid import escape
from trace.report.interp.probe_figure import probe_drawings
from trace.report.interp.probe_tables import probe_grids
from trace.report.interp.probe_words import probe_limits, probe_sentences
from trace.report.plan import Plan
from trace.tasks.compared import sha256_of
from trace.tasks.inside import OF_THE_MACHINE, Taken, hashed, subject_of, taken
from trace.tasks.labelled import Subject
from trace.tasks.results import track_results, write_results
from trace.tracking.manifest import provenance, write_manifest
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run

if TYPE_CHECKING:  # a dry run does without torch
    from trace.interp.labelled import Labelled
    from trace.interp.probes.measure import Measured
    from trace.interp.stream import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What probes tell, and of which samples."""

    measured: Measured
    lines: Sequence[Json]
    notes: Sequence[str]
    fresh: bool = False


def run(settings: config.Root, *, group: str | None) -> None:
    """Fits probes and judges them.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
    """
    console = Console(highlight=False)
    check_writable(settings.output_dir)
    if settings.probe.activations is not None:
        file = _file(settings)
        subject, origin = None, {"data": {"activations": sha256_of(file)}}
        parts: tuple[str, ...] = ("runs", "activations", file.stem)
        identity: Json = {
            "config": {"seed": settings.seed, "draws": settings.scoring.bootstrap_draws},
            "probe": _plain(settings),
            **origin,
        }
    else:
        subject = subject_of(settings)
        origin = dict(subject.origin)
        parts = ("runs", *subject.place(settings.model.name))
        identity = hashed(settings, subject)
        if settings.probe.control is not None:
            origin["control"] = dict(open_model(settings.probe.control).identity)
            identity["control"] = origin["control"]
    name = f"{'/'.join(parts[1:])} probed"
    with tracked_run(
        settings, parts=parts, stem="probe", hashed=identity, group=group, name=name
    ) as (run_dir, tracker):
        found = _of_file(settings) if subject is None else _of_answers(settings, subject)
        for note in found.notes:
            console.print(f"note: {note}", markup=False, soft_wrap=True)
        measured = found.measured
        result = {"metrics": measured.metrics, "breakdowns": measured.breakdowns}
        said = [*probe_sentences(result)]
        write_drawings(run_dir.path / "figures", probe_drawings(name, result))
        measured.probes.save(run_dir.path / "probes.safetensors", meta=origin)
        notes = [*found.notes, *probe_limits(result)]
        report = [
            *(grid.markdown() for grid in probe_grids(name, result)),
            "\n".join(f"* {escape(sentence)}" for sentence in said),
        ]
        write_results(run_dir.path, settings, found.lines, result, report=report, notes=notes)
        manifest = provenance() | {"run": run_dir.digest, **origin, "notes": notes}
        write_manifest(run_dir.path, manifest, fresh=found.fresh)
        track_results(tracker, run_dir.path, found.lines, result)
    console.print(probe_grids(name, result)[0].terminal())
    for sentence in said:
        console.print(sentence, markup=False, soft_wrap=True)
    console.print(last_lines(run_dir.path, tracker), markup=False, soft_wrap=True)


def plan(settings: config.Root) -> Plan:
    """What `run` would do; no model is opened."""
    if settings.probe.activations is not None:
        return Plan(what=f"probe {_file(settings)}", work=(), arms={}, notes=())
    subject = subject_of(settings)
    return Plan(
        what=f"probe {'/'.join(subject.place(settings.model.name))}",
        work=subject.work(),
        arms={},
        notes=(),
    )


_OF_ANSWERS = ("positive", "negative", "layers", "position")
"""Keys of `probe` that say nothing about a file of activations."""


def _file(settings: config.Root) -> Path:
    """The file of activations.

    Raises:
        ConfigError: it is no file, or a key stands beside it that is for answers.
    """
    probe = settings.probe
    assert probe.activations is not None
    for key, said in (
        ("positive", probe.positive is not None),
        ("layers", isinstance(probe.layers, list)),
        ("control", probe.control is not None),
    ):
        if said:
            raise ConfigError(
                f"probe.{key}: is for answers that a model reads, and probe.activations has been "
                f"read: all in the file is taken. Leave probe.{key} out."
            )
    path = Path(probe.activations).expanduser()
    if not path.is_file():
        raise ConfigError(f"probe.activations: {path} is no file. Give a safetensors file.")
    return path


def _plain(settings: config.Root) -> Json:
    left_out = (*OF_THE_MACHINE, *_OF_ANSWERS)
    return {k: v for k, v in config.plain(settings.probe).items() if k not in left_out}


def _of_file(settings: config.Root) -> _Found:
    from trace.interp.probes.activations_file import read_activations
    from trace.interp.probes.measure import measure

    read = read_activations(str(_file(settings)))
    measured = measure(
        read.stream,
        read.positive,
        read.group,
        settings=settings.probe,
        trainer=settings.trainer,
        seed=settings.seed,
        draws=settings.scoring.bootstrap_draws,
        output_dir=settings.output_dir,
    )
    named = [
        {"id": str(i), "group": str(group), "positive": positive}
        for i, (group, positive) in enumerate(zip(read.group, read.positive, strict=True))
    ]
    return _Found(measured=measured, lines=_lines(named, measured), notes=())


def _of_answers(settings: config.Root, subject: Subject) -> _Found:
    from trace.interp.activations.read import read_stream
    from trace.interp.probes.measure import measure

    kept = taken(settings, subject)

    def stream(model: config.Model) -> Stream:
        return read_stream(
            model,
            kept.answers,
            layers=settings.probe.layers,
            position=settings.probe.position,
            trainer=settings.trainer,
            output_dir=settings.output_dir,
        )

    control = settings.probe.control
    measured = measure(
        stream(settings.model),
        kept.positive,
        kept.group,
        settings=settings.probe,
        trainer=settings.trainer,
        seed=settings.seed,
        draws=settings.scoring.bootstrap_draws,
        output_dir=settings.output_dir,
        control=None if control is None else (_called(control), stream(control)),
        texts=[_read(one, settings.probe.position) for one in kept.answers],
        position=settings.probe.position,
        labels=(kept.classes.positive, kept.classes.negative),
        scope=subject.scope,
    )
    return _Found(
        measured=measured,
        lines=_lines(_named(kept), measured),
        notes=(*subject.notes, *kept.notes),
        fresh=subject.fresh,
    )


def _read(one: Labelled, position: str) -> str:
    """What stands before the position: a baseline must not know more than the model did there."""
    return "\n".join(one.request.texts) if position == "prompt_end" else one.response.text


def _called(control: config.Model) -> str:
    """The name of a control model in tables."""
    assert isinstance(control.engine, config.HfEngine)
    return f"{control.name}{' (random weights)' if control.engine.random_weights else ''}"


def _named(kept: Taken) -> list[Json]:
    return [
        {
            "id": one.id,
            "group": one.group,
            "positive": one.positive,
            "response": one.response.in_record(),
        }
        for one in kept.answers
    ]


def _lines(named: Sequence[Json], measured: Measured) -> list[Json]:
    """Each sample with its out-of-fold decision values, one a layer."""
    layers = [row["layer"] for row in measured.breakdowns["layers"]]
    return [
        line
        | {
            "decisions": {
                str(layer): float(f"{value:.12g}")
                for layer, value in zip(layers, measured.decisions[i], strict=True)
            }
        }
        for i, line in enumerate(named)
    ]
