"""Nested cross-validation of planted directions and of noise: curve, null, control, and leaks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binomtest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from torch import Tensor

from trace import config
from trace.errors import DataError
from trace.interp.probes.fitting import NewtonFit
from trace.interp.probes.folds import split
from trace.interp.probes.measure import Measured, measure
from trace.interp.probes.nested import one_by_one, predict_fold
from trace.interp.probes.solver import solve
from trace.interp.stream import Stream

SMALL = config.Probe(folds=3, inner_folds=2, strengths=[1e-3, 1e-1], permutations=19, split_seeds=2)


def planted(
    y: np.ndarray, layers: Sequence[int], first: int, *, d: int = 24, strength: float = 4.0
) -> Stream:
    """Noise, and from layer `first` on a direction that the positives have more of."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((len(y), len(layers), d)) * rng.lognormal(size=d)
    direction = rng.standard_normal(d) * x.std((0, 1)) / np.sqrt(d)
    for at, layer in enumerate(layers):
        if layer >= first:
            x[:, at] += strength * y[:, None] * direction
    return Stream(x=torch.from_numpy(x.astype(np.float32)), layers=tuple(layers))


def measured(stream: Stream, y: np.ndarray, folder: Path, **more: Any) -> Measured:
    group = more.pop("group", list(range(len(y))))
    given = {"settings": SMALL, "trainer": config.Trainer(), "seed": 0, "draws": 200}
    return measure(stream, y.tolist(), group, output_dir=str(folder), **given | more)


def test_a_direction_from_layer_6_up_is_found_from_layer_6_up(tmp_path: Path) -> None:
    y = np.arange(80) % 5 < 2
    stream = planted(y, [0, 2, 4, 6, 8, 10], 6)
    noise = planted(y, [0, 3], 99, d=16)
    texts = ["one two" if flag else "three four" for flag in y]
    found = measured(
        stream, y, tmp_path, control=("small", noise), texts=texts, labels=(["bad"], ["good"]),
        scope="another engine",
    )  # fmt: skip
    metrics, parts = found.metrics, found.breakdowns
    json.dumps([metrics, parts], allow_nan=False)

    assert parts["shuffles"]["first_layer"] == 6
    assert parts["shuffles"]["plateau"]["from"] == 6
    assert parts["shuffles"]["floor"] == metrics["peak"]["p"] == parts["shuffles"]["peak_p"] == 0.05
    assert metrics["peak"]["layer"] in (6, 8, 10)
    assert [row["layer"] for row in parts["layers"]] == [0, 2, 4, 6, 8, 10]
    for row, decisions in zip(parts["layers"], found.decisions.T, strict=True):
        accuracy, auc = row["balanced_accuracy"], row["auc"]
        assert accuracy["value"] == pytest.approx(balanced_accuracy_score(y, decisions > 0))
        assert auc["value"] == pytest.approx(roc_auc_score(y, decisions))
        assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]
        assert row["seeds"]["low"] <= row["seeds"]["mean"] <= row["seeds"]["high"]
        assert len(row["strength"]) == 3
        assert set(row["strength"]) <= {1e-3, 1e-1}
        assert row["selectivity"] == pytest.approx(accuracy["value"] - row["null"]["mean"])
        if row["layer"] >= 6:
            assert row["p"] == 0.05
            assert row["cosine_difference"] > 0
            assert accuracy["value"] > row["null"]["max"]
        else:
            assert row["p"] > 0.05

    assert parts["classes"]["positive"] == {"labels": ["bad"], "n": 32}
    assert parts["classes"]["groups"] == 80
    assert parts["scope"] == "another engine"
    control = parts["control"]
    assert (control["model"], control["dimension"], len(control["layers"])) == ("small", 16, 2)
    assert metrics["gap_to_control"]["low"] > 0
    assert control["mcnemar"]["b"] > control["mcnemar"]["c"]
    assert control["mcnemar"]["p"] < 0.01
    told = {row["name"]: row["balanced_accuracy"]["value"] for row in parts["baselines"]}
    assert told["bag of words"] == told["last token"] == 1
    assert set(told) == {"bag of words", "length", "last token"}

    probe = found.probes
    fitted = stream.layer(10).double() @ probe.layer(10) + probe.intercepts[-1]
    assert balanced_accuracy_score(y, fitted.numpy() > 0) > 0.9


def test_without_shuffles_there_is_no_p(tmp_path: Path) -> None:
    y = np.arange(30) % 2 == 0
    bare = replace(SMALL, permutations=0, split_seeds=1)
    found = measured(planted(y, [0], 0), y, tmp_path, settings=bare)
    assert found.breakdowns["shuffles"]["reason"]
    assert found.metrics["peak"]["p"] is None
    assert found.breakdowns["layers"][0]["null"] is None
    assert found.breakdowns["baselines"] == []


def test_minibatches_measure_too(tmp_path: Path) -> None:
    y = np.arange(30) % 2 == 0
    slow = replace(
        SMALL, permutations=1, split_seeds=1, strengths=[1e-2], folds=2, optimizer="adamw"
    )
    stream = planted(y, [0], 0)
    close = measured(stream, y, tmp_path, settings=slow)
    exact = measured(stream, y, tmp_path, settings=replace(slow, optimizer="newton"))
    assert np.corrcoef(close.decisions[:, 0], exact.decisions[:, 0])[0, 1] > 0.99


