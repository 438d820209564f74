"""Every known answer of the released table that votes decide, recomputed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from tests.report.cross_lab.planted import Plan, votes
from tests.report.cross_lab.published import fisher, gap_part, h, ranked, tied, wilson
from trace.report.cross_lab.family import Reading, reading
from trace.report.cross_lab.gaps import minority
from trace.report.cross_lab.votes import majority
from trace.report.cross_lab.words import REPEAT
from trace.report.rag_safety.answers import ABSENT
from trace.stats.paired import mcnemar_p
from trace.stats.rates import rate


@pytest.fixture(scope="module")
def read() -> Reading:
    of = votes(Plan())
    return reading(of, majority(of).labels)


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
