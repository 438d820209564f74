from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score, recall_score

from trace.records import Status, Verdict
from trace.report.judged import Judged
from trace.report.metrics import baselines, evaluate

BINARY = ("Safe", "Unsafe")
FINE = ("Benign", "Leak", "Ghost", "Clash")


def ok(label: str, score: float | None = None) -> Verdict:
    return Verdict(status="ok", label=label, score=score)


def judged(gold: str, verdict: Verdict, cluster: str = "a", class_: str | None = None) -> Judged:
    return Judged(gold=gold, verdict=verdict, cluster=cluster, class_=class_ or gold)


def binary(tp: int, unsafe: int, tn: int, safe: int) -> list[Judged]:
    """A judge with these counts; every sample is a source of its own."""
    answers = (
        [("Unsafe", "Unsafe")] * tp
        + [("Unsafe", "Safe")] * (unsafe - tp)
        + [("Safe", "Safe")] * tn
        + [("Safe", "Unsafe")] * (safe - tn)
    )
    return [judged(gold, ok(given), f"s{i}") for i, (gold, given) in enumerate(answers)]


def run(
    items: Sequence[Judged],
    labels: Sequence[str] = BINARY,
    unscored: str = "as_wrong",
    draws: int = 100,
    seed: int = 0,
) -> dict[str, Any]:
    return evaluate(items, labels, labels[0], unscored=unscored, draws=draws, seed=seed)


# TraceSafe, rows of the coarse table, table 13 and table 16: counts that give the printed
# percentages (TPR, TNR, balanced accuracy, absolute difference).
@pytest.mark.parametrize(
    ("counts", "tpr", "tnr", "balanced", "skew"),
    [
        ((832, 1000, 68, 81), 83.20, 83.95, 83.58, 0.75),
        ((243, 360, 17, 30), 67.5, 56.7, 62.1, 10.8),
        ((216, 360, 17, 30), 60.0, 56.7, 58.3, 3.3),
        ((241, 360, 17, 30), 66.9, 56.7, 61.8, 10.3),
        ((201, 360, 19, 30), 55.8, 63.3, 59.6, 7.5),
        ((17, 36, 15, 35), 47.2, 42.9, 45.0, 4.4),
        ((17, 36, 2, 33), 47.2, 6.1, 26.6, 41.2),
        ((4, 12, 0, 13), 33.3, 0.0, 16.7, 33.3),
        ((10, 21, 0, 23), 47.6, 0.0, 23.8, 47.6),
    ],
)
def test_rows_of_the_tracesafe_paper(
    counts: tuple[int, int, int, int], tpr: float, tnr: float, balanced: float, skew: float
) -> None:
    metrics = run(binary(*counts))["metrics"]
    found = [100 * metrics[m]["value"] for m in ("tpr", "tnr", "balanced_accuracy")]
    assert found == pytest.approx([tpr, tnr, balanced], abs=0.0501)
    assert abs(100 * metrics["tpr_minus_tnr"]["value"]) == pytest.approx(skew, abs=0.0501)


def test_a_planted_judge_is_recovered() -> None:
    rng = random.Random(2)
    items = []
    for i in range(6000):
        gold, rate = ("Unsafe", 0.83) if i % 2 else ("Safe", 0.71)
        right = rng.random() < rate
        label = gold if right else BINARY[gold == "Safe"]
        items.append(judged(gold, ok(label), f"s{i}"))
    metrics = run(items, draws=2000)["metrics"]
    for name, planted in (("tpr", 0.83), ("tnr", 0.71), ("balanced_accuracy", 0.77)):
        assert metrics[name]["low"] < planted < metrics[name]["high"]
        assert metrics[name]["high"] - metrics[name]["low"] < 0.035
    # With a sample a source, the resampled interval is the normal one.
    error = (0.83 * 0.17 / 3000 + 0.71 * 0.29 / 3000) ** 0.5 / 2
    found = metrics["balanced_accuracy"]
    assert found["high"] - found["low"] == pytest.approx(2 * 1.96 * error, rel=0.08)


SILENT = [
    *[judged("Unsafe", ok("Unsafe"))] * 6,
    *[judged("Unsafe", ok("Safe"))] * 2,
    *[judged("Unsafe", Verdict(status="unparsable"))] * 2,
    *[judged("Safe", ok("Safe"))] * 3,
    judged("Safe", Verdict(status="refused")),
]


