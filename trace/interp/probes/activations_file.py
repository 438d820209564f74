"""Activations that a user made elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from trace.errors import DataError
from trace.interp.stream import Stream

_WANTED = "x [samples, layers, d], y [samples] of 0 and 1, and group [samples] of whole numbers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activations:
    """The stream, and of each sample whether it is positive and the group it belongs to."""

    stream: Stream
    positive: tuple[bool, ...]
    group: tuple[int, ...]


def read_activations(path: str) -> Activations:
    """Reads x, y, group and, if they are there, the numbers of the `layers` of a safetensors file.

    Raises:
        DataError: it cannot be read, a tensor is missing or has another shape, there is one class
            only, or a number is not finite.
    """
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise DataError(
            f"{path}: no safetensors file can be read there ({error}). Give probe.activations the "
            f"path of one that holds {_WANTED}."
        ) from error
    if missing := sorted({"x", "y", "group"} - set(tensors)):
        raise DataError(f"{path}: {', '.join(missing)} is missing. It must hold {_WANTED}.")
    x, y, group = tensors["x"], tensors["y"], tensors["group"]
    n = len(x) if x.dim() else 0
    if x.dim() != 3 or not x.numel() or y.shape != (n,) or group.shape != (n,):
        shapes = ", ".join(f"{k} {list(tensors[k].shape)}" for k in ("x", "y", "group"))
        raise DataError(f"{path}: the shapes are {shapes}. It must hold {_WANTED}.")
    if (
        not x.is_floating_point()
        or group.is_floating_point()
        or not bool(((y == 0) | (y == 1)).all())
    ):
        kinds = ", ".join(f"{k} {tensors[k].dtype}" for k in ("x", "y", "group"))
        raise DataError(f"{path}: the tensors are {kinds}. It must hold {_WANTED}.")
    layers = tensors.get("layers", torch.arange(x.shape[1]))
    if layers.shape != (x.shape[1],) or len(set(layers.tolist())) != len(layers):
        raise DataError(
            f"{path}: layers {list(layers.shape)} must name each of the {x.shape[1]} layers of x "
            "once. Leave it out to count them from 0."
        )
    stream = Stream(x=x.to(torch.float32), layers=tuple(int(one) for one in layers))
    check_finite(stream, path)
    positive = tuple(bool(one) for one in y)
    if len(set(positive)) == 1:
        raise DataError(
            f"{path}: y is {int(positive[0])} for all {n} samples: there is nothing to tell apart. "
            "Give samples of both classes."
        )
    return Activations(stream=stream, positive=positive, group=tuple(int(one) for one in group))


def check_finite(stream: Stream, where: str) -> None:
    """Refuses activations that overflowed.

    Raises:
        DataError: names the layer and the sample, counted from 0, of the first that did.
    """
    for at, layer in enumerate(stream.layers):
        broken = ~torch.isfinite(stream.x[:, at]).all(1)
        if broken.any():
            sample = int(broken.nonzero()[0])
            raise DataError(
                f"{where}: the activations of sample {sample} behind layer {layer} are not all "
                f"finite ({int(broken.sum())} of {len(broken)} samples there). Read them in "
                "bfloat16 or float32, not float16, or leave the sample out."
            )
