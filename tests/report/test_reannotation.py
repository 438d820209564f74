"""The published re-annotation of 1,000 items, planted and found again."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

from tests.report.made_annotations import measure, reannotated
from trace.annotation.label import Label
from trace.report.labellings import compared

PUBLISHED = 0.84
"""Cohen's kappa of people against the benchmark, on 1,000 items of it."""

UNSAFE = {"prompt": 0.57, "reasoning": 0.46, "response": 0.45}
"""The shares of unsafe components that the paper gives."""


def interval(metric: dict[str, Any]) -> tuple[float, float]:
    return metric["low"], metric["high"]


@pytest.mark.parametrize("component", UNSAFE)
def test_the_published_reannotation(component: str) -> None:
    items, answers = reannotated(1000, PUBLISHED, UNSAFE[component], seed=1)
    found = measure(items, answers, draws=1000)
    kappa, raw = (found["metrics"][f"safety_{name}"] for name in ("kappa", "agreement"))

    gold = [i.labels["safety"] for i in items]
    said = [a.values["safety"] for a in answers]
    equal = sum(a == b for a, b in zip(gold, said, strict=True))
    assert kappa["value"] == pytest.approx(cohen_kappa_score(gold, said), abs=1e-11)
    assert raw["value"] == equal / 1000
    assert interval(raw) == pytest.approx(proportion_confint(equal, 1000, method="wilson"))

    low, high = interval(kappa)
    assert low < PUBLISHED < high
    # The asymptotic error at 92% of equal labels is 0.017.
    assert 2 * 1.96 * 0.014 < high - low < 2 * 1.96 * 0.021
    assert (kappa["n"], kappa["n_unscored"], kappa["interval"]) == (1000, 0, "bootstrap-cluster")
    assert found["breakdowns"]["benchmark"]["safety"]["A"]["kappa"] == kappa


@pytest.mark.slow
@pytest.mark.parametrize("per_cluster", [1, 4])
def test_the_interval_covers_what_is_planted(per_cluster: int) -> None:
    """In 19 of 20 annotations, for items that share their source, too."""
    times = 200
    hits = 0
    for seed in range(times):
        items, answers = reannotated(1000, PUBLISHED, 0.5, seed, per_cluster=per_cluster)
        pairs = [
            (Label(value=a.values["safety"]), Label(value=i.labels["safety"]))
            for a, i in zip(answers, items, strict=True)
        ]
        clusters = [i.cluster for i in items]
        found = compared(pairs, clusters, of="items", marked=(), draws=500, seed=seed)
        low, high = interval(found["kappa"])
        hits += low < PUBLISHED < high
    # 95% with a standard error of 1.5%.
    assert 0.95 - 3 * 0.015 < hits / times < 0.995
