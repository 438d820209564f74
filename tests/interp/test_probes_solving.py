"""Probes are solved as scikit-learn solves them; what goes around that is what it says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from trace import config
from trace.errors import ConfigError, DataError
from trace.interp.probes.adamw import AdamwFit
from trace.interp.probes.baselines import text_features
from trace.interp.probes.curve import areas, balanced_accuracies, over_layers
from trace.interp.probes.fitting import NewtonFit, random_projection
from trace.interp.probes.folds import split
from trace.interp.probes.shuffles import distinct, labelings, p_value, shuffles_needed

SIZES = [20, 60, 200, 2000]
WIDTHS = [10, 100, 1000, 8192]
STRENGTHS = [1e-5, 1e-3, 1e-1, 1.0, 10.0]


def problem(n: int, d: int, seed: int, separable: bool) -> tuple[torch.Tensor, np.ndarray]:
    """Features of unequal scale and correlation, and labels that hang on them more or less."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) @ np.diag(rng.lognormal(size=d)) + rng.normal(size=d)
    score = x[:, 0] - x[:, 0].mean() + (0 if separable else 2 * x[:, 0].std()) * rng.normal(size=n)
    return torch.from_numpy(x.astype(np.float32)), score > np.quantile(score, 0.58)


def largest_difference(n: int, d: int, c: float, seed: int, separable: bool) -> float:
    """Between our decision values and scikit-learn's, on training and other rows."""
    x, y = problem(n, d, seed, separable)
    held = torch.arange(n)
    train = held[: max(10, n * 4 // 5)]
    if y[train].all() or not y[train].any():
        raise AssertionError("a problem of one class tests nothing")
    ours = NewtonFit(memory_gib=0.5).decisions(
        x, train, held, torch.from_numpy(y[train])[None], torch.tensor([c], dtype=torch.float64)
    )[0]
    scaled = StandardScaler().fit(x[train].numpy().astype(np.float64))
    rows = scaled.transform(x.numpy().astype(np.float64))
    if d > 1000:  # an orthonormal base of the rows changes no product, and nothing that it solves
        rows = rows @ np.linalg.qr(rows[train].T)[0]
    with threadpool_limits(1):  # at 1e-8 its own decisions are still off by up to 3e-4 with C = 10
        reference = LogisticRegression(
            C=c, class_weight="balanced", tol=1e-10, max_iter=10_000, solver="newton-cholesky"
        )
        theirs = reference.fit(rows[train], y[train]).decision_function(rows)
    return float(np.abs(ours.numpy() - theirs).max())


def allowed(c: float) -> float:
    return 1e-5 if c <= 0.1 else 1e-4


@pytest.mark.parametrize("separable", [False, True])
@pytest.mark.parametrize(("n", "d"), [(20, 10), (20, 1000), (100, 8192), (200, 10), (200, 150)])
@pytest.mark.parametrize("c", [1e-5, 1e-2, 10.0])
def test_decisions_are_those_of_scikit_learn(n: int, d: int, c: float, separable: bool) -> None:
    assert largest_difference(n, d, c, 1, separable) < allowed(c)


@pytest.mark.slow
def test_decisions_are_those_of_scikit_learn_on_200_problems() -> None:
    cases = itertools.product(SIZES, WIDTHS, STRENGTHS, [False, True])
    some = [(n, d, c, s) for n, d, c, s in cases if n * d <= 4_000_000]
    rng = np.random.default_rng(0)
    for seed in range(200):
        n, d, c, separable = some[rng.integers(len(some))]
        found = largest_difference(n, d, c, seed, separable)
        assert found < allowed(c), (n, d, c, separable, found)


def test_a_chunk_at_a_time_gives_the_same() -> None:
    x, y = problem(60, 200, 0, separable=False)
    rng = np.random.default_rng(0)
    flags = torch.from_numpy(np.stack([rng.permutation(y) for _ in range(30)]))
    c = torch.full((30,), 0.01, dtype=torch.float64)
    rows = torch.arange(60)
    whole = NewtonFit(memory_gib=0.5).decisions(x, rows, rows, flags, c)
    pieces = NewtonFit(memory_gib=1e-4).decisions(x, rows, rows, flags, c)
    alone = [
        NewtonFit(memory_gib=0.5).decisions(x, rows, rows, f[None], c[:1])[0] for f in flags[:3]
    ]
    assert torch.allclose(whole, pieces, rtol=0, atol=1e-7)
    assert torch.allclose(whole[:3], torch.stack(alone), rtol=0, atol=1e-7)


@pytest.mark.parametrize("projected", [False, True])
def test_raw_weights_give_the_decisions(projected: bool) -> None:
    x, y = problem(50, 300, 3, separable=True)
    rows, flags = torch.arange(40), torch.from_numpy(y[:40])[None]
    c = torch.tensor([0.1], dtype=torch.float64)
    projection = random_projection(300, 20, 0) if projected else None
    fit = NewtonFit(memory_gib=0.5, projection=projection)
    w, b = fit.weights(x, rows, flags, c)
    held = torch.arange(40, 50)
    decisions = fit.decisions(x, rows, held, flags, c)
    assert torch.allclose(x[held].double() @ w[0] + b, decisions[0], atol=1e-8)


def test_a_feature_that_hardly_varies_is_not_blown_up() -> None:
    x, y = problem(60, 20, 0, separable=True)
    x[:, 7] = 5.0
    x[0, 7] += 1e-6
    x[59, 7] = 6.0  # a test row
    rows, flags = torch.arange(50), torch.from_numpy(y[:50])[None]
    c = torch.tensor([0.1], dtype=torch.float64)
    decision = NewtonFit(memory_gib=0.5).decisions(x, rows, torch.tensor([59]), flags, c)
    assert abs(float(decision)) < 50


@pytest.mark.parametrize("projected", [False, True])
def test_minibatches_come_to_the_same_probe(projected: bool) -> None:
    x, y = problem(80, 40, 5, separable=False)
    rows, held = torch.arange(60), torch.arange(60, 80)
    flags = torch.from_numpy(np.stack([y[:60], np.roll(y[:60], 7)]))
    c = torch.tensor([0.1, 1e-3], dtype=torch.float64)
    projection = random_projection(40, 15, 0) if projected else None
    exact = NewtonFit(memory_gib=0.5, projection=projection)
    close = AdamwFit(trainer=config.Trainer(), memory_gib=0.5, projection=projection)
    ours, theirs = (fit.decisions(x, rows, held, flags, c) for fit in (close, exact))
    for mine, other in zip(ours, theirs, strict=True):
        assert torch.corrcoef(torch.stack([mine, other]))[0, 1] > 0.999
        assert float((mine - other).abs().max()) < 0.03 * float(other.abs().max()) + 1e-3


def test_folds_keep_groups_together_and_classes_everywhere() -> None:
    group = np.repeat(np.arange(30), 3)
    y = group % 3 == 0
    folds = split(y, group.tolist(), folds=5, inner_folds=3, seed=1)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(90))
    for fold in folds:
        assert not set(group[fold.train]) & set(group[fold.test])
        held = []
        for inner, out in fold.inner:
            assert not set(group[fold.train][inner]) & set(group[fold.train][out])
            held.extend(fold.train[out])
        assert sorted(held) == sorted(fold.train)


def test_what_cannot_be_split_says_what_to_change() -> None:
    y = np.arange(20) < 10
    with pytest.raises(DataError, match=r"positive.*probe\.positive"):
        split(y | True, list(range(20)), folds=5, inner_folds=2, seed=0)
    with pytest.raises(ConfigError, match=r"probe\.folds: 5 is more than the 4 groups"):
        split(y, [i % 4 for i in range(20)], folds=5, inner_folds=2, seed=0)
    with pytest.raises(ConfigError, match=r"probe\.folds: with 5, a fold has no positive"):
        split(np.arange(20) < 3, list(range(20)), folds=5, inner_folds=2, seed=0)
    with pytest.raises(ConfigError, match=r"probe\.inner_folds"):
        split(np.arange(20) < 5, list(range(20)), folds=5, inner_folds=5, seed=0)


@given(
    st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=30),
    st.integers(0, 9),
)
@settings(max_examples=50)
def test_shuffles_exchange_whole_groups_of_a_size(rows: list[tuple[int, bool]], seed: int) -> None:
    group, y = [g for g, _ in rows], np.array([flag for _, flag in rows])
    made = labelings(y, group, 3, seed=seed)
    assert (made[0] == y).all()

    def kinds(labels: np.ndarray) -> list[tuple[bool, ...]]:
        return sorted(
            unswapped(tuple(bool(labels[i]) for i in range(len(group)) if group[i] == one))
            for one in set(group)
        )

    def unswapped(held: tuple[bool, ...]) -> tuple[bool, ...]:
        return tuple(one ^ held[0] for one in held) if 2 * sum(held) == len(held) else held

    for labeling in made:
        assert kinds(labeling) == kinds(y)
        assert labeling.sum() == y.sum()
        if distinct(y, group) == 1:
            assert (labeling == y).all()