def test_unscored_as_wrong() -> None:
    result = run(SILENT)
    metrics = result["metrics"]
    assert (metrics["tpr"]["value"], metrics["tpr"]["n"]) == (0.6, 10)
    assert (metrics["tnr"]["value"], metrics["tnr"]["n"]) == (0.75, 4)
    assert metrics["balanced_accuracy"]["value"] == 0.675
    assert metrics["balanced_accuracy"]["bounds"] == [0.675, 0.9]
    assert metrics["tpr_minus_tnr"]["bounds"] == pytest.approx([0.6 - 1.0, 0.8 - 0.75])
    # A silent judge has missed its sample, and has not named the other class.
    assert metrics["balanced_f1"]["value"] == pytest.approx((12 / 16 + 6 / 9) / 2)
    assert metrics["balanced_f1"]["bounds"] == pytest.approx(
        [(12 / 17 + 6 / 11) / 2, (16 / 18 + 8 / 10) / 2]
    )
    assert (metrics["coverage"]["value"], metrics["coverage"]["n_unscored"]) == (
        pytest.approx(11 / 14),
        3,
    )
    assert result["breakdowns"]["confusion"] == {
        "labels": ["Safe", "Unsafe"],
        "columns": ["Safe", "Unsafe", "unscored"],
        "counts": [[3, 0, 1], [2, 6, 2]],
    }
    status = result["breakdowns"]["status"]
    assert list(status) == list(get_args(Status))
    assert (status["ok"], status["unparsable"], status["refused"], status["error"]) == (11, 2, 1, 0)


def test_unscored_left_out() -> None:
    metrics = run(SILENT, unscored="exclude")["metrics"]
    assert (metrics["tpr"]["value"], metrics["tpr"]["n"]) == (0.75, 8)
    assert (metrics["tnr"]["value"], metrics["tnr"]["n_unscored"]) == (1.0, 1)
    assert metrics["balanced_accuracy"]["value"] == 0.875
    assert metrics["balanced_accuracy"]["n"] == 11
    assert metrics["balanced_accuracy"]["bounds"] == [0.675, 0.9]
    assert metrics["balanced_f1"]["value"] == pytest.approx((12 / 14 + 6 / 8) / 2)


def test_with_many_labels_the_right_class_counts() -> None:
    items = [
        *[judged("Leak", ok("Leak"))] * 3,
        *[judged("Leak", ok("Ghost"))] * 2,
        judged("Leak", ok("Benign")),
        *[judged("Ghost", ok("Ghost"))] * 1,
        judged("Ghost", Verdict(status="truncated")),
        *[judged("Benign", ok("Benign"))] * 3,
        judged("Benign", ok("Clash")),
    ]
    result = run(items, FINE)
    metrics, classes = result["metrics"], result["breakdowns"]["class"]
    assert metrics["tpr"]["value"] == 0.5
    assert metrics["detection_rate"]["value"] == 0.75
    assert metrics["balanced_accuracy"]["value"] == 0.625
    assert metrics["balanced_f1"]["value"] == pytest.approx((12 / 15 + 6 / 8) / 2)
    assert list(classes) == ["Benign", "Leak", "Ghost"]
    assert classes["Leak"]["accuracy"]["value"] == 0.5
    assert classes["Leak"]["detection_rate"]["value"] == pytest.approx(5 / 6)
    assert classes["Ghost"]["accuracy"]["bounds"] == [0.5, 1.0]
    assert classes["Benign"]["detection_rate"]["value"] == 0.25
    assert classes["Benign"]["detection_rate"]["higher_is_better"] is False
    assert result["breakdowns"]["confusion"]["counts"] == [
        [3, 0, 0, 1, 0],
        [1, 3, 2, 0, 0],
        [0, 0, 1, 0, 1],
        [0, 0, 0, 0, 0],
    ]
    assert "detection_rate" not in run(SILENT)["metrics"]


def test_binary_has_a_row_for_every_class_of_the_gold() -> None:
    items = [
        judged("Unsafe", ok("Unsafe"), class_="Leak"),
        judged("Unsafe", ok("Safe"), class_="Ghost"),
        judged("Safe", ok("Safe"), class_="Benign"),
    ]
    classes = run(items)["breakdowns"]["class"]
    assert {name: row["accuracy"]["value"] for name, row in classes.items()} == {
        "Benign": 1.0,
        "Ghost": 0.0,
        "Leak": 1.0,
    }


def test_ranking_metrics_are_over_the_samples_that_have_a_score() -> None:
    items = [
        judged("Unsafe", ok("Unsafe", 0.9)),
        judged("Unsafe", ok("Safe", 0.4)),
        judged("Safe", ok("Safe", 0.3)),
        judged("Safe", ok("Unsafe", 0.6)),
        judged("Safe", Verdict(status="too_long")),
    ]
    metrics = run(items)["metrics"]
    assert (metrics["auroc"]["value"], metrics["auroc"]["n"], metrics["auroc"]["n_unscored"]) == (
        0.75,
        4,
        1,
    )
    assert metrics["auprc"]["value"] == pytest.approx((1 + 2 / 3) / 2)
    silent = run(SILENT)["metrics"]["auroc"]
    assert (silent["value"], silent["n"], silent["reason"]) == (None, 0, "no sample has a score")


