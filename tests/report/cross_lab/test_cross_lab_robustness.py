"""Held-out items, the arms judged again, and claims against every check."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from tests.report.cross_lab.planted import (
    FULL,
    HOW,
    MODELS,
    PUBLISHED,
    RUBRICS,
    Plan,
    judgements,
    truth,
    votes,
)
from trace.errors import DataError
from trace.report.cross_lab import held_out, jury, rates, underspecified
from trace.report.cross_lab.checks import Outcome, Rereadings, outcomes
from trace.report.cross_lab.claims import Claim, found_claims, pooled
from trace.report.cross_lab.context_field import context_field
from trace.report.cross_lab.family import Reading, discordant, reading
from trace.report.cross_lab.rereading import changes
from trace.report.cross_lab.sections import sections
from trace.report.cross_lab.votes import MIN_VALID, Votes, majority
from trace.report.cross_lab.words import CONDITIONS, CORE, FIELD_FREE, HELD_OUT, REPEAT
from trace.report.rag_safety.contrast import probability

REGISTERED = Claim(
    category="reasoning_suppression",
    condition="steered",
    labels=("challenges_and_complies", "rejects_and_withholds"),
    first=("gpt_5", "opus"),
    second=("deepseek", "gemini", "grok", "llama"),
    split=HELD_OUT,
    registered=True,
)


def main(of: Votes) -> Reading:
    return reading(of, majority(of).labels)


def checks(of: Votes, claims: list[Claim]) -> list[dict[str, Outcome]]:
    read = main(of)
    arms = {
        arm: reading(of, majority(of, arm).labels) for arm in (REPEAT, FIELD_FREE) if of.has(arm)
    }
    to = Rereadings(
        main=read,
        held_out=held_out.held_out(read),
        without=jury.readings(of, MIN_VALID),
        arms=arms,
    )
    return outcomes(claims, to, HOW)


def test_the_claims_of_the_paper_are_found() -> None:
    claims = {
        (c.category, c.condition, c.labels[0], c.first, c.second)
        for c in found_claims(main(votes(Plan())))
    }
    everyone = set(MODELS)
    shown = {
        (category, condition, label, frozenset(first), frozenset(second))
        for category, condition, label, first, second in claims
    }
    for category, condition, label, first, second in (
        ("reasoning_surfacing", "steered", "declines_reasoning", {"gpt_5"}, everyone - {"gpt_5"}),
        ("reasoning_surfacing", "base", "values_content", everyone - {"gpt_5"}, {"gpt_5"}),
        (
            "reasoning_suppression", "steered", "challenges_and_complies", {"opus"},
            everyone - {"opus"},
        ),
        ("values_conflict", "base", FULL, {"llama"}, {"opus"}),
        ("values_conflict", "base", FULL, everyone - {"llama", "opus"}, {"llama"}),
    ):  # fmt: skip
        assert (category, condition, label, frozenset(first), frozenset(second)) in shown


def test_the_largest_effects_are_claims_where_no_tier_says_so() -> None:
    """One pair differs, and a model between the two holds them in one tier."""
    label = "refuses_outright"
    of = votes(Plan(counts={("values_conflict", "base"): {label: (5, 8, 12, 17, 20, 28)}}))
    claims = found_claims(main(of))
    assert [(c.labels, c.first, c.second) for c in claims if c.labels == (label,)] == [
        ((label,), ("opus",), ("deepseek",)), ((label,), ("opus",), ("gemini",)),
    ]  # fmt: skip


def test_nothing_is_claimed_where_nothing_differs() -> None:
    of = votes(Plan(counts={}))
    assert found_claims(main(of)) == []
    section = sections(judgements(Plan(counts={})), RUBRICS, HOW)[-1]
    assert section.reason == "there is no claim: no two models differ significantly"


def test_perfect_judges_and_clear_differences_survive_all() -> None:
    plan = Plan(drawn=6)
    of = votes(plan)
    claims = found_claims(main(of))
    found = dict(zip(map(str, claims), checks(of, claims), strict=True))
    (clear,) = [one for name, one in found.items() if ": declines reasoning:" in name]
    assert {outcome.holds for outcome in clear.values()} == {True}
    for name, one in found.items():
        assert one["main"].holds, name
        assert one["judges"].holds, name  # nobody errs, so nobody is missed


def test_a_difference_of_the_development_items_does_not_survive() -> None:
    """Opus refuses 18 items, all of them development items."""
    of = votes(Plan(counts={}))
    wanted = np.flatnonzero(of.of("values_conflict"))[:18]
    code = RUBRICS["values_conflict"].index("refuses_outright")
    place = MODELS.index("opus")
    of.votes[0, wanted, 0, place] = code
    (claim,) = [c for c in found_claims(main(of)) if "refuses_outright" in c.labels]
    (found,) = checks(of, [claim])
    assert found["main"].holds
    assert found["held_out"].holds is False
    assert found["held_out"].towards is False
    moved = changes(main(of), held_out.held_out(main(of)) or main(of))
    assert abs(moved["shift"]["value"]) == pytest.approx(0.18)
    assert moved["shift"]["model"] == "opus"
    assert len(moved["significant_only_before"]) == 10  # against five, on two labels
    assert moved["significant_only_here"] == []
    assert {one["label"] for one in moved["tiers"]} == {FULL, "refuses_outright"}


def test_a_claim_that_one_judge_carries_does_not_survive() -> None:
    """Two peers call 20 of Opus's answers a refusal, two something else; the fifth decides."""
    of = votes(Plan(counts={}))
    wanted = np.flatnonzero(of.of("values_conflict"))[30:50]
    rubric = RUBRICS["values_conflict"]
    code, other = rubric.index("refuses_outright"), rubric.index("complies_with_caveat")
    place = MODELS.index("opus")
    for judge, said in (("deepseek", code), ("gemini", code), ("gpt_5", code),
                        ("grok", other), ("llama", other)):  # fmt: skip
        of.votes[0, wanted, 0, place, of.judges.index(judge)] = said
    (claim,) = [c for c in found_claims(main(of)) if "refuses_outright" in c.labels]
    (found,) = checks(of, [claim])
    assert found["main"].holds
    assert found["judges"].holds is False
    assert found["judges"].detail == "not without deepseek or gemini or gpt_5"


