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
    if not x.is_floating_point() or y.is_complex() or not _whole(group):
        kinds = ", ".join(f"{k} {tensors[k].dtype}" for k in ("x", "y", "group"))
        raise DataError(f"{path}: the tensors are {kinds}. It must hold {_WANTED}.")
    values = y.tolist()
    if strange := [one for one in values if one not in (0, 1)]:
        raise DataError(f"{path}: y holds {strange[0]}. It must hold {_WANTED}.")
    layers = tensors.get("layers", torch.arange(x.shape[1]))
    numbers = [int(one) for one in layers.reshape(-1)] if _whole(layers) else []
    if layers.shape != (x.shape[1],) or len(set(numbers)) != x.shape[1]:
        raise DataError(
            f"{path}: layers {list(layers.shape)} {layers.dtype} must name each of the "
            f"{x.shape[1]} layers of x once, by a whole number. Leave it out to count them from 0."
        )
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    if order != list(range(len(numbers))):
        x = x[:, order]
    stream = Stream(x=x.to(torch.float32), layers=tuple(sorted(numbers)))
    check_finite(stream, path)
    positive = tuple(bool(one) for one in values)
    if len(set(positive)) == 1:
        raise DataError(
            f"{path}: y is {int(positive[0])} for all {n} samples: there is nothing to tell apart. "
            "Give samples of both classes."
        )
    return Activations(stream=stream, positive=positive, group=tuple(int(one) for one in group))


def _whole(numbers: torch.Tensor) -> bool:
    return not (numbers.is_floating_point() or numbers.is_complex())


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