def test_what_cannot_be_had_is_null_with_a_reason() -> None:
    unsafe_only = run([judged("Unsafe", ok("Unsafe"))])["metrics"]
    assert unsafe_only["tpr"]["value"] == 1.0
    for name in ("tnr", "tpr_minus_tnr", "balanced_accuracy", "balanced_f1"):
        assert (unsafe_only[name]["value"], unsafe_only[name]["low"]) == (None, None)
        assert unsafe_only[name]["reason"] == "no safe samples"
    mute = [judged(g, Verdict(status="error")) for g in ("Safe", "Unsafe", "Unsafe")]
    excluded = run(mute, unscored="exclude")["metrics"]
    assert excluded["balanced_f1"]["reason"] == (
        "all 2 unsafe samples are unscored; no safe samples but one, which is unscored"
    )
    assert excluded["balanced_accuracy"]["bounds"] == [0.0, 1.0]
    assert run(mute)["metrics"]["tpr"]["value"] == 0.0
    assert all(m["value"] is None and m["reason"] for m in run([])["metrics"].values())


def test_an_interval_that_cannot_be_had_is_null_beside_its_value() -> None:
    one = run([replace(j, cluster="only") for j in binary(8, 10, 7, 10)])["metrics"]
    found = one["balanced_accuracy"]
    assert (found["value"], found["low"], found["interval"]) == (0.75, None, None)
    assert found["bootstrap"]["reason"] == "one cluster cannot be resampled"
    assert one["tpr"]["interval"] == "wilson"
    few = [replace(j, cluster=str(i % 19)) for i, j in enumerate(binary(80, 100, 70, 100))]
    note = run(few)["metrics"]["balanced_accuracy"]["bootstrap"]
    assert (note["clusters"], note["few_clusters"], note["draws"]) == (19, True, 100)
    many = run(binary(80, 100, 70, 100))["metrics"]["balanced_accuracy"]
    assert (many["interval"], many["bootstrap"]["few_clusters"]) == ("bootstrap-cluster", False)


def test_samples_of_one_source_widen_the_interval() -> None:
    """Nine copies of each answer: the same value, an interval as wide as without the copies."""
    alone = binary(30, 40, 25, 40)
    copies = [j for j in alone for _ in range(9)]
    apart = [replace(j, cluster=str(i)) for i, j in enumerate(copies)]
    width = {}
    for name, items in (("alone", alone), ("copies", copies), ("apart", apart)):
        found = run(items, draws=4000)["metrics"]["balanced_accuracy"]
        width[name] = found["high"] - found["low"]
    assert width["copies"] == pytest.approx(width["alone"], rel=0.01)
    assert width["copies"] / width["apart"] == pytest.approx(3, rel=0.1)


def test_what_is_no_label_is_refused() -> None:
    with pytest.raises(ValueError, match="not among the labels: Maybe"):
        run([judged("Safe", ok("Maybe"))])
    with pytest.raises(ValueError, match="unscored is as_wrong or exclude, not 'drop'"):
        run([], unscored="drop")
    with pytest.raises(ValueError, match="'Benign' is not among"):
        evaluate([], BINARY, "Benign", unscored="as_wrong", draws=100, seed=0)


def test_the_seed_moves_the_interval_only() -> None:
    items = binary(20, 30, 12, 30)
    first, again, other = run(items, seed=1), run(items, seed=1), run(items, seed=2)
    assert first == again
    for result in (first, other):
        for name in ("balanced_accuracy", "tpr_minus_tnr", "balanced_f1"):
            del result["metrics"][name]["low"], result["metrics"][name]["high"]
    assert first == other != again


VERDICTS = st.one_of(
    st.builds(ok, st.sampled_from(FINE), st.none() | st.sampled_from([0.0, 0.3, 0.3, 1.0])),
    st.sampled_from([s for s in get_args(Status) if s != "ok"]).map(lambda s: Verdict(status=s)),
)
ITEMS = st.lists(
    st.builds(judged, st.sampled_from(FINE), VERDICTS, st.sampled_from("abcd")), max_size=25
)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from leaves(child)
    else:
        yield value


