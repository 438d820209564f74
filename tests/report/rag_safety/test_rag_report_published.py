"""The figures of the paper that can be computed; those that cannot be are named as misprints."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from tests.report.rag_safety.planted import HOW, Plan, judgements
from trace.report.rag_safety.answers import Codes, gathered
from trace.report.rag_safety.capability import correlated
from trace.report.rag_safety.judges import Side, two
from trace.report.rag_safety.words import HARM

TRUE_FALSE = {0: "False", 1: "True"}


def test_the_size_of_the_study() -> None:
    """346 questions under four conditions are 1,384 rows a model, 6,920 answers of five."""
    answers = gathered(judgements(Plan(items=346)))
    votes = answers.ballots[HARM].votes
    assert votes.shape == (5, 4, 346, 1, 3)
    assert votes[0, ..., 0].size == 1384
    assert votes[..., 0].size == 6920
    assert 987 * len(answers.conditions) == 3948  # rows of the full version


def points(r: float, n: int) -> dict[str, dict[str, float | None]]:
    """Respondents whose x and accuracy correlate at `r` exactly."""
    luck = np.random.default_rng(0)
    basis, _ = np.linalg.qr(np.column_stack([np.ones(n), luck.normal(size=(n, 2))]))
    x, other = basis[:, 1], basis[:, 2]
    y = r * x + np.sqrt(1 - r * r) * other
    return {f"m{i}": {"x": float(x[i]), "accuracy": float(y[i])} for i in range(n)}


def test_minus_0_70_over_five_models_rejects_nothing() -> None:
    """The text says "rejected"; p is .19 and the interval is −.98 to .48."""
    found = correlated(points(-0.70, 5), "accuracy", HOW)
    assert found["n"] == 5
    assert found["value"] == pytest.approx(-0.70)
    assert found["p"] == pytest.approx(0.18812, abs=1e-5)
    assert found["fisher"]["low"] == pytest.approx(-0.978165, abs=1e-6)
    assert found["fisher"]["high"] == pytest.approx(0.476621, abs=1e-6)
    assert found["bootstrap"]["low"] is None  # no bootstrap under six models
    assert "at least 6" in found["bootstrap"]["reason"]


def test_five_models_need_0_878() -> None:
    assert correlated(points(0.8784, 5), "accuracy", HOW)["p"] < 0.05
    assert correlated(points(0.8783, 5), "accuracy", HOW)["p"] > 0.05


def test_six_models_are_resampled() -> None:
    assert correlated(points(0.5, 6), "accuracy", HOW)["bootstrap"]["low"] is not None


def side(labels: list[int]) -> Side:
    codes: Codes = np.array(labels, dtype=np.int8).reshape(1, 1, -1)
    return codes, TRUE_FALSE


@pytest.mark.parametrize(("agreement", "kappa"), [(95, 0.90), (96, 0.92)])
def test_accuracy_against_people(agreement: int, kappa: float) -> None:
    """95 and 96 of 100 equal labels, half of them True, are kappas of .90 and .92."""
    half, wrong = [1] * 50 + [0] * 50, 100 - agreement
    flips = [*range(wrong // 2), *range(50, 50 + wrong - wrong // 2)]
    other = [1 - label if i in flips else label for i, label in enumerate(half)]
    found = two(side(half), side(other), HOW)
    assert found["percent"]["value"] == pytest.approx(agreement / 100)
    assert found["cohen"]["value"] == pytest.approx(kappa, abs=0.005)


def test_misprint_a_kappa_of_0_73_at_85_percent_needs_three_labels() -> None:
    """The largest kappa of two labels at 85.0% to 85.5% is .716, so .73 cannot be."""
    best = 0.0
    for n in (200, 173):  # 85.0% and 85.5% (148 of 173)
        equal = round(0.85 * n) if n == 200 else 148
        for a in range(equal + 1):
            for b in (0, (n - equal) // 2, n - equal):
                pairs = [(1, 1)] * a + [(0, 0)] * (equal - a)
                pairs += [(1, 0)] * b + [(0, 1)] * (n - equal - b)
                first, second = zip(*pairs, strict=True)
                best = max(best, cohen_kappa_score(first, second))
    assert best == pytest.approx(0.716, abs=0.001)
    assert best < 0.73 - 0.005
