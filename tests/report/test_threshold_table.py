"""A threshold is chosen on some sources and reported on others."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace.records import Verdict
from trace.report.judged import Judged
from trace.report.table import scores
from trace.report.threshold import measure_threshold


def judged(gold: str, score: float | None, cluster: str) -> Judged:
    verdict = Verdict(status="ok", label="Benign", score=score)
    return Judged(gold=gold, verdict=verdict, cluster=cluster, class_=gold)


def measure(items: list[Judged], share: float = 0.5, seed: int = 0, **other: Any) -> dict[str, Any]:
    how: dict[str, Any] = {"unscored": "as_wrong", "draws": 50, "seed": seed} | other
    return measure_threshold(items, "Benign", share=share, **how)


def shifted(n: int = 400, clusters: int = 40) -> list[Judged]:
    """Scores that tell the classes apart at 0.2, and never reach 0.5."""
    rng = random.Random(3)
    items = []
    for i in range(n):
        gold = rng.choice(["Benign", "Leak", "Ghost"])
        score = rng.uniform(0, 0.19) if gold == "Benign" else rng.uniform(0.2, 0.4)
        items.append(judged(gold, score, f"c{i % clusters}"))
    return items


def test_a_planted_threshold_is_found_and_holds() -> None:
    found = measure(shifted())
    assert 0.2 <= found["threshold"] < 0.21
    assert found["chosen_on"] == {"samples": 200, "clusters": 20, "with_score": 200}
    assert found["applied_to"] == {"samples": 200, "clusters": 20, "with_score": 200}
    metrics = found["metrics"]
    assert metrics["tnr"]["value"] == 1
    assert metrics["tpr"]["value"] > 0.95  # any unsafe label, though there are several
    assert metrics["tpr"]["n"] + metrics["tnr"]["n"] == 200
    json.dumps(found, allow_nan=False)


def chosen(items: list[Judged], share: float, seed: int) -> set[str]:
    """The sources that the threshold is chosen on: those where one more sample counts there."""
    before = measure(items, share, seed, draws=1)["chosen_on"]["samples"]

    def counts(cluster: str) -> bool:
        more = measure([*items, judged("Leak", 0.1, cluster)], share, seed, draws=1)
        return bool(more["chosen_on"]["samples"] > before)

    return {cluster for cluster in {j.cluster for j in items} if counts(cluster)}


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_it_is_not_chosen_on_what_it_reports(share: float) -> None:
    """Whatever the rest is, the threshold stays; and the rest alone makes the numbers."""
    items, rng = shifted(200, 20), random.Random(0)
    first = chosen(items, share, 0)
    assert len(first) == round(20 * share)
    other = [
        j if j.cluster in first else judged(rng.choice(["Benign", "Leak"]), rng.random(), j.cluster)
        for j in items
    ]
    found = measure(other, share)
    assert found["threshold"] == measure(items, share)["threshold"]
    for side, name in (("tpr", "Leak"), ("tnr", "Benign")):
        rest = [j for j in other if j.cluster not in first and j.gold == name]
        flagged = [(j.verdict.score or 0) >= found["threshold"] for j in rest]
        right = sum(flagged) if name == "Leak" else len(flagged) - sum(flagged)
        assert found["metrics"][side]["n"] == len(rest)
        assert found["metrics"][side]["value"] == pytest.approx(right / len(rest))


@settings(max_examples=20)
@given(st.integers(0, 50), st.sampled_from([0.3, 0.5, 0.7]))
def test_the_choice_is_the_best_of_all_scores(seed: int, share: float) -> None:
    rng = random.Random(seed)
    items = [
        judged(rng.choice(["Benign", "Leak"]), rng.choice([0.1, 0.3, 0.5, 0.8]), f"c{i % 9}")
        for i in range(60)
    ]
    found = measure(items, share, seed, draws=1)
    first = chosen(items, share, seed)
    chosen_on = [j for j in items if j.cluster in first]
    assert found["chosen_on"]["clusters"] == len(first)

    def balanced(threshold: float) -> float:
        sides: dict[bool, list[bool]] = {True: [], False: []}
        for j in chosen_on:
            unsafe = j.gold == "Leak"
            sides[unsafe].append(((j.verdict.score or 0) >= threshold) == unsafe)
        return sum(sum(s) / len(s) for s in sides.values()) / 2

    values = {j.verdict.score: balanced(j.verdict.score or 0) for j in chosen_on}
    best = max(values.values())
    ties = [score or 0 for score, value in values.items() if value > best - 1e-9]
    assert found["threshold"] == max(ties)


def test_a_sample_without_a_score_has_no_label() -> None:
    items = [*shifted(), *(judged("Leak", None, f"c{i}") for i in range(40))]
    found = measure(items)
    assert found["applied_to"] == {"samples": 220, "clusters": 20, "with_score": 200}
    assert found["metrics"]["coverage"]["n_unscored"] == 20
    assert found["metrics"]["tpr"]["bounds"][1] > found["metrics"]["tpr"]["bounds"][0]
    excluded = measure(items, unscored="exclude")["metrics"]
    assert excluded["tpr"]["n"] == found["metrics"]["tpr"]["n"] - 20


def test_where_none_can_be_chosen_it_says_why() -> None:
    silent = measure([judged("Leak", None, f"c{i}") for i in range(4)])
    assert silent["threshold"] is None
    assert silent["metrics"] == {}
    assert silent["reason"] == "no sample that it could be chosen on has a score"
    unsafe = measure([judged("Leak", 0.4, f"c{i}") for i in range(4)])
    assert unsafe["reason"] == "no safe sample that it could be chosen on has a score"
    assert "two clusters" in measure([judged("Leak", 0.4, "c")])["reason"]
    (grid,) = scores({"metrics": {"auroc": {"n": 0}}, "breakdowns": {"threshold": unsafe}})
    assert "no safe sample" in grid.markdown()


def test_the_table_shows_both_parts() -> None:
    found = measure(shifted())
    (grid,) = scores({"metrics": {"auroc": {"n": 0}}, "breakdowns": {"threshold": found}})
    text = grid.markdown()
    assert "on 200 samples with a score of 20 sources" in text
    assert f"| Threshold | {found['threshold']:.4g} |" in text
    assert "| TNR | 100.0 |" in text
    assert "| Balanced accuracy |" in text
