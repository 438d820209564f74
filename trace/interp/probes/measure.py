"""All that is said about probes of one stream: the curve over layers, and what chance gives."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trace import config
from trace.interp.probes.activations_file import check_finite
from trace.interp.probes.baselines import text_features
from trace.interp.probes.control import measure_control
from trace.interp.probes.curve import (
    Judged,
    against_null,
    areas,
    balanced_accuracies,
    over_layers,
)
from trace.interp.probes.fitted import Probes, cosines_with_difference
from trace.interp.probes.folds import Fold, split
from trace.interp.probes.procedure import Procedure
from trace.interp.probes.shuffles import distinct, labelings, p_value
from trace.interp.stream import Stream
from trace.records import Json
from trace.report.entry import Metric, entry, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What probes tell.

    `metrics` and `breakdowns` are those of metrics.json. `decisions` [samples, layers] are the
    out-of-fold decision values, positive where the positive class is predicted. `probes` are
    fitted to all samples, for other uses than to be judged.
    """

    metrics: dict[str, Json]
    breakdowns: dict[str, Json]
    decisions: NDArray[np.float64]
    probes: Probes


def measure(
    stream: Stream,
    positive: Sequence[bool],
    group: Sequence[Hashable],
    *,
    settings: config.Probe,
    trainer: config.Trainer,
    seed: int,
    draws: int,
    output_dir: str,
    control: tuple[str, Stream] | None = None,
    texts: Sequence[str] | None = None,
    position: str | None = None,
    labels: tuple[Sequence[str], Sequence[str]] = (("positive",), ("negative",)),
    scope: str | None = None,
) -> Measured:
    """Fits probes to every layer by nested cross-validation and judges them.

    Args:
        stream: the activations, [samples, layers, d].
        positive: whether each sample is of the positive class, [samples].
        group: what versions of one item share, [samples]; resampled and shuffled as a whole.
        settings: how it is done.
        trainer: on what it is solved.
        seed: of the first split, the shuffles, the bootstrap and the projection.
        draws: bootstrap resamples.
        output_dir: where an interrupted solution is picked up from.
        control: name and stream [samples, its own layers, its own d] of a model that never wrote
            the answers, for the same samples in the same order.
        texts: what stands before the position that was read, for the baselines; without them
            there are none.
        position: where the stream was read, if that is known.
        labels: the names of the labels of the positive and of the negative class.
        scope: why the result is illustrative, if it is.

    Raises:
        ConfigError: there are fewer groups than folds, or a class vanishes in a fold.
        DataError: there is one class only, or an activation is not finite.
        ValueError: the lengths differ.
    """
    if not len(stream.x) == len(positive) == len(group):
        raise ValueError(f"{len(stream.x)} samples, {len(positive)} labels, {len(group)} groups")
    check_finite(stream, "probe")
    y = np.asarray(positive, dtype=np.bool_)
    splits = [
        split(y, group, folds=settings.folds, inner_folds=settings.inner_folds, seed=seed + more)
        for more in range(settings.split_seeds)
    ]
    procedure = Procedure(settings=settings, trainer=trainer, output_dir=output_dir)
    judged = Judged(positive=y, group=group, draws=draws, seed=seed)
    ways = distinct(y, group)
    shuffled = labelings(y, group, settings.permutations if ways > 1 else 0, seed=seed)
    decisions, strengths = procedure.one(stream.x, shuffled, splits[0])
    again = procedure.again(stream.x, y, splits[1:])
    probes = procedure.probes(stream, positive, group, seed=seed)
    accuracies = balanced_accuracies(decisions, shuffled)
    seeds = np.concatenate([accuracies[None, :, 0], balanced_accuracies(again, y)])
    cosines = cosines_with_difference(probes, stream, positive)
    rows: list[dict[str, Json]] = [
        {"layer": layer}
        | judged.both(decisions[at, 0])
        | against_null(float(accuracies[at, 0]), accuracies[at, 1:])
        | {
            "seeds": _spread(seeds[:, at]),
            "strength": strengths[at].tolist(),
            "cosine_difference": number(cosines[at]),
        }
        for at, layer in enumerate(stream.layers)
    ]
    metrics = {
        "peak": _peak(rows, accuracies, "balanced_accuracy", "balanced accuracy", len(y)),
        "peak_auc": _peak(rows, areas(decisions, shuffled), "auc", "AUC", len(y)),
    }
    breakdowns: dict[str, Json] = {
        "classes": {
            "positive": {"labels": list(labels[0]), "n": int(y.sum())},
            "negative": {"labels": list(labels[1]), "n": int((~y).sum())},
            "groups": len(set(group)),
            "position": position,
            "d": stream.x.shape[2],
        },
        "layers": rows,
        "baselines": _baselines(texts, procedure, splits[0], judged),
        "control": None,
        "shuffles": over_layers(accuracies, stream.layers, distinct=ways),
        "scope": scope,
    }
    if control is not None:
        found = measure_control(
            (stream, decisions[:, 0]), control, procedure, splits[0], judged, seed=seed
        )
        breakdowns["control"] = found
        metrics["gap_to_control"] = _entry(found["gap"], "balanced accuracy", len(y))
    return Measured(
        metrics=metrics, breakdowns=breakdowns, decisions=decisions[:, 0].T, probes=probes
    )


def _peak(
    rows: Sequence[dict[str, Json]], values: NDArray[np.float64], name: str, unit: str, n: int
) -> Metric:
    """The best layer of one measure, [layers, B + 1]; p is against the best of each shuffle.

    The interval is that of the layer, as if it had not been chosen for being the best.
    """
    at = int(values[:, 0].argmax())
    null = values[:, 1:]
    p = p_value(float(values[at, 0]), null.max(0)) if null.size else None
    return _entry(rows[at][name], unit, n) | {"layer": rows[at]["layer"], "p": number(p)}


def _entry(found: dict[str, Json], unit: str, n: int) -> Metric:
    made = entry(found["value"], n=n, n_unscored=0) | found | {"unit": unit}
    return made | {"interval": None if found["low"] is None else "bootstrap-cluster"}


def _spread(values: NDArray[np.float64]) -> dict[str, Json]:
    """Of balanced accuracy over split seeds, [seeds]."""
    return {
        "low": number(float(values.min())),
        "high": number(float(values.max())),
        "mean": number(float(values.mean())),
    }


def _baselines(
    texts: Sequence[str] | None, procedure: Procedure, folds: tuple[Fold, ...], judged: Judged
) -> list[dict[str, Json]]:
    """What the same procedure tells from the texts alone."""
    return [
        {"name": name}
        | judged.both(procedure.one(features[:, None], judged.positive[None], folds)[0][0, 0])
        for name, features in (text_features(texts) if texts is not None else {}).items()
    ]
