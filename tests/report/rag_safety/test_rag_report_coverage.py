"""Planted rates come back: intervals hold them as often as they say, over 1,000 fixed seeds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.report.rag_safety.planted import JUDGES, Error, panel_rate, votes
from trace.report.rag_safety.answers import ABSENT, Codes
from trace.report.rag_safety.cells import share
from trace.report.rag_safety.contrast import contrast
from trace.report.rag_safety.corrected import behind
from trace.report.rag_safety.panel import RULE, by_rule

SEEDS, ITEMS = range(1000), 346
GOOD = tuple(JUDGES.values())


def labels(truth: NDArray[np.bool_], luck: np.random.Generator) -> Codes:
    """What the panel says of the answers."""
    return by_rule(np.stack([votes(truth, error, luck) for error in GOOD], axis=-1), RULE)


def held(metrics: Iterator[tuple[float | None, float | None]], value: float) -> float:
    inside = [low is not None and high is not None and low <= value <= high
              for low, high in metrics]  # fmt: skip
    assert len(inside) == len(SEEDS)
    return float(np.mean(inside))


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.45, 0.75])
def test_the_expected_panel_rate_is_in_its_interval(rate: float) -> None:
    def intervals() -> Iterator[tuple[float, float]]:
        for seed in SEEDS:
            luck = np.random.default_rng([seed, round(100 * rate)])
            found = share(labels(luck.random(ITEMS) < rate, luck), [1])
            yield found["low"], found["high"]

    assert 0.93 <= held(intervals(), panel_rate(rate, GOOD)) <= 0.97


def test_the_panel_rate_is_not_the_planted_one() -> None:
    """The judges' errors pull it to the middle, which the correction undoes."""
    assert panel_rate(0.05, GOOD) > 0.06
    assert panel_rate(0.75, GOOD) < 0.72
    assert panel_rate(0.3, [Error(1, 1)] * 3) == pytest.approx(0.3)
    luck = np.random.default_rng(0)
    said = labels(luck.random(400_000) < 0.3, luck)
    assert (said[said >= 0] == 1).mean() == pytest.approx(panel_rate(0.3, GOOD), abs=0.003)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second", "same"), [(0.2, 0.5, 0.5), (0.2, 0.2, 0.8)])
def test_the_expected_change_is_in_its_interval(first: float, second: float, same: float) -> None:
    """On the same questions: with chance `same` the second answer hangs on the first one's luck."""

    def intervals() -> Iterator[tuple[float, float]]:
        for seed in SEEDS:
            luck = np.random.default_rng([seed, 1])
            draw = luck.random(ITEMS)
            again = np.where(luck.random(ITEMS) < same, draw, luck.random(ITEMS))
            found = contrast(labels(draw < first, luck), labels(again < second, luck))
            yield found["low"], found["high"]

    expected = panel_rate(second, GOOD) - panel_rate(first, GOOD)
    assert 0.93 <= held(intervals(), expected) <= 0.97


@pytest.mark.slow
def test_without_a_change_one_in_twenty_is_found_at_most() -> None:
    """The exact test keeps its level, and is somewhat below it."""
    found = []
    for seed in SEEDS:
        luck = np.random.default_rng([seed, 2])
        one, other = (labels(luck.random(ITEMS) < 0.3, luck) for _ in range(2))
        found.append(contrast(one, other)["p"] < 0.05)
    assert 0.02 <= np.mean(found) <= 0.055


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "labelled"), [(0.1, 200), (0.3, 100), (0.3, 300), (0.6, 200)])
def test_the_planted_rate_is_in_the_corrected_interval(rate: float, labelled: int) -> None:
    """People label other answers of the same kind, a third of them harmful."""

    def intervals() -> Iterator[tuple[float | None, float | None]]:
        for seed in SEEDS:
            luck = np.random.default_rng([seed, labelled])
            truth = luck.random(labelled) < 1 / 3
            found = behind(
                labels(luck.random(ITEMS) < rate, luck), labels(truth, luck), truth.astype(np.int8)
            )
            yield found["low"], found["high"]

    assert held(intervals(), rate) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("cell", range(3))
def test_labelling_a_part_of_what_was_counted_does_no_harm(cell: int) -> None:
    """As in the report: people label some answers of all cells, whose rates differ."""
    rates = np.array([0.08, 0.3, 0.6])

    def intervals() -> Iterator[tuple[float | None, float | None]]:
        for seed in SEEDS:
            luck = np.random.default_rng([seed, 3])
            truth = luck.random((3, ITEMS)) < rates[:, None]
            said = labels(truth, luck)
            people = np.where(luck.random(truth.shape) < 0.2, truth, ABSENT).astype(np.int8)
            found = behind(said[cell], said, people)
            yield found["low"], found["high"]

    assert held(intervals(), float(rates[cell])) >= 0.93
