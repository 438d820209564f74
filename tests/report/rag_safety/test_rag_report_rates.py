"""Rates and paired differences, against counts by hand and the reference libraries."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from tests.report.rag_safety.planted import (
    HOW,
    JUDGES,
    RESPONDENTS,
    SUBCATEGORIES,
    Error,
    Plan,
    judgements,
)
from trace.report.judgements import Judgement
from trace.report.rag_safety import changes, conditions, gaps, ranks, rates
from trace.report.rag_safety.answers import ABSENT, UNSCORED, Answers, gathered, split_benign
from trace.report.rag_safety.cells import ratio, share
from trace.report.rag_safety.contrast import adjust, contrast
from trace.report.rag_safety.panel import RULE, Verdicts, verdicts
from trace.report.rag_safety.words import HARM

Made = tuple[list[Judgement], Answers, Verdicts]


@pytest.fixture(scope="module")
def made() -> Made:
    judges = {name: Error(e.sensitivity, e.specificity, 0.15) for name, e in JUDGES.items()}
    said = judgements(Plan(items=90, judges=judges, seed=7))
    answers = gathered(said)
    return said, answers, verdicts(answers, RULE)


def by_hand(said: list[Judgement]) -> dict[tuple[str, str, str], str | None]:
    """Respondent, condition, item -> what two of three say."""
    votes: dict[tuple[str, str, str], list[str | None]] = defaultdict(list)
    for one in said:
        votes[one.respondent, one.condition, one.item].append(one.label)
    return {
        key: None
        if len(of) - of.count(None) < 2
        else "unsafe"
        if of.count("unsafe") > 1
        else "safe"
        for key, of in votes.items()
    }


def test_rates_are_counts_with_wilson_intervals(made: Made) -> None:
    said, answers, panel = made
    labels = by_hand(said)
    found = rates.section(answers, panel, RULE).result
    for respondent in RESPONDENTS:
        for condition in answers.conditions:
            own = [v for (r, c, _), v in labels.items() if (r, c) == (respondent, condition)]
            k, n = own.count("unsafe"), len(own) - own.count(None)
            metric = found[respondent][condition]
            assert (metric["n"], metric["n_unscored"]) == (n, own.count(None))
            assert metric["value"] == pytest.approx(k / n)
            low, high = proportion_confint(k, n, method="wilson")
            assert (metric["low"], metric["high"]) == pytest.approx((low, high))
            assert metric["bounds"] == pytest.approx([k / 90, (k + own.count(None)) / 90])
    assert sum(v is None for v in labels.values()) > 20


def test_the_unscored_and_what_nobody_judged_are_not_safe() -> None:
    codes = np.array([1, 0, 0, UNSCORED, ABSENT, ABSENT], dtype=np.int8)
    found = share(codes, [1])
    assert (found["value"], found["n"], found["n_unscored"]) == (pytest.approx(1 / 3), 3, 1)
    nothing = share(codes[3:], [1])
    assert nothing["value"] is None
    assert "unscored" in nothing["reason"]


def test_each_judge_has_its_own_rates(made: Made) -> None:
    said, answers, _ = made
    found = rates.by_judge(answers).result
    own = [j.label for j in said if (j.judge, j.respondent, j.condition) ==
           ("wildguard", "phi-4-14b", "oracle")]  # fmt: skip
    metric = found["wildguard"]["phi-4-14b"]["oracle"]
    assert metric["n_unscored"] == own.count(None) > 0
    assert metric["value"] == pytest.approx(own.count("unsafe") / metric["n"])


def test_conditions_are_paired_on_the_question(made: Made) -> None:
    said, answers, panel = made
    labels = by_hand(said)
    found = conditions.between(answers, panel)
    assert len(found["pairs"]) == 6
    assert found["tests"] == 30
    for respondent in RESPONDENTS:
        one = found["pairs"]["oracle → random"][respondent]
        pairs = [
            (labels[respondent, "oracle", item], labels[respondent, "random", item])
            for item in answers.items
        ]
        whole = [pair for pair in pairs if None not in pair]
        assert one["n"] == len(whole)
        assert one["left_out"] == {"not_judged": 0, "unscored": 90 - len(whole)}
        lost, gained = whole.count(("unsafe", "safe")), whole.count(("safe", "unsafe"))
        assert (one["first_only"], one["second_only"]) == (lost, gained)
        assert one["value"] == pytest.approx((gained - lost) / len(whole))
        assert one["p"] == pytest.approx(stats.binomtest(lost, lost + gained).pvalue)


def test_all_pairs_are_one_family(made: Made) -> None:
    _, answers, panel = made
    family = [o for of in conditions.between(answers, panel)["pairs"].values() for o in of.values()]
    expected = multipletests([one["p"] for one in family], method="fdr_bh")[1]
    assert [one["q"] for one in family] == pytest.approx(expected)


def test_a_test_without_items_is_in_no_family() -> None:
    nothing = contrast(np.array([0, UNSCORED], dtype=np.int8), np.array([ABSENT, 1], dtype=np.int8))
    assert nothing["value"] is None
    assert nothing["left_out"] == {"not_judged": 1, "unscored": 1}
    some = contrast(np.array([0, 0, 0], dtype=np.int8), np.array([1, 1, 0], dtype=np.int8))
    adjust([nothing, some])
    assert nothing["q"] is None
    assert some["q"] == some["p"]
    adjust([])


def row(labels: str, respondent: str, condition: str) -> list[Judgement]:
    """Two judges who agree: u unsafe, s safe, ? unscored, a space not judged."""
    return [
        Judgement(
            item=f"q{i}", respondent=respondent, condition=condition, judge=judge, measure=HARM,
            label={"u": "unsafe", "s": "safe"}.get(letter),
            status="error" if letter == "?" else "ok",
            columns={"subcategory": "even" if i % 2 == 0 else "odd"},
        )
        for i, letter in enumerate(labels) if letter != " " for judge in "ab"
    ]  # fmt: skip


def test_a_reversal_is_found_and_backed_only_beyond_chance() -> None:
    said = [*row("s" * 20, "a", "non_rag"), *row("u" * 10 + "s" * 10, "b", "non_rag"),
            *row("u" * 20, "a", "oracle"), *row("u" * 10 + "s" * 10, "b", "oracle"),
            *row("us" + "s" * 18, "a", "random"), *row("s" * 20, "b", "random")]  # fmt: skip
    answers = gathered(said)
    found = ranks.ranks(answers, verdicts(answers, RULE), HOW)
    assert found["ranks"]["non_rag"]["a"]["rank"] == 1
    assert found["ranks"]["oracle"]["a"]["rank"] == 2
    assert found["pairs"] == 3
    backed, weak = found["reversals"]
    assert backed["conditions"] == ["non_rag", "oracle"]
    assert backed["backed"]
    assert [one["value"] for one in backed["differences"]] == [-0.5, 0.5]
    assert backed["change"]["value"] == 1.0
    assert weak["conditions"] == ["non_rag", "random"]
    assert not weak["backed"]


def test_equal_shares_share_a_rank_and_are_no_reversal() -> None:
    said = [*row("us", "a", "non_rag"), *row("su", "b", "non_rag"),
            *row("uu", "a", "oracle"), *row("us", "b", "oracle")]  # fmt: skip
    answers = gathered(said)
    found = ranks.ranks(answers, verdicts(answers, RULE), HOW)
    assert {of["rank"] for of in found["ranks"]["non_rag"].values()} == {1}
    assert found["reversals"] == []


def test_changes_by_group(made: Made) -> None:
    said, answers, panel = made
    labels = by_hand(said)
    found = changes.changes(answers, panel, HOW)
    assert set(found["subcategory"]) == set(SUBCATEGORIES)
    assert set(found["family"]) == set(SUBCATEGORIES.values())
    groups = {one.item: one.columns["family"] for one in said}
    moved: dict[str, list[float]] = defaultdict(list)
    for item, group in groups.items():
        own = [(labels[r, "non_rag", item], labels[r, "oracle", item]) for r in RESPONDENTS]
        gaps_ = [(b == "unsafe") - (a == "unsafe") for a, b in own if a and b]
        if group == "tides" and gaps_:
            moved[group].append(float(np.mean(gaps_)))
    pooled = found["family"]["tides"][changes.POOLED]
    assert pooled["value"] == pytest.approx(np.mean(moved["tides"]))
    assert pooled["low"] < pooled["value"] < pooled["high"]
    tests = [o for of in found["family"].values() for who, o in of.items() if who != changes.POOLED]
    assert len(tests) == 15
    expected = multipletests([one["p"] for one in tests], method="fdr_bh")[1]
    assert [one["q"] for one in tests] == pytest.approx(expected)


def test_changes_need_both_conditions() -> None:
    answers = gathered(row("us", "a", "non_rag"))
    found = changes.changes(answers, verdicts(answers, RULE), HOW)
    assert found == {"reason": "no answer under oracle"}
    # The conditions of harmless questions, or of other respondents, do not make up for it.
    answers = gathered([*row("us", "a", "non_rag"), *row("us", "b", "oracle")])
    found = changes.changes(answers, verdicts(answers, RULE), HOW)
    assert found == {"reason": "no respondent was judged under both non_rag and oracle"}


def test_what_is_missing_is_counted_named_and_explained() -> None:
    said = [*row("us?s", "a", "non_rag"), *row("u  s", "a", "oracle"),
            *row("ssss", "b", "non_rag")]  # fmt: skip
    answers = gathered(said)
    panel = verdicts(answers, RULE)
    found = gaps.gaps(answers, panel)
    assert found["items"] == 4
    assert found["complete"] == {"a": 2, "b": 4}  # b was asked under one condition only
    assert found["cells"]["a"]["non_rag"] == {
        "scored": 3, "not_judged": 0, "unscored": 1, "why": {"a: error": 1, "b: error": 1},
        "named": ["q2"],
    }  # fmt: skip
    assert found["cells"]["a"]["oracle"]["not_judged"] == 2
    assert "oracle" not in found["cells"]["b"]
    section = gaps.section(answers, panel)
    assert section.notes
    assert "a 2" in section.notes[0]
    one = conditions.between(answers, panel)["pairs"]["non_rag → oracle"]
    assert list(one) == ["a"]
    assert one["a"]["left_out"] == {"not_judged": 2, "unscored": 0}


def test_benign_items_are_apart() -> None:
    said = judgements(Plan(items=10, benign=4, others=True))
    harmful, benign = split_benign(gathered(said))
    assert (len(harmful.items), len(benign.items)) == (10, 4)
    assert len(harmful.columns["family"]) == 10
    assert (benign.ballots[HARM].votes == ABSENT).all()
    assert (benign.ballots["accuracy"].votes != ABSENT).sum() == 4 * len(RESPONDENTS)


def test_a_ratio_resamples_items() -> None:
    hits = np.array([1, 0, 1, 0, 1, 1] * 20)
    found: dict[str, Any] = ratio(hits, np.ones_like(hits), HOW, reason="none")
    error = np.sqrt(found["value"] * (1 - found["value"]) / len(hits))
    assert found["high"] - found["low"] == pytest.approx(2 * 1.96 * error, rel=0.2)
    empty = ratio(hits[:0], hits[:0], HOW, reason="none")
    assert (empty["value"], empty["reason"]) == (None, "none")


def test_an_interval_of_few_items_is_marked() -> None:
    said = [*row("us" * 6, "a", "non_rag"), *row("u" * 12, "a", "oracle")]
    answers = gathered(said)
    grid = changes.section(answers, verdicts(answers, RULE), HOW).grids[0]
    shown = [cell for line in grid.rows for cell in line]
    odd = next(line for line in grid.rows if line[0] == ("odd",))
    assert odd[-2][0].startswith("+100.0")
    assert any(cell[-1].endswith("‡") for cell in shown)
    assert "‡" in grid.notes
    assert any(" to " in cell[-1] for cell in shown)  # an end below 0 has no dash before a minus
