"""Figures of the paper that votes decide; those that cannot be are named as misprints.

The published counts are typed in, each by its id; where the released table of known answers lies
beside the checkout, every entry of it is recomputed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from tests.report.cross_lab.planted import FULL, Plan, votes
from trace.report.cross_lab.context_field import context_field
from trace.report.cross_lab.family import Reading, adjusted, reading
from trace.report.cross_lab.gaps import decomposed, minority
from trace.report.cross_lab.pairs import comparisons, pairs
from trace.report.cross_lab.votes import MIN_VALID, majority
from trace.report.cross_lab.words import CORE, FIELD_FREE, REPEAT
from trace.report.rag_safety.answers import ABSENT
from trace.stats.paired import mcnemar_p
from trace.stats.rates import rate
from trace.stats.unpaired import cohens_h, fisher_p


@pytest.fixture(scope="module")
def read() -> Reading:
    of = votes(Plan())
    return reading(of, majority(of).labels)


def fisher(a: int, b: int, n1: int = 100, n2: int = 100) -> float:
    return float(fisher_p(a, n1, b, n2))


def h(p1: float, p2: float) -> float:
    return abs(float(cohens_h(p1, p2)))


def wilson(k: int, n: int) -> list[float | None]:
    found = rate(k, n - k, 0, unscored_as="exclude")
    return [found.low, found.high]


def ranked(p: float, rank: int) -> float:
    """The adjusted value of a p at a rank of 450, behind smaller and before larger ones."""
    q = adjusted(np.array([p * 1e-9] * (rank - 1) + [p] + [1.0] * (450 - rank)))
    return float(q[rank - 1])


def tied(p: float, times: int) -> float:
    return float(adjusted(np.array([p] * times + [1.0] * (450 - times)))[0])


def gap_part(full: int, asked: int) -> float:
    counts = {FULL: full, "asks": asked, "else": 100 - full - asked}
    part: float = decomposed(counts)["parts"]["asks"]
    return part


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


def judged_again(counts: dict[str, tuple[int, int, int, int]]) -> dict[str, Any]:
    """The arms, so that of each category so many labels come out in both, in one, in neither."""
    of = votes(Plan(drawn=6))
    labels = majority(of, REPEAT).labels
    for category, (_, with_only, without_only, neither) in counts.items():
        at = np.argwhere((labels != ABSENT) & of.of(category)[:, None, None])
        lost = {1: [*range(without_only + neither)], 2: [*range(without_only)]}
        lost[2] = [*range(without_only, without_only + neither + with_only)]
        for arm, places in lost.items():
            for i, c, m in at[places]:
                said = of.votes[arm, i, c, m]
                of.votes[arm, i, c, m] = (said + 1) % 5
    return context_field(of, MIN_VALID)


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


NOT_OF_VOTES = {
    "001.zero_cost_three_models": "undetermined: the three models are not named",
    "001.probe_position": "a wording, inconsistent: before the model commits, at the last token",
    "001.perm_floor": "probe", "001.perm_layers": "probe", "001.perm_bonf20": "probe",
    "001.perm_minB": "probe", "001.bacc_peak": "probe", "001.bacc_unique": "probe",
    "001.margin14": "probe", "001.bacc_se": "probe",
}  # fmt: skip
"""Entries that no vote decides, and why."""


def recomputed(read: Reading) -> dict[str, Callable[[], Any]]:
    """Entry -> our own value of it."""
    of = read.votes
    again = votes(Plan(drawn=6))
    held = of.where("split", "held_out") & of.of("values_conflict")
    other = ((5, 0), (4, 0), (12, 0))

    def per(arm: str) -> int:
        return int((majority(again, arm).labels != ABSENT).sum())

    return {
        "pairs": lambda: len(read.pairs),
        "tests": lambda: read.p.size,
        "items": lambda: len(of.items),
        "responses_per_label": lambda: int((read.labels[of.of("values_conflict"), 0] >= 0).sum()),
        "heldout_items": lambda: int(held.sum()),
        "prereg_n1": lambda: 2 * int(held.sum()),
        "prereg_n2": lambda: 4 * int(held.sum()),
        "responses_total": lambda: int((read.labels >= 0).sum()),
        "peer_judgments": lambda: int(((of.votes[0] >= 0) & ~of.own).sum()),
        "ablation_n": lambda: per(REPEAT),
        "label_repro_with": lambda: rate(208, 8, 0, unscored_as="exclude").value,
        "label_repro_without": lambda: rate(187, 29, 0, unscored_as="exclude").value,
        "label_repro_gap": lambda: 100 * (208 - 187) / 216,
        "gap_reasoning_suppression": lambda: 100 * 12 / 72,
        "gap_other_a": lambda: 100 * 4 / 72,
        "gap_other_b": lambda: 100 * 5 / 72,
        "gap_sum": lambda: sum(k for k, _ in other),
        "mcnemar_exact": lambda: mcnemar_p(24, 3),
        "mcnemar_chi2": lambda: mcnemar(
            [[184, 24], [3, 5]], exact=False, correction=False
        ).pvalue,
        "mcnemar_chi2cc": lambda: mcnemar([[184, 24], [3, 5]], exact=False).pvalue,
        "h_reason": lambda: h(0.99, 0),
        "h_alt": lambda: h(0.91, 0.12),
        "h_largest": lambda: max(h(0.99, 0), h(0.91, 0.12), h(1, 0.35)),
        "h_full_compliance": lambda: h(1, 0.35),
        "h_surface": lambda: [h(0.01, 0.95), h(0.01, 1)],
        "h_prereg": lambda: h(33 / 160, 1 / 320),
        "fisher_99_0": lambda: fisher(99, 0),
        "bh_99_0": lambda: tied(fisher(99, 0), 5),
        "bonf_99_0": lambda: fisher(99, 0) * 450,
        "bh_91_12": lambda: ranked(fisher(91, 12), 11),
        "bh_35_100": lambda: ranked(fisher(35, 100), 13),
        "bh_17_0": lambda: ranked(fisher(17, 0), 52),
        "bh_cut": lambda: 0.05 * 114 / 450,
        "min_vs_zero_bh": lambda: next(k for k in range(101) if fisher(k, 0) <= 0.05 * 114 / 450),
        "prereg_p": lambda: fisher(33, 1, 160, 320),
        "prereg_or": lambda: float(
            stats.contingency.odds_ratio([[33, 127], [1, 319]], kind="sample").statistic
        ),
        "prereg_ci": lambda: wilson(33, 160),
        "wilson_0_100": lambda: wilson(0, 100),
        "wilson_99_100": lambda: wilson(99, 100),
        "opus_partition": lambda: 35 + 60,
        "llama_partition": lambda: 42 + 58,
        "gap_explained_opus": lambda: gap_part(35, 60),
        "gap_explained_llama": lambda: gap_part(57, 42),
        "largest_split": lambda: 100 * max(minority(k, 100) or 0 for k in (42, 57, 60)),
        "steer_min_discordant": lambda: next(k for k in range(51) if mcnemar_p(k, 0) < 0.05),
        "mcnemar_6_0": lambda: mcnemar_p(6, 0),
        "deepseek_57_0": lambda: mcnemar_p(57, 0),
    } | {
        f"fisher_{a}_{b}": (lambda a=a, b=b: fisher(a, b))
        for a, b in (
            (91, 12), (1, 95), (35, 100), (17, 0), (82, 96), (82, 97), (82, 98), (35, 57),
            (57, 93), (57, 100), (60, 42), (42, 5),
        )
    }  # fmt: skip


def test_every_known_answer_that_votes_decide(shared_data: Path, read: Reading) -> None:
    """All entries of the paper in the table; its misprints differ from the paper as it says.

    Misprints and negative tests (`matches` is false): 001.h_largest (1.82 is not the largest
    effect), 001.largest_split (42/58 is not the largest split), 001.bonf_99_0, 001.mcnemar_chi2
    and _chi2cc (other methods than the paper's do not give its numbers).
    """
    path = shared_data.parent / "facts" / "known_answers.json"
    if not path.is_file():
        pytest.skip("the table of known answers is not here")
    entries = [one for one in json.loads(path.read_bytes()) if one["seed"] == "001"]
    ours = recomputed(read)
    named = {one["id"] for one in entries}
    assert named == {f"001.{name}" for name in ours} | set(NOT_OF_VOTES)
    misprints = set()
    for one in entries:
        if one["id"] in NOT_OF_VOTES:
            continue
        value = ours[one["id"].removeprefix("001.")]()
        assert value == pytest.approx(one["computed"], rel=1e-9), one["id"]
        if one["matches"] is False:
            misprints.add(one["id"].removeprefix("001."))
            if one["kind"] != "negative" or one["tolerance"]:
                assert not math.isclose(value, one["expected"], abs_tol=one["tolerance"]), one["id"]
        elif one["matches"] and one["kind"] == "recomputed":
            assert value == pytest.approx(one["expected"], abs=one["tolerance"] or 1e-12), one["id"]
    assert misprints == {
        "h_largest", "largest_split", "bonf_99_0", "mcnemar_chi2", "mcnemar_chi2cc",
    }  # fmt: skip
