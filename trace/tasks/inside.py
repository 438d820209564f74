"""What task=probe and task=steer share: whose answers are looked into, and how a run is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trace import config
from trace.errors import ConfigError, DataError, UnsupportedError
from trace.records import Json, digest
from trace.tasks.clarify_subject import ClarifySubject
from trace.tasks.judged_run import JudgedRun
from trace.tasks.labelled import Classes, Subject

if TYPE_CHECKING:  # a dry run does without torch
    from trace.interp.labelled import Labelled

OF_THE_MACHINE = ("run", "activations", "control", "memory_gib")
"""Keys of `probe` that a hash stands for, or that change no number."""


def subject_of(settings: config.Root) -> Subject:
    """The judged answers that a configuration names; nobody is asked yet.

    Raises:
        TraceError: the run cannot be read, or the benchmark has no labels of its own.
        UnsupportedError: the model's engine shows no activations.
    """
    for key, model in (("model", settings.model), ("probe.control", settings.probe.control)):
        if model is not None and not isinstance(model.engine, config.HfEngine):
            raise UnsupportedError(
                f"{key}: {model.name} runs by {model.engine.name}, which neither shows nor pushes "
                "activations. Use model/engine=hf with the weights themselves."
            )
    if settings.probe.run is not None:
        if settings.judges is not None:
            raise ConfigError(
                "judges: are not read with probe.run, whose own judges label new answers too. "
                "Leave them out, or evaluate with these judges first."
            )
        return JudgedRun.begun(settings)
    if not isinstance(settings.benchmark, config.Clarify):
        raise ConfigError(
            f"benchmark={settings.benchmark.name}: task={settings.task.name} needs answers with "
            "labels. Evaluate it first, then give the run: probe.run=FOLDER with "
            "'probe.positive=[…]' and 'probe.negative=[…]'; or leave benchmark out: clarify."
        )
    for key in ("positive", "negative"):
        if getattr(settings.probe, key) is not None:
            raise ConfigError(
                f"probe.{key}: is read with probe.run only; clarify knows its labels "
                "(benchmark.label). Leave it out, or add probe.run=FOLDER."
            )
    return ClarifySubject(settings)


def hashed(settings: config.Root, subject: Subject) -> Json:
    """All that can change the result of looking inside."""
    probe = {k: v for k, v in config.plain(settings.probe).items() if k not in OF_THE_MACHINE}
    return {"config": config.of_result(settings), "probe": probe, **subject.origin}


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The answers that have the position, and the note that says which have not."""

    answers: list[Labelled]
    classes: Classes
    notes: tuple[str, ...]

    @property
    def positive(self) -> list[bool]:
        """The side of each."""
        return [one.positive for one in self.answers]

    @property
    def group(self) -> list[str]:
        """The item of each."""
        return [one.group for one in self.answers]

    def described(self) -> Json:
        """The classes with their counts, for metrics.json."""
        sides = Counter(self.positive)
        return {
            "positive": {"labels": list(self.classes.positive), "n": sides[True]},
            "negative": {"labels": list(self.classes.negative), "n": sides[False]},
        }


def taken(settings: config.Root, subject: Subject) -> Taken:
    """The labelled answers that can be read at `probe.position`, by the control model too.

    Raises:
        DataError: one of the classes is empty.
    """
    from trace.interp.activations.read import readable

    answers, classes = subject.labelled()
    lacking: dict[str, str] = {}
    for model in (settings.model, settings.probe.control):
        if model is not None:
            answers, unreadable = readable(model, answers, settings.probe.position)
            lacking |= unreadable
    for name, labels, wanted in (
        ("positive", classes.positive, True),
        ("negative", classes.negative, False),
    ):
        if not any(one.positive is wanted for one in answers):
            out = Counter(lacking.values()) + Counter(classes.left_out)
            told = ", ".join(f"{count} {reason}" for reason, count in out.items())
            raise DataError(
                f"probe.{name}: no answer that can be read is {' or '.join(map(str, labels))}, so "
                f"there is nothing to tell apart{f' (left out: {told})' if told else ''}. Take "
                "other labels, more samples, or another benchmark.label."
            )
    reasons = Counter(lacking.values())
    notes = tuple(
        f"{count} answers cannot be read at {settings.probe.position} ({reason}): left out."
        for reason, count in reasons.items()
    )
    return Taken(answers=answers, classes=classes, notes=notes)


def remembered(
    settings: config.Root, what: Json, compute: Callable[[], Sequence[float | None]]
) -> list[float | None]:
    """Numbers that take the model's weights, kept beside its activations for the same question.

    Args:
        settings: names the model and the output folder.
        what: JSON of all that can change them.
        compute: makes them.
    """
    import json

    from trace.tracking.files import safe_name, write_json

    folder = Path(settings.output_dir) / "activations" / safe_name(settings.model.name)
    path = folder / f"{digest(what)[:16]}.json"
    if path.is_file():
        kept: list[float | None] = json.loads(path.read_bytes())
        return kept
    made = list(compute())
    folder.mkdir(parents=True, exist_ok=True)
    write_json(path, made)
    return made
