"""The same probe on a model that never wrote the answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trace.interp.probes.activations_file import check_finite
from trace.interp.probes.curve import Judged, balanced_accuracies
from trace.interp.probes.fitting import random_projection
from trace.interp.probes.folds import Fold
from trace.interp.probes.procedure import Procedure
from trace.interp.stream import Stream
from trace.records import Json
from trace.report.entry import number
from trace.stats.paired import paired


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Out-of-fold decisions [layers, n] and the numbers of the layers."""

    decisions: NDArray[np.float64]
    layers: tuple[int, ...]

    def peak(self, positive: NDArray[np.bool_]) -> int:
        """The place of the layer with the highest balanced accuracy, the first of equals."""
        return int(balanced_accuracies(self.decisions, positive).argmax())


def measure_control(
    subject: tuple[Stream, NDArray[np.float64]],
    control: tuple[str, Stream],
    procedure: Procedure,
    folds: tuple[Fold, ...],
    judged: Judged,
    *,
    seed: int,
) -> dict[str, Json]:
    """`control` of metrics.json: both models in as many dimensions as the narrower has.

    The wider one's standardised activations go through a random projection, the same for all
    layers and folds. The folds are those of the subject.

    Args:
        subject: the stream and its out-of-fold decisions [layers, n].
        control: the model's name and its stream, of the same samples.
        procedure: how probes are fitted.
        folds: the split.
        judged: labels and groups.
        seed: of the projection.

    Raises:
        ValueError: the samples are not as many.
    """
    stream, decisions = subject
    name, other = control
    if len(other.x) != len(stream.x):
        raise ValueError(f"{len(stream.x)} samples, and {len(other.x)} of the control model")
    check_finite(other, f"probe.control ({name})")
    labels = judged.positive[None]
    ours, theirs = stream.x.shape[2], other.x.shape[2]
    dimension = min(ours, theirs)
    if ours > theirs:
        projection = random_projection(ours, dimension, seed)
        decisions = procedure.one(stream.x, labels, folds, projection)[0][:, 0]
    projected = random_projection(theirs, dimension, seed) if theirs > ours else None
    told, strengths = procedure.one(other.x, labels, folds, projected)
    rows = [
        {"layer": layer}
        | judged.both(told[at, 0])
        | {"p": None, "null": None, "selectivity": None, "strength": strengths[at].tolist()}
        for at, layer in enumerate(other.layers)
    ]
    mine = Curve(decisions=decisions, layers=stream.layers)
    its = Curve(decisions=told[:, 0], layers=other.layers)
    return {"model": name, "layers": rows, "dimension": dimension} | compare(mine, its, judged)


def compare(subject: Curve, control: Curve, judged: Judged) -> dict[str, Json]:
    """`gap` and `mcnemar` of metrics.json, each model at the layer where it is best.

    The gap is balanced accuracy of the subject less that of the control, with an interval from
    groups drawn for both together. McNemar's exact test counts the samples that only the subject
    (`b`) and only the control (`c`) tells right. Both layers are those of the samples themselves.
    """
    at, other = (curve.peak(judged.positive) for curve in (subject, control))
    ours, theirs = subject.decisions[at], control.decisions[other]
    right = [(decisions > 0) == judged.positive for decisions in (theirs, ours)]
    test = paired(*right, of="samples")
    return {
        "gap": judged.gap(ours, theirs)
        | {"layer": subject.layers[at], "control_layer": control.layers[other]},
        "mcnemar": {"b": test.second_only, "c": test.first_only, "p": number(test.p)},
    }
