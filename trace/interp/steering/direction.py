"""Directions in the residual stream: made, checked, stored, read back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from trace.errors import ConfigError
from trace.interp.stream import Stream
from trace.records import Json

Name = Literal["difference", "probe", "random"]
RUNTIME = frozenset({"engine", "dtype", "quantisation", "context", "reasoning", "chat_template"})
"""What of a model's identity says how it is run, and not which weights it has."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Direction:
    """A vector [d], float32, for the residual stream behind decoder layer `layer`.

    `meta` is JSON, where it came from: in `model` the model's identity, which `load` compares,
    and position, classes, split and seed beside it.
    """

    values: torch.Tensor
    layer: int
    name: Name
    meta: Mapping[str, Json]

    @property
    def sha256(self) -> str:
        """The hash of its numbers; what `Push.vector` names."""
        return hashlib.sha256(self.values.contiguous().numpy().tobytes()).hexdigest()

    @property
    def norm(self) -> float:
        """Its Euclidean length."""
        return float(self.values.double().norm())


def difference(
    stream: Stream, positive: Sequence[bool], *, layer: int, meta: Mapping[str, Json]
) -> Direction:
    """Mean of the positives minus mean of the negatives, in float64: +alpha induces the positive.

    The classes may be of different sizes (Marks and Tegmark 2023 call it mass-mean).

    Args:
        stream: activations of the half that the vector is made from.
        positive: the class of each of its samples.
        layer: a decoder layer that was read.
        meta: stored beside it.

    Raises:
        ConfigError: one class only, or both have the same mean.
    """
    x = stream.layer(layer).double()
    up, down = _classes(x, positive)
    return _checked(up.mean(0) - down.mean(0), x, positive, layer, "difference", meta)


def from_probe(
    weights: torch.Tensor, like: Direction, stream: Stream, positive: Sequence[bool]
) -> Direction:
    """A probe's weights in the length of the difference in means.

    Args:
        weights: [d], for activations as they were read: not standardised ones.
        like: gives layer, length and meta.
        stream: activations of the half that it was fitted on.
        positive: the class of each of its samples.

    Raises:
        ConfigError: the weights are all zero, or point from the positives to the negatives.
    """
    wide = weights.double()
    length = float(wide.norm())
    if not length > 0:
        raise ConfigError(
            "steering.direction=probe: the probe's weights are all zero, it found nothing to "
            "separate. Use steering.direction=difference, or weaker penalties in probe.strengths."
        )
    x = stream.layer(like.layer).double()
    return _checked(wide * (like.norm / length), x, positive, like.layer, "probe", like.meta)


def random(like: Direction, seed: int) -> Direction:
    """A direction drawn uniformly, in the length of `like`: what any push of that size does."""
    stream = torch.Generator().manual_seed(seed)
    drawn = torch.randn(len(like.values), generator=stream, dtype=torch.float64)
    values = (drawn * (like.norm / drawn.norm())).float()
    meta = {**like.meta, "seed": seed}
    return Direction(values=values, layer=like.layer, name="random", meta=meta)


def separation(direction: Direction, stream: Stream, positive: Sequence[bool]) -> float:
    """How much further the positives lie along the direction than the negatives.

    In units of the stream; for the difference in means on its own samples it is the norm.
    """
    x = stream.layer(direction.layer).double()
    return _separation(direction.values.double(), x, positive)


def cosine(one: Direction, other: Direction) -> float:
    """The cosine of the angle between two directions."""
    product = one.values.double() @ other.values.double()
    return float(product) / (one.norm * other.norm)


def save(direction: Direction, path: Path) -> None:
    """Writes a safetensors file: the tensor `vector`, and all else as JSON in its metadata."""
    said = {"layer": direction.layer, "name": direction.name, "meta": dict(direction.meta)}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(
        {"vector": direction.values.contiguous()},
        path,
        metadata={"trace": json.dumps(said, sort_keys=True, allow_nan=False)},
    )


def load(path: Path, *, identity: Mapping[str, Json], width: int, layers: int) -> Direction:
    """Reads what `save` wrote, for a model that it fits.

    Args:
        path: the file.
        identity: the model's; what says how it is run (dtype, engine, …) may differ.
        width: the d of its residual stream.
        layers: how many decoder layers it has.

    Raises:
        ConfigError: no such file, no vector of ours, or that of another model or width.
    """
    try:
        with safe_open(path, framework="pt") as file:
            values = file.get_tensor("vector").float()
            said = json.loads((file.metadata() or {})["trace"])
        layer, name, meta = said["layer"], said["name"], said["meta"]
        own = meta["model"]
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        raise ConfigError(
            f"steering.vector={path}: cannot be read as a stored vector ({error}). Give the "
            "vector.safetensors of a run of task=steer, or leave it out to make one."
        ) from error
    if values.shape != (width,):
        raise ConfigError(
            f"steering.vector={path}: it has {values.numel()} numbers and the residual stream of "
            f"this model {width}. Give a vector that was made from this model."
        )
    differing = sorted(k for k in _weights(identity).keys() | _weights(own).keys()
                       if identity.get(k) != own.get(k))  # fmt: skip
    if differing or layer >= layers:
        what = f"{', '.join(differing)} differ" if differing else f"it has no layer {layer}"
        raise ConfigError(
            f"steering.vector={path}: it was made from another model ({what}). Ask that model, or "
            "leave steering.vector out to make one."
        )
    if not bool(values.isfinite().all()):
        raise ConfigError(
            f"steering.vector={path}: it holds numbers that are not finite. Make it anew."
        )
    return Direction(values=values, layer=layer, name=name, meta=meta)


def _weights(identity: Mapping[str, Json]) -> dict[str, Json]:
    return {k: v for k, v in identity.items() if k not in RUNTIME}


def _classes(x: torch.Tensor, positive: Sequence[bool]) -> tuple[torch.Tensor, torch.Tensor]:
    mask = torch.tensor(positive, dtype=torch.bool)
    if mask.all() or not mask.any():
        raise ConfigError(
            "steering: all answers that a vector is to be made from are of one class. Check "
            "probe.positive and probe.negative, or take a run with more answers of the other."
        )
    return x[mask], x[~mask]


def _separation(values: torch.Tensor, x: torch.Tensor, positive: Sequence[bool]) -> float:
    up, down = _classes(x @ (values / values.norm()), positive)
    return float(up.mean() - down.mean())


def _checked(
    values: torch.Tensor,
    x: torch.Tensor,
    positive: Sequence[bool],
    layer: int,
    name: Name,
    meta: Mapping[str, Json],
) -> Direction:
    if not _separation(values, x, positive) > 0:
        raise ConfigError(
            f"steering.direction={name}: along it the positives do not lie above the negatives at "
            f"layer {layer}, so +alpha would not induce them. Try another steering.layer."
        )
    return Direction(values=values.float(), layer=layer, name=name, meta=meta)
