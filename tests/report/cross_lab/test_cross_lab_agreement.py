"""Kappa, self-preference and judges left out, with judges whose errors are planted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from tests.report.cross_lab.planted import (
    FULL,
    HOW,
    MODELS,
    RUBRICS,
    Plan,
    judgements,
    truth,
    votes,
)
from trace.report.cross_lab import jury
from trace.report.cross_lab.agreement import agreement, ballots, kappa
from trace.report.cross_lab.claims import found_claims
from trace.report.cross_lab.family import reading
from trace.report.cross_lab.self_preference import self_preference
from trace.report.cross_lab.votes import MIN_VALID, Votes, majority
from trace.report.cross_lab.words import CONDITIONS, CORE, SPLITS

NOISY = Plan(accuracy=0.85)
Part = tuple[str | None, str | None]
"""A condition and a split, or either."""


def peers(of: Votes, category: str, part: Part = (None, None)) -> list[list[str]]:
    """Each answer's five votes of peers, without gaps."""
    rows, _ = ballots(of, category, condition=part[0], split=part[1])
    return [[vote for vote in row if vote is not None] for row in rows]


def test_kappa_is_statsmodels_of_the_five_peers() -> None:
    of = votes(NOISY)
    found = agreement(of, HOW)
    groups: dict[str, Part] = {"all": (None, None)}
    groups |= {condition: (condition, None) for condition in CONDITIONS}
    groups |= {split: (None, split) for split in SPLITS}
    weights = []
    for category in RUBRICS:
        for group, part in groups.items():
            rows = peers(of, category, part)
            if not rows:
                assert category not in CORE
                assert group == "development"
                assert kappa(found, category, group) is None
                continue
            expected = fleiss_kappa(aggregate_raters(np.array(rows))[0])
            assert kappa(found, category, group) == pytest.approx(expected, abs=1e-9)
            if group == "all":
                weights.append((expected, len(rows)))
    assert len(peers(of, "values_conflict", (None, "held_out"))) == 80 * 2 * 6
    assert len(peers(of, "values_conflict", ("base", None))[0]) == 5
    mean = sum(value * n for value, n in weights) / sum(n for _, n in weights)
    assert found["overall"]["value"] == pytest.approx(mean, abs=1e-9)
    assert found["overall"]["n"] == 4080
    assert found["with_own"]["value"] != found["overall"]["value"]


def test_own_votes_are_no_part_of_kappa() -> None:
    loving = agreement(votes(Plan(accuracy=0.85, self_love=dict.fromkeys(MODELS, 1.0))), HOW)
    plain = agreement(votes(NOISY), HOW)
    assert kappa(loving, "values_conflict") == kappa(plain, "values_conflict")
    assert loving["with_own"]["value"] < plain["with_own"]["value"]


def test_self_preference_is_what_was_planted() -> None:
    """Opus calls every answer of its own full compliance; nobody else errs."""
    found = self_preference(votes(Plan(self_love={"opus": 1.0})), MIN_VALID, HOW)
    planted = [
        label == FULL
        for (category, _, model), labels in truth(Plan()).items()
        if model == "opus" and category in CORE
        for label in labels
    ]
    share = float(np.mean(planted))
    opus = found["opus"]
    assert opus["own"]["value"] == pytest.approx(1 - share)
    assert opus["others"]["value"] == 0
    assert opus["excess"]["value"] == pytest.approx(1 - share)
    assert opus["excess"]["low"] > 0
    assert opus["own_agreement"]["value"] == pytest.approx(share)
    assert opus["peer_agreement"]["value"] == 1
    assert opus["agreement_gap"]["value"] == pytest.approx(share - 1)
    assert opus["own"]["n"] == 600
    for model in set(MODELS) - {"opus"}:
        assert {metric["value"] for metric in found[model].values()} == {0.0, 1.0}


def test_a_lenient_judge_does_not_prefer_itself() -> None:
    """It calls everything full compliance, its own answers and others': no excess."""
    of = votes(Plan())
    lenient = of.judges.index("grok")
    of.votes[..., lenient] = np.where(of.votes[..., lenient] >= 0, 0, of.votes[..., lenient])
    grok = self_preference(of, MIN_VALID, HOW)["grok"]
    assert grok["own"]["value"] > 0.3
    assert grok["others"]["value"] > 0.3
    assert abs(grok["excess"]["value"]) < 0.15