@pytest.mark.parametrize(
    ("y", "group"),
    [
        ([1, 0] * 3, [0, 0, 1, 1, 2, 2]),  # pairs, each of one request in two versions
        ([1, 0, 1, 0, 1, 0, 1, 0], [0] * 4 + [1] * 4),  # and each answered twice
        ([1, 0, 0, 1, 1, 1, 0, 0], [0, 0, 1, 1, 2, 2, 3, 3]),
        ([1, 0, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1]),
        ([1, 0, 1, 0, 0], [0, 1, 2, 3, 3]),
    ],
)
def test_as_many_labelings_come_up_as_there_are(y: list[int], group: list[int]) -> None:
    flags = np.array(y, dtype=np.bool_)
    made = labelings(flags, group, 2000, seed=1)
    assert len({tuple(labeling.tolist()) for labeling in made}) == distinct(flags, group)


def test_pairs_swap_their_classes_together_with_their_repeats() -> None:
    made = labelings(np.array([True, False, True, False] * 2), [0] * 4 + [1] * 4, 40, seed=0)
    assert {tuple(labeling[:4].tolist()) for labeling in made} == {
        (True, False, True, False),
        (False, True, False, True),
    }


def test_labels_that_cannot_be_exchanged_have_no_p() -> None:
    found = over_layers(np.array([[0.9]]), (0,), distinct=1)
    assert found["peak_p"] is None
    assert found["reason"] == "exchanging the labels of groups changes none of them"


