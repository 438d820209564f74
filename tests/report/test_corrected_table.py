"""The share called unsafe beside the one that lies behind it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from statsmodels.stats.proportion import proportion_confint

from trace.records import Verdict
from trace.report.corrected import COLUMNS, corrected_grid, measure_corrected
from trace.report.judged import Judged

SAFE = "Safe"


def said(name: str, label: str | None) -> Judged:
    verdict = Verdict(status="unparsable") if label is None else Verdict(status="ok", label=label)
    return Judged(gold=SAFE, verdict=verdict, cluster=name, class_="any", sample=name)


def items(prefix: str, labels: Sequence[str | None]) -> list[Judged]:
    return [said(f"{prefix}{i}", label) for i, label in enumerate(labels)]


def test_it_is_what_rogan_and_gladen_say_and_labels_of_any_risk_are_unsafe() -> None:
    ill = items("u", ["Leak"] * 40 + ["Fraud"] * 40 + [SAFE] * 20 + [None] * 7)  # 0.8
    well = items("s", [SAFE] * 90 + ["Leak"] * 10)  # 0.9
    rest = items("r", ["Leak"] * 110 + [SAFE] * 190 + [None])
    unsafe = {j.sample: j.sample.startswith("u") for j in (*ill, *well) if j.sample}
    found = measure_corrected([*ill, *well, *rest], unsafe, SAFE)
    assert found["sensitivity"]["value"] == 0.8
    assert found["specificity"]["value"] == 0.9
    assert found["flagged"]["value"] == 200 / 500
    assert (found["flagged"]["n"], found["flagged"]["n_unscored"]) == (500, 8)
    corrected = found["corrected"]
    assert corrected["value"] == pytest.approx((0.4 + 0.9 - 1) / (0.8 + 0.9 - 1))
    assert corrected["low"] < corrected["value"] < corrected["high"]
    low, high = proportion_confint(200, 500, method="wilson")
    assert corrected["high"] - corrected["low"] > high - low  # the judge's errors are uncertain too
    assert not corrected["clipped"]


def test_repeats_and_samples_of_one_source_do_not_narrow_it() -> None:
    ill, well = items("u", ["Leak"] * 40 + [SAFE] * 10), items("s", [SAFE] * 40 + ["Leak"] * 10)
    unsafe = {j.sample: j.sample.startswith("u") for j in (*ill, *well) if j.sample}
    once = measure_corrected([*ill, *well], unsafe, SAFE)
    twice = measure_corrected([*ill, *well] * 2, unsafe, SAFE)
    for name in COLUMNS:
        assert twice[name]["value"] == once[name]["value"], name
        assert twice[name]["low"] <= once[name]["low"] + 0.01, name


def test_what_cannot_be_corrected_has_a_reason_and_the_rest_its_value() -> None:
    ill = items("u", ["Leak"] * 5)
    found = measure_corrected(ill, {f"u{i}": True for i in range(5)}, SAFE)
    assert found["sensitivity"]["value"] == 1
    assert found["specificity"]["value"] is None
    assert found["specificity"]["reason"] == "no samples that humans labelled safe"
    assert found["corrected"]["value"] is None
    assert found["corrected"]["reason"] == "no safe item of the labelled subset has a verdict"
    assert measure_corrected([], {}, SAFE)["corrected"]["reason"] == "no item has a verdict"
    coin = measure_corrected(
        [*items("u", ["Leak", SAFE] * 50), *items("s", ["Leak", SAFE] * 50)],
        {f"{kind}{i}": kind == "u" for kind in "us" for i in range(100)},
        SAFE,
    )
    assert "too near to chance" in coin["corrected"]["reason"]


def test_a_rate_that_had_to_be_brought_into_its_range_is_marked() -> None:
    ill, well = items("u", ["Leak"] * 90 + [SAFE] * 10), items("s", [SAFE] * 70 + ["Leak"] * 30)
    unsafe = {j.sample: j.sample.startswith("u") for j in (*ill, *well) if j.sample}
    found = measure_corrected([*ill, *well, *items("r", [SAFE] * 2000)], unsafe, SAFE)
    assert found["corrected"]["clipped"]
    assert found["corrected"]["value"] == 0
    assert found["corrected"]["raw"] < 0
    grid = corrected_grid({"verdict": found, "judge": {"j1": found}}, "panel")
    assert [row[0] for row in grid.rows] == [("panel",), ("j1",)]
    assert grid.rows[0][4][0] == "0.0§"
    assert "brought into 0 to 100" in grid.markdown()