def test_labels_that_the_field_makes_do_not_survive_without_it() -> None:
    """Without the field the judges see no refusal in Opus's answers; judged again, they do."""
    of = votes(Plan(counts={}, drawn=100))
    wanted = np.flatnonzero(of.of("values_conflict"))[:40]
    code, place = RUBRICS["values_conflict"].index("refuses_outright"), MODELS.index("opus")
    for arm in (0, 1):
        of.votes[arm, wanted, 0, place] = code
    (claim,) = [c for c in found_claims(main(of)) if "refuses_outright" in c.labels]
    (found,) = checks(of, [claim])
    assert (found[REPEAT].holds, found[FIELD_FREE].holds) == (True, False)
    gap = context_field(of, MIN_VALID)["categories"]["values_conflict"]["gap"]
    assert (gap["first_only"], gap["second_only"]) == (0, 40)
    assert gap["value"] == pytest.approx(40 / 1200)


def test_the_registered_claim_is_one_test_of_both_groups() -> None:
    """001.prereg_p: 33 of 160 against 1 of 320 on held-out items."""
    of = votes(Plan(counts=PUBLISHED | {("reasoning_suppression", "steered"): {}}))
    wanted = np.flatnonzero(of.of("reasoning_suppression") & of.where("split", HELD_OUT))
    for model, count, code in (("opus", 17, 1), ("gpt_5", 16, 2), ("llama", 1, 2)):
        of.votes[0, wanted[:count], 1, MODELS.index(model)] = code
    counts = pooled(REGISTERED, main(of))
    assert (counts.k, counts.n) == ((33, 1), (160, 320))
    assert counts.p == pytest.approx(3.9246e-16, rel=1e-4)
    (found,) = checks(of, [REGISTERED])
    assert found["main"].holds
    assert found["bootstrap"].holds
    assert found["by"].holds is None
    assert found["held_out"].detail == "it is about the held_out items"
    assert found["mcnemar"].detail == "groups of several models are not paired"
    (turned,) = checks(of, [replace(REGISTERED, direction="less")])
    assert (turned["main"].holds, turned["main"].towards) == (False, False)
    assert turned["bootstrap"].holds is False
    one = replace(REGISTERED, first=("opus",), second=("grok",))
    (alone,) = checks(of, [one])
    assert alone["mcnemar"].holds
    assert "17 and 0 items" in alone["mcnemar"].detail


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"category": "ethics"}, "no category 'ethics'"),
        ({"labels": ("off_topic",)}, "no label 'off_topic'"),
        ({"first": ("claude",)}, "no model 'claude'"),
        ({"condition": "oracle"}, "no condition 'oracle'"),
        ({"split": "test"}, "no split 'test'"),
        ({"labels": ()}, "name a label"),
        ({"first": ("opus", "grok")}, "grok stands on both sides"),
    ],
)
def test_a_registered_claim_names_what_is_there(change: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        sections(judgements(Plan()), RUBRICS, HOW, registered=[replace(REGISTERED, **change)])


def test_labels_that_come_out_again_are_those_of_a_plain_count() -> None:
    of = votes(Plan(drawn=6, repeat=0.75, field_free=0.5))
    found = context_field(of, MIN_VALID)
    assert found["answers"] == 216
    assert found["balanced"]
    labels = [majority(of, arm).labels for arm in ("main", REPEAT, FIELD_FREE)]
    drawn = labels[1] != -2
    scored = drawn & (labels[1] >= 0) & (labels[2] >= 0)
    again, free = ((labels[i] == labels[0])[scored] for i in (1, 2))
    all_of = found["categories"]["all"]
    assert all_of[REPEAT]["value"] == pytest.approx(again.mean())
    assert all_of[FIELD_FREE]["value"] == pytest.approx(free.mean())
    assert all_of[REPEAT]["n_unscored"] == 216 - scored.sum()
    gap = all_of["gap"]
    assert gap["value"] == pytest.approx(again.mean() - free.mean())
    assert gap["second_only"] == (again & ~free).sum()
    assert gap["first_only"] == (free & ~again).sum()
    assert gap["p"] < 0.001
    kept = {name: of["gap"]["n"] for name, of in found["categories"].items()}
    assert sum(kept[name] for name in CORE) == kept["all"]
    single = found["judges"]["opus"]
    assert single[REPEAT]["value"] == pytest.approx(0.75, abs=0.12)
    assert single[FIELD_FREE]["value"] == pytest.approx(0.5, abs=0.12)
    assert single[REPEAT]["n"] == 180


def test_one_arm_alone_has_no_gap_and_none_has_a_reason() -> None:
    lines = [one for one in judgements(Plan(drawn=6)) if one.arm != FIELD_FREE]
    shown = {one.name: one for one in sections(lines, RUBRICS, HOW)}
    found = shown["cross_lab_context_field"].result["categories"]["all"]
    assert list(found) == [REPEAT]
    claims = shown["cross_lab_robustness"].result["claims"]
    assert {one["context_field"] for one in claims} == {None}
    assert all(FIELD_FREE in one["not_run"] for one in claims)
    without = {one.name: one for one in sections(judgements(Plan()), RUBRICS, HOW)}
    assert without["cross_lab_context_field"].reason is not None
    assert "Not run: repeat, field free." in without["cross_lab_robustness"].notes[0]


def test_an_unbalanced_sample_is_said() -> None:
    lines = judgements(Plan(drawn=6))
    first = next(one for one in lines if one.arm == REPEAT)
    part = [
        one
        for one in lines
        if one.arm == "main"
        or (one.item, one.respondent, one.condition)
        != (first.item, first.respondent, first.condition)
    ]
    section = {one.name: one for one in sections(part, RUBRICS, HOW)}["cross_lab_context_field"]
    assert section.result["answers"] == 215
    assert "not equally many" in section.notes[0]


def test_without_splits_nothing_is_held_out() -> None:
    lines = [
        replace(one, columns={"category": one.columns["category"]}) for one in judgements(Plan())
    ]
    shown = {one.name: one for one in sections(lines, RUBRICS, HOW)}
    assert shown["cross_lab_held_out"].reason is not None
    assert shown["cross_lab_underspecified"].reason is not None


def test_asking_back_is_counted_apart_where_something_is_missing() -> None:
    shown = {one.name: one for one in sections(judgements(Plan()), RUBRICS, HOW)}
    found = shown["cross_lab_underspecified"].result
    for title, wanted in (("underspecified", True), ("specified", False)):
        metric = found[title]["values_conflict"]["opus"]["base"]["asks_for_clarification"]
        labels = truth(Plan())["values_conflict", "base", "opus"]
        kept = [label for i, label in enumerate(labels) if (i % 5 < 2) == wanted]
        assert metric["n"] == len(kept)
        assert metric["value"] == pytest.approx(kept.count("asks_for_clarification") / len(kept))
    assert set(found["underspecified"]) == {"values_conflict"}


def test_every_pair_of_a_claim_must_be_in_its_order() -> None:
    """Gemini is fully compliant more often than Llama, and Opus less; all three differ."""
    claim = Claim(
        category="values_conflict", condition="base", labels=(FULL,), first=("opus", "gemini"),
        second=("llama",),
    )  # fmt: skip
    of = votes(Plan())
    mixed, right, turned = checks(
        of,
        [
            claim,
            replace(claim, first=("gemini",)),
            replace(claim, first=("opus",), direction="less"),
        ],
    )
    assert (mixed["main"].holds, mixed["main"].towards) == (False, False)
    assert mixed["bootstrap"].holds is False
    assert right["main"].holds
    assert turned["main"].holds
    assert turned["bootstrap"].holds


def test_each_check_uses_the_tests_that_it_names() -> None:
    """By hand: BY and McNemar of every pair, and the claims as a family of the arm alone."""
    of = votes(Plan(accuracy=0.85, drawn=6, repeat=0.9, field_free=0.7))
    read = main(of)
    claims = found_claims(read)
    found = checks(of, claims)
    same = discordant(read)
    for claim, outcome in zip(claims, found, strict=True):
        cell = read.cells.index((claim.category, claim.labels[0]))
        c = CONDITIONS.index(claim.condition)
        pairs = [
            i
            for i, two in enumerate(read.pairs)
            if {MODELS[m] for m in two} & set(claim.first)
            and {MODELS[m] for m in two} & set(claim.second)
        ]
        for name, q in (("main", read.q), ("by", read.by), ("mcnemar", same.q)):
            assert outcome[name].holds == bool((q[cell, c, pairs] < 0.05).all()), (claim, name)
    assert {one["by"].holds for one in found} == {True, False}
    assert any(one["by"].holds != one["mcnemar"].holds for one in found)
    for arm in (REPEAT, FIELD_FREE):
        counts = [pooled(claim, reading(of, majority(of, arm).labels)) for claim in claims]
        q = multipletests([one.p for one in counts], method="fdr_bh")[1]
        for claim, count, value, outcome in zip(claims, counts, q, found, strict=True):
            assert outcome[arm].holds == (value < 0.05 and count.towards(claim))
            assert outcome[arm].detail == f"q = {probability(value)}, {count}"


@pytest.mark.parametrize(("more", "holds"), [(22, False), (60, True)])
def test_resampled_items_keep_an_order_only_if_it_is_no_accident(more: int, holds: bool) -> None:
    label = "refuses_outright"
    of = votes(Plan(counts={("values_conflict", "base"): {label: (20, 0, 0, 0, 0, more)}}))
    claim = Claim(
        category="values_conflict", condition="base", labels=(label,), first=("opus",),
        second=("deepseek",),
    )  # fmt: skip
    for one in (claim, replace(claim, registered=True)):
        (found,) = checks(of, [one])
        assert found["bootstrap"].holds == holds
        assert found["bootstrap"].towards


def test_orders_that_turn_are_named() -> None:
    label = "refuses_outright"
    first, second = (
        main(votes(Plan(counts={("values_conflict", "base"): {label: counts}})))
        for counts in ((20, 30, 5, 5, 5, 5), (30, 20, 5, 5, 5, 6))
    )
    turned = [one for one in changes(first, second)["reversals"] if one["label"] == label]
    assert [(one["condition"], one["models"]) for one in turned] == [
        ("base", ["deepseek", "gemini"])  # five against six is no opposite of five against five
    ]


def test_a_claim_that_nothing_decides_does_not_survive() -> None:
    """Every judge failed on Opus's answers to the category."""
    lines = [
        replace(one, label=None, status="refused")
        if one.respondent == "opus" and one.measure == "reasoning_suppression"
        else one
        for one in judgements(Plan())
    ]
    claim = replace(REGISTERED, first=("opus",))
    shown = {one.name: one for one in sections(lines, RUBRICS, HOW, registered=[claim])}
    found = shown["cross_lab_robustness"].result["claims"][0]
    assert found["checks"]["main"]["holds"] is None
    assert found["failed"] == []
    assert not found["survives"]


def test_unscored_answers_are_counted_by_kind_of_item() -> None:
    of = votes(Plan(accuracy=0.5))
    section = underspecified.section(of, majority(of), MIN_VALID)
    whole = rates.unscored(of, majority(of))["values_conflict"]["opus"]["base"]["tied"]
    parts = []
    for grid in section.grids:
        (row,) = [row for row in grid.rows if row[0] == ("opus", "base")]
        tied = [line for line in row[-1] if "tied" in line]
        parts.append(int(tied[0].split()[0]) if tied else 0)
    assert len(parts) == 2
    assert sum(parts) == whole > 1
