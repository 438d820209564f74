"""Probes fitted to all samples: for steering, for other data, not to be judged on these."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import cosine_similarity

from trace.interp.probes.fitting import Fit
from trace.interp.probes.folds import Fold, split
from trace.interp.probes.nested import chosen_strengths
from trace.interp.stream import Stream
from trace.records import Json


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Probes:
    """A probe a layer: xw + b is positive where activations x [d], as read, look positive.

    `weights` [layers, d] and `intercepts` [layers] are float64; `strengths` are the C.
    """

    layers: tuple[int, ...]
    weights: Tensor
    intercepts: Tensor
    strengths: tuple[float, ...]

    def layer(self, number: int) -> Tensor:
        """The weights [d] behind one decoder layer.

        Raises:
            ValueError: it was not read.
        """
        return self.weights[self.layers.index(number)]

    def save(self, path: Path, meta: Mapping[str, Json]) -> None:
        """Writes a safetensors file: weights, intercepts, layers, and `meta` as JSON."""
        tensors = {
            "weights": self.weights.contiguous(),
            "intercepts": self.intercepts.contiguous(),
            "layers": torch.tensor(self.layers),
        }
        save_file(tensors, path, {"meta": json.dumps(dict(meta), sort_keys=True)})


def fit_all(
    stream: Stream,
    positive: Sequence[bool],
    group: Sequence[Hashable],
    *,
    folds: int,
    strengths: Sequence[float],
    seed: int,
    fit: Fit,
) -> Probes:
    """Chooses C by cross-validation over all samples, layer by layer, and fits to all of them.

    Raises:
        DataError: there is one class only.
        ConfigError: there are too few groups, or a class is missing on one side of a fold.
    """
    y = np.asarray(positive, dtype=np.bool_)
    dealt = split(y, group, folds=folds, inner_folds=2, seed=seed)
    everyone = np.arange(len(y))
    fold = Fold(
        train=everyone, test=everyone[:0], inner=tuple((one.train, one.test) for one in dealt)
    )
    labeling = torch.from_numpy(y)[None]
    grid = torch.tensor(sorted(strengths), dtype=torch.float64)
    rows, fitted, chosen = torch.from_numpy(everyone), [], []
    for at in range(len(stream.layers)):
        x = stream.x[:, at]
        c = chosen_strengths(x, labeling, fold, grid, fit)
        fitted.append(fit.weights(x, rows, labeling, c))
        chosen.append(float(c))
    return Probes(
        layers=stream.layers,
        weights=torch.cat([w for w, _ in fitted]),
        intercepts=torch.cat([b for _, b in fitted]),
        strengths=tuple(chosen),
    )


def cosines_with_difference(
    probes: Probes, stream: Stream, positive: Sequence[bool]
) -> list[float | None]:
    """The cosine of each probe's weights and the difference of the classes' means.

    None where one of them is zero.
    """
    y = torch.as_tensor(np.asarray(positive, dtype=np.bool_))
    found: list[float | None] = []
    for at, weights in enumerate(probes.weights):
        x = stream.x[:, at].to(torch.float64)
        difference = x[y].mean(0) - x[~y].mean(0)
        defined = bool(weights.norm() > 0) and bool(difference.norm() > 0)
        found.append(float(cosine_similarity(weights, difference, dim=0)) if defined else None)
    return found
