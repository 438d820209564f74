"""The metrics of scores against scikit-learn, sums done by hand, and planted judges."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from trace.records import Verdict
from trace.report.judged import Judged
from trace.report.metrics import evaluate
from trace.report.scored import measure_scores

NAMES = ["auroc", "auprc", "ece", "tpr_at_fpr_1", "tpr_at_fpr_5"]


def judged(unsafe: bool, score: float | None, cluster: str = "a") -> Judged:
    gold = "Unsafe" if unsafe else "Safe"
    verdict = Verdict(status="ok", label=gold, score=score)
    return Judged(gold=gold, verdict=verdict, cluster=cluster, class_=gold)


def apart(pairs: Sequence[tuple[bool, float | None]]) -> list[Judged]:
    return [judged(unsafe, score, f"s{i}") for i, (unsafe, score) in enumerate(pairs)]


def planted(n: int = 600, clusters: int = 60, seed: int = 0) -> list[Judged]:
    """A calibrated judge: of the samples at p, a share p is unsafe."""
    rng = random.Random(seed)
    scores = [rng.random() for _ in range(n)]
    return [judged(rng.random() < p, p, f"c{rng.randrange(clusters)}") for p in scores]


PAIRS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.2, 0.2000001, 0.5, 1.0])), min_size=2
)


@settings(max_examples=40)
@given(PAIRS)
def test_scikit_learn_agrees(pairs: list[tuple[bool, float]]) -> None:
    found = measure_scores(apart(pairs), "Safe", draws=2, seed=0)
    assert list(found) == NAMES
    gold, scores = zip(*pairs, strict=True)
    if len(set(gold)) < 2:
        missing = "safe" if gold[0] else "unsafe"
        assert found["auroc"]["reason"] == f"no {missing} sample has a score"
        assert found["auprc"]["value"] is None
        return
    assert found["auroc"]["value"] == pytest.approx(roc_auc_score(gold, scores), abs=1e-11)
    assert found["auprc"]["value"] == pytest.approx(
        average_precision_score(gold, scores), abs=1e-11
    )


def test_the_calibration_error_by_hand() -> None:
    """Bins of width 1/15: 0.1 and 0.12 share the second, 0.9 lies in the fourteenth."""
    pairs = [(False, 0.1), (True, 0.12), (True, 0.9), (False, 0.9), (True, 0.9), (True, None)]
    found = measure_scores(apart(pairs), "Safe", draws=100, seed=0)["ece"]
    expected = 2 / 5 * abs(1 / 2 - 0.11) + 3 / 5 * abs(2 / 3 - 0.9)
    assert found["value"] == pytest.approx(expected, abs=1e-11)
    assert (found["n"], found["n_unscored"], found["higher_is_better"]) == (5, 1, False)


def test_a_calibrated_judge_and_an_overconfident_one() -> None:
    calibrated = measure_scores(planted(), "Safe", draws=500, seed=0)["ece"]
    assert calibrated["low"] == 0
    assert calibrated["high"] < 0.1
    loud = [judged(j.gold == "Unsafe", float(j.verdict.score > 0.5), j.cluster) for j in planted()]  # type: ignore[operator]
    overconfident = measure_scores(loud, "Safe", draws=500, seed=0)["ece"]
    assert overconfident["low"] < 0.25 < overconfident["high"]  # E|p - round(p)| of a uniform p
    assert overconfident["low"] > 0.15


def test_the_rates_at_a_false_positive_rate_are_points_of_the_curve() -> None:
    items = planted()
    found = measure_scores(items, "Safe", draws=200, seed=0)
    gold = [j.gold == "Unsafe" for j in items]
    fpr, tpr, _ = roc_curve(gold, [j.verdict.score for j in items], drop_intermediate=False)
    for name, allowed in (("tpr_at_fpr_1", 0.01), ("tpr_at_fpr_5", 0.05)):
        assert found[name]["value"] == pytest.approx(max(tpr[fpr <= allowed]), abs=1e-11)
        assert found[name]["low"] <= found[name]["value"] <= found[name]["high"]
    few = measure_scores(items[:60], "Safe", draws=10, seed=0)["tpr_at_fpr_1"]
    assert few["value"] is None
    assert "100 are needed" in few["reason"]


def test_intervals_hold_what_was_planted() -> None:
    """P(unsafe) uniform and calibrated: the AUROC is 5/6, the mean over both Beta laws."""
    held = 0
    for seed in range(20):
        metric = measure_scores(planted(300, 300, seed), "Safe", draws=200, seed=0)["auroc"]
        held += metric["low"] <= 5 / 6 <= metric["high"]
        assert metric["interval"] == "bootstrap-cluster"
    assert held >= 16


def test_copies_of_samples_do_not_narrow_an_interval() -> None:
    alone = planted(150, 150)
    copies = [j for j in alone for _ in range(4)]
    apart = [judged(j.gold == "Unsafe", j.verdict.score, str(i)) for i, j in enumerate(copies)]
    width = {}
    for name, items in (("alone", alone), ("copies", copies), ("apart", apart)):
        for metric in ("auroc", "auprc"):
            found = measure_scores(items, "Safe", draws=1000, seed=0)[metric]
            width[name, metric] = found["high"] - found["low"]
    for metric in ("auroc", "auprc"):
        assert width["copies", metric] == pytest.approx(width["alone", metric], rel=0.1)
        assert width["copies", metric] / width["apart", metric] == pytest.approx(2, rel=0.2)


def test_neither_order_nor_names_of_sources_matter() -> None:
    items = [judged(j.gold == "Unsafe", round(j.verdict.score or 0, 1), j.cluster)
             for j in planted(200, 20)]  # fmt: skip
    first = measure_scores(items, "Safe", draws=50, seed=0)
    random.Random(1).shuffle(items)
    renamed = [judged(j.gold == "Unsafe", j.verdict.score, f"{j.cluster[::-1]}x") for j in items]
    assert measure_scores(renamed, "Safe", draws=50, seed=0) == first


def test_without_scores_each_says_so() -> None:
    items = apart([(True, None), (False, None)])
    for metric in measure_scores(items, "Safe", draws=10, seed=0).values():
        assert (metric["value"], metric["n"], metric["n_unscored"]) == (None, 0, 2)
        assert metric["reason"] == "no sample has a score"
    reasons = {m["reason"] for m in measure_scores([], "Safe", draws=10, seed=0).values()}
    assert reasons == {"no samples"}
    metrics = evaluate(items, ("Safe", "Unsafe"), "Safe", unscored="as_wrong", draws=10, seed=0)
    assert [name for name in metrics["metrics"] if name in NAMES] == NAMES
