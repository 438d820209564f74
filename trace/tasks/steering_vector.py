"""The vector of task=steer: made from half of the labelled answers, or read from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trace import config
from trace.errors import ConfigError
from trace.interp.activations.read import read_stream
from trace.interp.labelled import Labelled
from trace.interp.probes.fitted import fit_all
from trace.interp.probes.fitting import NewtonFit
from trace.interp.steering import direction as directions
from trace.interp.steering.direction import Direction
from trace.interp.stream import Stream
from trace.models.hf.engine import HfModel
from trace.records import Json
from trace.tasks.inside import Taken

ORIGIN = ("position", "classes", "made_from", "separation", "cosine_probe")
"""What a stored vector says of itself, as it stands in metrics.json."""


def read(settings: config.Root, model: HfModel) -> Direction:
    """The vector of `steering.vector`.

    Raises:
        ConfigError: it is no vector of an earlier run with this model, or the configuration asks
            for another layer, position or way to make it.
    """
    wanted, shape = settings.steering, model.text.config
    path = Path(wanted.vector or "").expanduser()
    given = directions.load(
        path,
        identity=model.identity,
        width=shape.hidden_size,
        layers=shape.num_hidden_layers,
    )
    if missing := [key for key in (*ORIGIN, "split") if key not in given.meta]:
        raise ConfigError(
            f"steering.vector={path}: it does not say where it came from ({', '.join(missing)}). "
            "Give the vector.safetensors of a run of task=steer."
        )
    if wanted.layer not in (None, given.layer):
        raise ConfigError(
            f"steering.layer: {wanted.layer}, and steering.vector was made at layer "
            f"{given.layer}. Leave the layer out."
        )
    if wanted.direction == "probe" and given.name != "probe":
        raise ConfigError(
            f"steering.direction: probe, and steering.vector is the {given.name} of the classes. "
            "Leave one of the two out."
        )
    position = given.meta["position"]
    if settings.probe.position != position:
        raise ConfigError(
            f"probe.position: {settings.probe.position}, and steering.vector was made at "
            f"{position}. Use probe.position={position}."
        )
    return given


def made(settings: config.Root, model: HfModel, kept: Taken, built: Sequence[int],
         layer: int) -> Direction:  # fmt: skip
    """The vector of `steering.direction`, which says of itself what it was made from.

    Args:
        settings: name the direction and the position.
        model: what is read.
        kept: the labelled answers.
        built: which of them the vector is made from.
        layer: the decoder layer behind which they are read.

    Raises:
        TraceError: the classes cannot be told apart, or activations cannot be read.
    """
    answers = [kept.answers[i] for i in built]
    sides = [one.positive for one in answers]
    stream = read_stream(
        settings.model,
        answers,
        layers=[layer],
        position=settings.probe.position,
        trainer=settings.trainer,
        output_dir=settings.output_dir,
    )
    meta: dict[str, Json] = {
        "model": dict(model.identity),
        "position": settings.probe.position,
        "classes": kept.described(),
        "split": sorted({one.group for one in answers}),
        "seed": settings.seed,
        "made_from": {"positive": sum(sides), "negative": len(sides) - sum(sides)},
        "cosine_probe": None,
    }
    found = directions.difference(stream, sides, layer=layer, meta=meta)
    if settings.steering.direction == "probe":
        along = _of_probe(settings.probe, settings.seed, answers, sides, stream, found)
        found = _told(along, cosine_probe=directions.cosine(found, along))
    return _told(found, separation=directions.separation(found, stream, sides))


def _told(direction: Direction, **more: Json) -> Direction:
    meta: Mapping[str, Json] = {**direction.meta, **more}
    return replace(direction, meta=meta)


def _of_probe(
    asked: config.Probe,
    seed: int,
    answers: Sequence[Labelled],
    sides: Sequence[bool],
    stream: Stream,
    like: Direction,
) -> Direction:
    """The direction of a probe of the same half."""
    only = Stream(x=stream.layer(like.layer)[:, None], layers=(like.layer,))
    probes = fit_all(
        only,
        sides,
        [one.group for one in answers],
        folds=asked.folds,
        strengths=asked.strengths,
        seed=seed,
        fit=NewtonFit(memory_gib=asked.memory_gib),
    )
    return directions.from_probe(probes.layer(like.layer), like, only, sides)
