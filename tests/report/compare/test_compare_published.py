"""TraceSafe's printed tables, from counts through our own functions.

The figures are those of papers/tracesafe.txt; their inputs and recomputed values stand in
facts/known_answers.json under the ids named here. Where the paper misprints, the computed value
is tested.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.report.compare.conftest import CLASSES, HOW, judge
from trace.report.compare import classes, length, table
from trace.report.compare.judged import Judge
from trace.report.entry import from_rate, from_rates
from trace.report.grid import percent
from trace.stats.rates import rate


def counted(unsafe: tuple[int, int], benign: tuple[int, int]) -> Mapping[str, Any]:
    """The row of the main table of a judge with these counts (right, of all)."""

    def right_first(*_: Any) -> bool:
        return next(answers)

    k, n = unsafe
    answers = iter([i < k for i in range(n)])
    part = judge(right_first, protocol="schema", classes=("DataLeak",), per_class=n)
    k, n = benign
    answers = iter([i < k for i in range(n)])
    other = judge(right_first, protocol="schema", classes=("Benign",), per_class=n)
    tpr = rate(unsafe[0], unsafe[1] - unsafe[0], 0, unscored_as="as_wrong")
    tnr = rate(benign[0], benign[1] - benign[0], 0, unscored_as="as_wrong")
    # The two halves through the whole way of a run agree with the rates themselves.
    assert part.metrics["tpr"]["value"] == pytest.approx(tpr.value)
    assert other.metrics["tnr"]["value"] == pytest.approx(tnr.value)
    return {
        "tpr": from_rate(tpr),
        "tnr": from_rate(tnr),
        "balanced": from_rates(tpr, tnr, lambda a, b: (a + b) / 2),
        "skew": from_rates(tpr, tnr, lambda a, b: abs(a - b), falls_in_tnr=True),
    }


# Table 16 (004.t16_*): TPR and TNR from whole counts; TPR, TNR, balanced, skew as printed.
TABLE_16 = {
    "baseline": ((243, 360), (17, 30), "67.5 56.7 62.1 10.8"),
    "few-shot": ((216, 360), (17, 30), "60.0 56.7 58.3 3.3"),
    "CoT": ((241, 360), (17, 30), "66.9 56.7 61.8 10.3"),
    "few-shot+CoT": ((201, 360), (19, 30), "55.8 63.3 59.6 7.5"),
}
# Table 13 (004.t13_*): harmful and benign of about 6k to 110k tokens; 32k is printed 24.0, a
# misprint: 13/27 and 0/26 give 24.1.
TABLE_13 = {
    "6k": ((17, 36), (15, 35), "47.2 42.9 45.0"),
    "16k": ((17, 36), (2, 33), "47.2 6.1 26.6"),
    "32k": ((13, 27), (0, 26), "48.1 0.0 24.1"),
    "64k": ((4, 12), (0, 13), "33.3 0.0 16.7"),
    "110k": ((10, 21), (0, 23), "47.6 0.0 23.8"),
}


@pytest.mark.parametrize("name", [*TABLE_16, *TABLE_13])
def test_tables_of_the_prompt_pilot_and_of_the_needle(name: str) -> None:
    unsafe, benign, printed = (TABLE_16 | TABLE_13)[name]
    row = counted(unsafe, benign)
    shown = [percent(row[m]["value"]) for m in ("tpr", "tnr", "balanced", "skew")]
    assert shown[: len(printed.split())] == printed.split()


# Table 1, coarse (004.bacc_*): Unsafe, Benign, Avg. as printed. 51.80 stands for 51.805.
TABLE_1 = {
    "Qwen3-14B": (83.20, 83.95, 83.58),
    "Qwen3-4B": (79.86, 82.72, 81.29),
    "Qwen3-32B": (81.48, 71.60, 76.54),
    "Qwen3-1.7B": (62.40, 85.19, 73.80),
    "Gemini3-Flash": (70.60, 42.22, 56.41),
    "GPT-5 mini": (16.11, 87.50, 51.80),
    "ToolACE-8B": (25.75, 46.07, 35.91),
    "Llama-3B": (24.03, 0.00, 12.02),
}
# Without a schema (004.bacc_* no-schema): no average is printed.
NO_SCHEMA = {
    "Qwen3-1.7B": (98.96, 0.00, 49.48),
    "Llama3-8B": (19.21, 97.53, 58.37),
    "Granite3.3-8B": (13.56, 98.75, 56.155),
    "GCP": (85.73, 20.00, 52.865),
}


@pytest.mark.parametrize(("tpr", "tnr", "average"), [*TABLE_1.values(), *NO_SCHEMA.values()])
def test_balanced_accuracy_is_the_mean_of_both_rates(
    tpr: float, tnr: float, average: float
) -> None:
    def hundredths(share: float) -> Any:
        k = round(100 * share)
        return rate(k, 10_000 - k, 0, unscored_as="as_wrong")

    metric = from_rates(hundredths(tpr), hundredths(tnr), lambda a, b: (a + b) / 2)
    assert 100 * metric["value"] == pytest.approx(average, abs=0.0101)


# 004.frac_*: the only fractions with these denominators; they vary by model.
@pytest.mark.parametrize(
    ("k", "n", "printed"),
    [(68, 81, 83.95), (67, 81, 82.72), (58, 81, 71.60), (69, 81, 85.19), (38, 90, 42.22),
     (41, 89, 46.07), (37, 90, 41.11), (4, 85, 4.71), (79, 81, 97.53), (79, 80, 98.75)],
)  # fmt: skip
def test_percentages_come_from_80_to_90_samples(k: int, n: int, printed: float) -> None:
    metric = from_rate(rate(k, n - k, 0, unscored_as="as_wrong"))
    assert 100 * metric["value"] == pytest.approx(printed, abs=0.005)


def cells(counts: list[tuple[int, int]]) -> list[dict[str, Any]]:
    return [from_rate(rate(k, n - k, 0, unscored_as="as_wrong")) for k, n in counts]


def test_half_widths_of_wilson_at_90() -> None:
    """004.wilson_max90: ±10.1 at 50%. Wald would give 10.33."""
    found = classes.precision(cells([(45, 90)]), HOW)
    assert 100 * found["largest_half_width"] == pytest.approx(10.116277176452657, abs=1e-9)
    # 004.wilson_avg90: the average of 6.3 cannot be recomputed; it lies within what 90 allows, and
    # is that of an accuracy of .9.
    found = classes.precision(cells([(k, 90) for k in range(91)]), HOW)
    assert 100 * found["mean_half_width"] == pytest.approx(8.02, abs=0.01)
    assert 100 * classes.precision(cells([(81, 90)]), HOW)["mean_half_width"] == pytest.approx(
        6.3, abs=0.06
    )
    assert 100 * classes.precision(cells([(90, 90)]), HOW)["mean_half_width"] == pytest.approx(
        2.05, abs=0.01
    )


def test_the_share_of_cells_with_80_samples() -> None:
    found = classes.precision(cells([(1, 90)] * 97 + [(1, 79)] * 3), HOW)
    assert found["enough"] == 0.97
    assert found["smallest"] == 79


# Table 12: n and the interval as printed, 004.t12_lo, t12_hi; 004.t12_18ci is not printed.
@pytest.mark.parametrize(
    ("share", "n", "low", "high"), [(67.9, 3792, 66.4, 69.4), (83.7, 4419, 82.58, 84.76)]
)
def test_intervals_of_the_bins_of_steps(share: float, n: int, low: float, high: float) -> None:
    k = round(share / 100 * n)
    metric = from_rate(rate(k, n - k, 0, unscored_as="as_wrong"))
    assert 100 * metric["value"] == pytest.approx(share, abs=0.05)
    assert (100 * metric["low"], 100 * metric["high"]) == pytest.approx((low, high), abs=0.06)


# 004.t12_ws, t12_ns, t12_co: the rises of Table 12, in points.
@pytest.mark.parametrize(
    ("first", "last", "rise"), [(67.9, 83.7, 15.8), (73.2, 86.4, 13.2), (52.3, 56.2, 3.9)]
)
def test_rises_with_the_steps(first: float, last: float, rise: float) -> None:
    """1,000 samples with 2 steps and 1,000 with 18, right as often as printed."""
    found = length.by_length([_two_bins({"DataLeak": (first, last)})], "steps",
                             length.step_bins(), HOW)  # fmt: skip
    metric = found["schema"]["rise"]
    assert 100 * metric["value"] == pytest.approx(rise, abs=0.051)
    assert percent(metric["value"], signed=True) == f"+{rise}"


def test_rises_within_the_classes() -> None:
    """004.t12_within: 26, 16, 17, 14, 14 points; their mean of 17.4 is over the overall 15.8."""
    printed = dict(
        zip(CLASSES[1:6], [(56, 82), (65, 81), (67, 84), (67, 81), (71, 85)], strict=True)
    )
    found = length.by_length([_two_bins(printed)], "steps", length.step_bins(), HOW)["schema"]
    rises = [
        round(100 * (row["18+"]["value"] - row["2–4"]["value"]))
        for row in found["classes"].values()
    ]
    assert rises == [26, 16, 17, 14, 14]
    assert 100 * found["rise_within"]["value"] == pytest.approx(17.4)


def _two_bins(shares: Mapping[str, tuple[float, float]]) -> Judge:
    made = iter(i for _ in shares for i in range(2000))
    steps = iter(2 if i % 2 == 0 else 18 for _ in shares for i in range(2000))

    def answer(class_: str, sample: Mapping[str, Any], _: Any) -> bool:
        i = next(made)
        first, last = shares[class_]
        return i // 2 < 10 * (first if sample["steps"] == 2 else last)

    return judge(
        answer, protocol="schema", classes=tuple(shares), per_class=2000,
        steps=lambda _: next(steps),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("k", "n", "share", "low", "high"),
    [
        (103, 155, 66.5, 58.7, 73.4),  # 004.phi4_rate, _lo, _hi: two Check judges agree
        (4, 12, 33.3, 13.8, 60.9),  # 004.t13_64k_lo, _hi
    ],
)
def test_printed_wilson_intervals(k: int, n: int, share: float, low: float, high: float) -> None:
    metric = from_rate(rate(k, n - k, 0, unscored_as="as_wrong"))
    values = [100 * metric[name] for name in ("value", "low", "high")]
    assert values == pytest.approx([share, low, high], abs=0.05)


def test_the_unsafe_accuracy_that_gpt_oss_must_have() -> None:
    """004.unsafe_gptoss: not printed; 2 × 47.05 − 41.11 = 52.99. Our table gives it back."""
    unsafe, benign = (
        rate(5299, 4701, 0, unscored_as="as_wrong"),
        rate(37, 53, 0, unscored_as="as_wrong"),
    )
    metric = from_rates(unsafe, benign, lambda a, b: (a + b) / 2)
    assert 100 * metric["value"] == pytest.approx(47.05, abs=0.0101)


def test_a_full_set_has_1170_samples_and_the_needle_marks_thin_bins() -> None:
    """004.total, 004.harmful; the 64k arms of Table 13 have 12 and 13 samples."""
    row = table.rows([judge(lambda *_: True)])["fine"]["judge"]["metrics"]
    assert (row["coverage"]["n"], row["tpr"]["n"], row["tnr"]["n"]) == (1170, 1080, 90)
    thin = judge(lambda *_: True, per_class=12, classes=("Benign", "DataLeak"), protocol="coarse")
    assert "†" in table.section([thin]).markdown()