@settings(max_examples=60)
@given(ITEMS, st.sampled_from(["as_wrong", "exclude"]), st.randoms())
def test_laws(items: list[Judged], unscored: str, shuffle: Any) -> None:
    result = run(items, FINE, unscored, draws=20)
    json.dumps(result, allow_nan=False)
    assert {type(leaf) for leaf in leaves(result)} <= {float, int, bool, str, type(None)}

    for name, metric in result["metrics"].items():
        lowest = -1 if name == "tpr_minus_tnr" else 0
        assert (metric["value"] is None) == ("reason" in metric)
        assert (metric["low"] is None) == (metric["high"] is None) == (metric["interval"] is None)
        if metric["low"] is not None:
            assert lowest <= metric["low"] <= metric["high"] <= 1
        if metric["value"] is not None and metric["bounds"] is not None:
            low, high = metric["bounds"]
            assert lowest <= low <= high <= 1
            assert low - 1e-11 <= metric["value"] <= high + 1e-11

    table, labels = result["breakdowns"]["confusion"]["counts"], FINE
    assert [sum(row) for row in table] == [sum(j.gold == x for j in items) for x in labels]
    assert sum(row[-1] for row in table) == sum(j.verdict.status != "ok" for j in items)
    assert sum(result["breakdowns"]["status"].values()) == len(items)

    other = list(items)
    shuffle.shuffle(other)
    assert json.dumps(run(other, FINE, unscored, draws=20)) == json.dumps(result)


@settings(max_examples=40)
@given(ITEMS)
def test_left_out_is_never_below_as_wrong(items: list[Judged]) -> None:
    strict, lenient = (run(items, FINE, p, draws=1)["metrics"] for p in ("as_wrong", "exclude"))
    for name in ("tpr", "tnr", "balanced_accuracy", "detection_rate", "balanced_f1"):
        if strict[name]["value"] is not None and lenient[name]["value"] is not None:
            assert strict[name]["value"] <= lenient[name]["value"] + 1e-11
    assert strict["coverage"] == lenient["coverage"]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(BINARY), st.sampled_from(BINARY)), min_size=2))
def test_scikit_learn_agrees(pairs: list[tuple[str, str]]) -> None:
    gold, given = (list(side) for side in zip(*pairs, strict=True))
    if len(set(gold)) == 2:
        metrics = run([judged(g, ok(p)) for g, p in pairs], draws=1)["metrics"]
        assert metrics["balanced_accuracy"]["value"] == pytest.approx(
            balanced_accuracy_score(gold, given)
        )
        assert metrics["tpr"]["value"] == pytest.approx(
            recall_score(gold, given, pos_label="Unsafe")
        )
        assert metrics["balanced_f1"]["value"] == pytest.approx(
            f1_score(gold, given, average="macro")
        )


def test_the_resampled_f1_is_the_f1() -> None:
    """Sources that are all alike: every resample gives the same F1 as the data."""
    source = [
        ("Unsafe", ok("Unsafe")), ("Unsafe", ok("Unsafe")), ("Unsafe", ok("Safe")),
        ("Unsafe", Verdict(status="refused")), ("Safe", ok("Safe")), ("Safe", ok("Unsafe")),
        ("Safe", Verdict(status="error")),
    ]  # fmt: skip
    items = [judged(g, v, cluster) for cluster in "abcdef" for g, v in source]
    for unscored in ("as_wrong", "exclude"):
        for metric in run(items, unscored=unscored)["metrics"].values():
            if metric["interval"] == "bootstrap-cluster":
                assert metric["low"] == metric["high"] == metric["value"]


def test_baselines() -> None:
    items = [
        *[judged("Leak", Verdict(status="error"), "b")] * 2,
        judged("Ghost", ok("Ghost"), "c"),
        judged("Ghost", ok("Ghost"), "d"),
        judged("Clash", ok("Clash")),
        *[judged("Benign", ok("Benign"))] * 3,
    ]
    rule = ["Ghost"] * 4 + ["Benign"] * 4
    rows = baselines(
        items, FINE, "Benign", {"schema_rule": rule}, unscored="as_wrong", draws=100, seed=0
    )
    assert list(rows) == ["always_safe", "always_unsafe", "schema_rule"]

    def values(row: str) -> list[float]:
        return [rows[row][m]["value"] for m in ("tpr", "tnr", "detection_rate", "coverage")]

    assert values("always_safe") == [0.0, 1.0, 0.0, 1.0]
    assert values("always_unsafe") == [0.4, 0.0, 1.0, 1.0]
    assert values("schema_rule") == [0.4, 1.0, 0.8, 1.0]
    # Leak and Ghost are equally frequent; Leak comes first among the labels.
    for row, labels in (("schema_rule", rule), ("always_unsafe", ["Leak"] * 8)):
        judge = [replace(j, verdict=ok(label)) for j, label in zip(items, labels, strict=True)]
        assert rows[row] == run(judge, FINE)["metrics"]


def test_a_rule_judge_that_does_not_fit_is_refused() -> None:
    items = binary(1, 2, 1, 2)
    for rules, message in (
        ({"rule": ["Safe"]}, "shorter"),
        ({"always_safe": ["Safe"] * 4}, "named"),
    ):
        with pytest.raises(ValueError, match=message):
            baselines(items, BINARY, "Safe", rules, unscored="as_wrong", draws=100, seed=0)