def test_what_overflowed_is_named(tmp_path: Path) -> None:
    y = np.arange(30) % 2 == 0
    stream = planted(y, [4, 8], 0)
    stream.x[11, 1, 3] = torch.inf
    with pytest.raises(DataError, match="sample 11 behind layer 8"):
        measured(stream, y, tmp_path)


def test_near_duplicates_do_not_leak_where_they_share_a_group(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    y = np.repeat(rng.permutation(np.arange(40) < 17), 3)
    x = np.repeat(rng.standard_normal((40, 1, 200)), 3, axis=0)
    x += 0.1 * rng.standard_normal(x.shape)
    stream = Stream(x=torch.from_numpy(x.astype(np.float32)), layers=(0,))
    apart = measured(stream, y, tmp_path, group=np.repeat(np.arange(40), 3).tolist())
    mixed = measured(stream, y, tmp_path)
    assert mixed.metrics["peak"]["value"] > 0.75
    assert apart.metrics["peak"]["value"] < 0.65
    assert apart.metrics["peak"]["p"] > 0.05


def test_nothing_is_learnt_from_the_rows_that_are_predicted() -> None:
    y = np.arange(40) % 2 == 0
    x = planted(y, [0], 0, strength=1.0).layer(0)
    fold = split(y, list(range(40)), folds=4, inner_folds=3, seed=0)[0]
    grid = torch.tensor([1e-4, 1e-2, 1.0], dtype=torch.float64)
    fit = NewtonFit(memory_gib=0.1)
    before, chosen = predict_fold(x, torch.from_numpy(y)[None], fold, grid, fit)
    other, flipped = x.clone(), y.copy()
    other[fold.test[0]] = 1000.0
    flipped[fold.test] = ~flipped[fold.test]
    after, again = predict_fold(other, torch.from_numpy(flipped)[None], fold, grid, fit)
    assert torch.equal(before[:, 1:], after[:, 1:])
    assert torch.equal(chosen, again)


def test_a_shuffled_training_fold_of_one_class_predicts_it() -> None:
    y = np.arange(12) < 6
    fold = split(y, list(range(12)), folds=2, inner_folds=2, seed=0)[0]
    lone = np.zeros((2, 12), dtype=np.bool_)
    lone[0, fold.test] = True
    lone[1, fold.train] = True
    decisions, _ = predict_fold(
        torch.randn(12, 5), torch.from_numpy(lone), fold,
        torch.tensor([0.01, 0.1], dtype=torch.float64), NewtonFit(memory_gib=0.1),
    )  # fmt: skip
    assert (decisions[0] < 0).all()
    assert (decisions[1] > 0).all()


class Stopped(NewtonFit):
    """Counts the fits, and stops at one of them."""

    left = 0
    error: BaseException = RuntimeError("stopped")

    def decisions(self, *given: Tensor) -> Tensor:
        Stopped.left -= 1
        if not Stopped.left:
            raise Stopped.error
        return NewtonFit.decisions(self, *given)


@pytest.mark.parametrize("error", [RuntimeError("stopped"), KeyboardInterrupt()])
def test_an_interrupted_solution_goes_on(tmp_path: Path, error: BaseException) -> None:
    y = np.arange(24) % 3 == 0
    stream = planted(y, [0, 1], 1)
    folds = split(y, list(range(24)), folds=3, inner_folds=2, seed=0)
    flags = torch.from_numpy(y)[None]

    def solved(fit: NewtonFit) -> Tensor:
        return solve(
            stream.x, flags, [folds], strengths=[0.01, 0.1], fit=fit, trainer=config.Trainer(),
            output_dir=str(tmp_path),
        ).decisions  # fmt: skip

    fit = Stopped(memory_gib=0.1)
    Stopped.left, Stopped.error = 8, error  # in the third of six cells of three fits each
    with pytest.raises(type(error)):
        solved(fit)
    Stopped.left = 0
    found = solved(fit)
    assert Stopped.left == -4 * 3
    Stopped.left = 0
    assert torch.equal(solved(fit), found)
    assert Stopped.left == 0
    plain = one_by_one(
        stream.x, flags, [folds], strengths=[0.01, 0.1], fit=NewtonFit(memory_gib=0.1)
    )
    assert torch.equal(found, plain.decisions)


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True])
def test_noise_is_significant_as_often_as_it_says(tmp_path: Path, paired: bool) -> None:
    """400 layers of noise, in 20 labelings: p ≤ .05 in 5% of them, within binomial tolerance.

    Paired: every item has one version of each class, and the two have something in common.
    """
    settings = replace(SMALL, permutations=39, split_seeds=1)
    layers, significant, peaks = 20, 0, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.arange(60) < 25)
        drawn, group = rng.standard_normal((60, layers, 10)), np.arange(60)
        if paired:
            y = (rng.random(30)[:, None] < np.array([0.5, 2.0])).ravel()
            y[1::2] = ~y[::2]
            group = np.repeat(np.arange(30), 2)
            drawn += np.repeat(rng.standard_normal((30, layers, 10)), 2, axis=0)
        stream = Stream(x=torch.from_numpy(drawn.astype(np.float32)), layers=tuple(range(layers)))
        found = measured(
            stream, y, tmp_path, group=group.tolist(), settings=settings, seed=seed, draws=100
        )
        significant += sum(row["p"] <= 0.05 for row in found.breakdowns["layers"])
        peaks += found.breakdowns["shuffles"]["peak_p"] <= 0.05
    assert binomtest(significant, 20 * layers, 0.05).pvalue > 0.01, significant
    assert binomtest(peaks, 20, 0.05).pvalue > 0.01, peaks