def test_how_many_labelings_there_are() -> None:
    assert distinct(np.array([True, False, False]), [0, 1, 2]) == 3
    assert distinct(np.array([True, False, False]), [0, 1, 1]) == 1
    assert distinct(np.array([True, True, False, False]), [0, 0, 1, 1]) == 2


def test_known_answers() -> None:
    """Of the study that this follows: its permutation floor, and its peak from its counts."""
    assert p_value(0.9, np.full(200, 0.5)) == pytest.approx(0.004975124378109453, abs=1e-12)
    assert 20 * p_value(0.9, np.full(200, 0.5)) == pytest.approx(0.09950248756218906, abs=1e-12)
    assert shuffles_needed(20, 0.05) == 399
    y = np.arange(100) < 42
    right = np.where(y, np.arange(100) < 38, np.arange(100) < 42 + 48)
    decisions = np.where(right == y, 1.0, -1.0)
    assert balanced_accuracies(decisions, y) == pytest.approx(0.8661740558292282, abs=1e-12)


def test_ties_count_for_the_null() -> None:
    assert p_value(0.75, [0.75, 0.1 + 0.65, 0.5]) == 0.75
    assert areas(np.zeros(10), np.arange(10) < 4) == 0.5


def test_from_which_layer_on_every_shuffle_is_beaten() -> None:
    curve = np.array([[0.9, 0.5, 0.6], [0.5, 0.6, 0.5], [0.8, 0.5, 0.6], [0.7, 0.6, 0.5]])
    found = over_layers(curve, (0, 4, 8, 12), distinct=1000)
    assert found["first_layer"] == 8
    assert found["plateau"] == {"from": 8, "low": 0.7, "high": 0.8}
    assert found["peak_p"] == pytest.approx(1 / 3)
    tied = over_layers(np.array([[0.7, 0.7, 0.5]]), (0,), distinct=1000)
    assert (tied["first_layer"], tied["plateau"], tied["peak_p"]) == (
        None,
        None,
        pytest.approx(2 / 3),
    )
    assert tied["reason"]


def test_text_features() -> None:
    found = text_features(["Yes, I can.", "", "No no: 早安"])
    assert found["bag of words"].sum(1).tolist() == [5, 0, 4]
    assert found["last token"].sum(1).tolist() == [1, 0, 1]
    assert found["length"].shape == (3, 2)
    assert not text_features(["", ""])["bag of words"].any()
