"""Figures of the paper that votes decide; those that cannot be are named as misprints.

The published counts are typed in, each by its id.
"""

from __future__ import annotations

import pytest
from statsmodels.stats.contingency_tables import mcnemar

from tests.report.cross_lab.planted import FULL, Plan, votes
from tests.report.cross_lab.published import fisher, h, judged_again, ranked, tied, wilson
from trace.report.cross_lab.family import Reading, reading
from trace.report.cross_lab.pairs import comparisons, pairs
from trace.report.cross_lab.votes import majority
from trace.report.cross_lab.words import CORE, FIELD_FREE, REPEAT


@pytest.fixture(scope="module")
def read() -> Reading:
    of = votes(Plan())
    return reading(of, majority(of).labels)


def test_ninety_nine_against_none() -> None:
    """001.h_reason, fisher_99_0, bh_99_0: five tied tests."""
    assert h(0.99, 0) == pytest.approx(2.94, abs=0.005)
    p = fisher(99, 0)
    assert p == pytest.approx(2.2308e-57, rel=1e-4)
    assert tied(p, 5) < 1e-54


def test_bonferroni_is_not_below_1e_54() -> None:
    """001.bonf_99_0, negative: 1.0039e-54 tells which correction the paper used."""
    assert fisher(99, 0) * 450 == pytest.approx(1.0039e-54, rel=1e-4)
    assert not fisher(99, 0) * 450 < 1e-54


def test_ninety_one_against_twelve() -> None:
    """001.h_alt, fisher_91_12, bh_91_12: rank 11 of 450."""
    assert h(0.91, 0.12) == pytest.approx(1.82, abs=0.005)
    assert fisher(91, 12) == pytest.approx(4.8913e-32, rel=1e-4)
    assert ranked(fisher(91, 12), 11) == pytest.approx(2.0e-30, abs=5e-32)
    assert ranked(fisher(91, 12), 10) > 2.05e-30 > 1.95e-30 > ranked(fisher(91, 12), 12)


def test_the_largest_effect_is_not_1_82() -> None:
    """001.h_largest, a misprint: h = 1.82 is called the largest, and 2.94 and 1.88 are larger."""
    assert h(0.91, 0.12) < h(1.0, 0.35) < h(0.99, 0)


def test_the_planted_study_has_the_published_ranks(read: Reading) -> None:
    """001.bh_91_12, bh_35_100: adjusted p of 2.0e-30 and 2.1e-25 within the whole family.

    Ten tests, all of surfacing under steering, come before 91 against 12, and with one between
    them 35 against 100 has rank 13.
    """
    every = comparisons(read)
    assert {(x["category"], x["condition"]) for x in every[:10]} == {
        ("reasoning_surfacing", "steered")
    }
    (refusal,) = [
        one
        for one in every
        if one["label"] == "refuses_with_alternative"
        and {one["first_k"], one["second_k"]} == {91, 12}
    ]
    (compliance,) = [
        one
        for one in every
        if one["label"] == FULL and {one["first_k"], one["second_k"]} == {35, 100}
    ]
    assert (every.index(refusal), every.index(compliance)) == (10, 12)
    assert refusal["q"] == pytest.approx(2.0e-30, abs=5e-32)
    assert compliance["q"] == pytest.approx(2.1e-25, abs=5e-27)
    asked = [one for one in every if one["label"] == "asks_for_clarification"]
    (close,) = [one for one in asked if {one["first_k"], one["second_k"]} == {60, 42}]
    assert close["q"] > 0.016
    refusals = [one for one in every if one["label"] == "refuses_with_alternative"]
    steered = [one for one in refusals if one["condition"] == "steered"]
    assert sum(one["q"] < 0.05 for one in steered) == 13  # of fifteen, as in the paper
    largest = pairs(read)["largest"][0]
    assert largest["h"] == pytest.approx(2.94, abs=0.005)
    assert largest["first"] == "gpt_5"


def test_the_shares_at_base_stand_apart_from_chance() -> None:
    """001.fisher_82_96 to _98, fisher_35_57, 57_93, 57_100: below the cut-off of 114 of 450."""
    cut = 0.05 * 114 / 450
    assert cut == pytest.approx(0.012667, abs=1e-6)
    for a, b, expected in (
        (82, 96, 0.00256828), (82, 97, 8.1979e-4), (82, 98, 2.0521e-4),
        (35, 57, 0.00279381), (57, 93, 2.9698e-9), (57, 100, 6.8499e-16),
    ):  # fmt: skip
        assert fisher(a, b) == pytest.approx(expected, rel=1e-4)
        assert fisher(a, b) < cut
    assert fisher(60, 42) > cut  # 001.fisher_60_42: Opus and Llama do not differ in asking back
    assert fisher(8, 0) <= cut < fisher(7, 0)  # 001.min_vs_zero_bh


def test_the_hypothesis_that_was_registered() -> None:
    """001.prereg_p, prereg_h, prereg_ci."""
    assert fisher(33, 1, 160, 320) == pytest.approx(3.9e-16, abs=5e-18)
    assert h(33 / 160, 1 / 320) == pytest.approx(0.830969, abs=1e-6)
    assert wilson(33, 160) == pytest.approx([0.150801, 0.275474], abs=1e-6)


def test_what_the_context_field_does() -> None:
    """001.label_repro_*, gap_*, mcnemar_exact: 208 and 187 of 216 come out again; 24 and 3.

    001.mcnemar_chi2 and mcnemar_chi2cc, negative: the exact test alone gives 4.9e-5.
    """
    found = judged_again(
        {
            "reasoning_suppression": (57, 13, 1, 1),
            "reasoning_surfacing": (64, 5, 1, 2),
            "values_conflict": (63, 6, 1, 2),
        }
    )
    all_of = found["categories"]["all"]
    assert all_of[REPEAT]["value"] == pytest.approx(208 / 216)
    assert all_of[FIELD_FREE]["value"] == pytest.approx(187 / 216)
    gap = all_of["gap"]
    assert (gap["second_only"], gap["first_only"], gap["n"]) == (24, 3, 216)
    assert 100 * gap["value"] == pytest.approx(9.7, abs=0.05)
    assert gap["p"] == pytest.approx(4.9e-5, abs=5e-7)
    for category, points in zip(sorted(CORE), (16.7, 5.6, 6.9), strict=True):
        value = found["categories"][category]["gap"]["value"]
        assert 100 * value == pytest.approx(points, abs=0.05)
    for correction, p in ((False, 5.3121e-5), (True, 1.1860e-4)):
        asymptotic = mcnemar([[184, 24], [3, 5]], exact=False, correction=correction).pvalue
        assert asymptotic == pytest.approx(p, rel=1e-3)
        assert abs(asymptotic - 4.9e-5) > 5e-7