def test_self_preference_needs_the_label_and_judges_that_answer() -> None:
    of = votes(Plan())
    renamed = replace(of, rubrics={name: ("x", *rest) for name, (_, *rest) in RUBRICS.items()})
    assert "full_compliance" in self_preference(renamed, MIN_VALID, HOW)["reason"]
    strangers = replace(of, judges=tuple(f"judge {i}" for i in range(6)))
    assert self_preference(strangers, MIN_VALID, HOW) == {"reason": "no respondent is a judge"}


def test_without_each_judge_every_headline_rate_is_counted_anew() -> None:
    of = votes(Plan(accuracy=0.8))
    read = reading(of, majority(of).labels)
    without = jury.readings(of, MIN_VALID)
    rates = jury.headline_rates(found_claims(read), read, without)
    assert {tuple(one["without"]) for one in rates} == {MODELS}
    assert len({one["model"] for one in rates}) == 6
    for one in rates[:12]:
        wanted = of.of(one["category"])
        c, m = CONDITIONS.index(one["condition"]), MODELS.index(one["model"])
        code = RUBRICS[one["category"]].index(one["labels"][0])
        for judge, value in one["without"].items():
            codes = majority(of, without=[judge]).labels[wanted, c, m]
            assert value == pytest.approx((codes == code).sum() / (codes >= 0).sum())
        shifts = [value - one["value"] for value in one["without"].values()]
        assert one["shift"] == pytest.approx(max(shifts, key=abs))
    section = jury.section(read, without, found_claims(read))
    assert set(section.result["judges"]) == set(MODELS)
    assert len(section.grids) == 2


def test_with_three_votes_needed_and_three_peers_no_judge_can_go() -> None:
    of = votes(Plan())
    read = reading(of, majority(of, min_valid=5).labels)
    own_only = jury.readings(of, 5)  # a judge left out takes nothing from its own answers
    assert all((one.n.sum(axis=(0, 1)) > 0).sum() == 1 for one in own_only.values())
    assert jury.section(read, {}, []).reason == "without one judge no answer has enough votes"


def test_agreement_with_peers_is_over_all_core_categories() -> None:
    """The bundled rubric of reasoning surfacing has no full compliance, as there is none."""
    of = votes(Plan(accuracy=0.8))
    name = "reasoning_surfacing"
    rubrics = {**RUBRICS, name: ("values_only", *RUBRICS[name][1:])}
    plain, lacking = (
        self_preference(one, MIN_VALID, HOW)["opus"] for one in (of, replace(of, rubrics=rubrics))
    )
    assert lacking["own_agreement"] == plain["own_agreement"]
    assert lacking["agreement_gap"] == plain["agreement_gap"]
    assert lacking["own"]["n"] < plain["own"]["n"] <= 600


def test_self_preference_is_that_of_a_plain_loop() -> None:
    """Vote by vote: the judge never is among those it is compared with."""
    plan = Plan(accuracy=0.6, silent=0.1, self_love={"grok": 0.3})
    lines = [one for one in judgements(plan) if one.measure in CORE]
    answers: dict[tuple[str, str, str], dict[str, str | None]] = {}
    for one in lines:
        answers.setdefault((one.item, one.condition, one.respondent), {})[one.judge] = one.label

    def decided(said: dict[str, str | None], respondent: str, without: str) -> str | None:
        valid = [v for j, v in said.items() if j not in (respondent, without) and v is not None]
        ranked = Counter(valid).most_common(2)
        tie = len(ranked) > 1 and ranked[0][1] == ranked[1][1]
        return None if len(valid) < MIN_VALID or tie else ranked[0][0]

    own, others, agrees, peers = [], [], [], []
    for (_, _, respondent), said in answers.items():
        against = decided(said, respondent, "grok")
        mine = said["grok"]
        if against is not None and mine is not None:
            gap = (mine == FULL) - (against == FULL)
            (own if respondent == "grok" else others).append(gap)
            if respondent == "grok":
                agrees.append(mine == against)
        for judge in set(MODELS) - {respondent}:
            rest, vote = decided(said, respondent, judge), said[judge]
            if respondent == "grok" and rest is not None and vote is not None:
                peers.append(vote == rest)
    found = self_preference(votes(plan), MIN_VALID, HOW)["grok"]
    for name, values in (("own", own), ("others", others), ("own_agreement", agrees),
                         ("peer_agreement", peers)):  # fmt: skip
        assert found[name]["n"] == len(values), name
        assert found[name]["value"] == pytest.approx(np.mean(values)), name
    assert found["own"]["n"] + found["own"]["n_unscored"] == 600
    assert found["excess"]["value"] == pytest.approx(np.mean(own) - np.mean(others))
    assert found["agreement_gap"]["value"] == pytest.approx(np.mean(agrees) - np.mean(peers))
