"""Tiers, shifts, gaps and splits of planted laboratories."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from tests.report.cross_lab.planted import FULL, MODELS, PUBLISHED, RUBRICS, Plan, truth, votes
from trace.report.cross_lab.family import Reading, reading
from trace.report.cross_lab.gaps import base_splits, decomposed, gaps, minority
from trace.report.cross_lab.shifts import shifts
from trace.report.cross_lab.tiers import all_tiers, tiers
from trace.report.cross_lab.votes import majority
from trace.report.cross_lab.words import CORE


def readings(plan: Plan) -> Reading:
    of = votes(plan)
    return reading(of, majority(of).labels)


@pytest.fixture(scope="module")
def read() -> Reading:
    return readings(Plan())


def named(read: Reading, category: str, condition: str, label: str) -> list[set[str]]:
    (found,) = [
        one["tiers"]
        for one in all_tiers(read)
        if (one["category"], one["condition"], one["label"]) == (category, condition, label)
    ]
    return [{place["model"] for place in tier} for tier in found]


def test_three_tiers_of_full_compliance_as_in_the_paper(read: Reading) -> None:
    """Opus alone at 35%, Llama at 57%, the other four between 93% and 100%."""
    assert named(read, "values_conflict", "base", FULL) == [
        {"deepseek", "gemini", "gpt_5", "grok"}, {"llama"}, {"opus"},
    ]  # fmt: skip
    assert named(read, "reasoning_surfacing", "base", "values_content") == [
        set(MODELS) - {"gpt_5"}, {"gpt_5"},
    ]  # fmt: skip
    assert named(read, "reasoning_surfacing", "steered", "off_topic") == [set(MODELS)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_noisy_judges_recover_tiers_order_and_findings(seed: int) -> None:
    """Judges who err in a tenth of the cases: five of them hardly ever do so together."""
    exact = readings(Plan(seed=seed))
    read = readings(Plan(accuracy=0.9, silent=0.02, seed=seed))
    for where in (
        ("values_conflict", "base", FULL),
        ("reasoning_surfacing", "steered", "declines_reasoning"),
        ("reasoning_surfacing", "steered", "values_content"),
        ("reasoning_suppression", "steered", "challenges_and_complies"),
    ):
        assert named(read, *where) == named(exact, *where)
    assert abs(int(read.significant.sum()) - int(exact.significant.sum())) <= 6
    order = [
        place["model"]
        for one in all_tiers(read)
        if one["label"] == "refuses_with_alternative" and one["condition"] == "steered"
        for tier in one["tiers"]
        for place in tier
    ]
    planted = PUBLISHED["values_conflict", "steered"]["refuses_with_alternative"]
    assert order == sorted(MODELS, key=lambda m: -planted[MODELS.index(m)])


@given(
    st.lists(st.one_of(st.floats(0, 1), st.just(float("nan"))), min_size=1, max_size=7),
    st.randoms(use_true_random=False),
)
def test_between_tiers_all_differ_and_no_finer_split_is_possible(shares, random) -> None:  # type: ignore[no-untyped-def]
    n = len(shares)
    differ = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(i):
            differ[i, j] = differ[j, i] = random.random() < 0.7
    found = tiers(np.array(shares), differ)
    flat = [model for tier in found for model in tier]
    assert sorted(flat) == [i for i in range(n) if not np.isnan(shares[i])]
    assert all(shares[a] >= shares[b] for a, b in pairwise(flat))
    for i, tier in enumerate(found):
        for other in found[i + 1 :]:
            assert all(differ[a, b] for a in tier for b in other)
    cuts = set(np.cumsum([len(tier) for tier in found])[:-1].tolist())
    for cut in set(range(1, len(flat))) - cuts:
        assert not all(differ[a, b] for a in flat[:cut] for b in flat[cut:])


def test_the_shift_is_paired_and_validation_does_not_move(read: Reading) -> None:
    found = shifts(read)
    raised = found["reasoning_suppression"]["deepseek"]["slips_values_in"]
    assert raised["value"] == -0.57
    assert (raised["first_only"], raised["second_only"]) == (57, 0)
    assert raised["p"] == pytest.approx(2 * 0.5**57)
    assert raised["q"] < 0.05
    for category in ("neutral_control", "format_steering"):
        for labels in found[category].values():
            assert {one["value"] for one in labels.values()} == {0.0}
            assert {one["q"] for one in labels.values()} == {1.0}
    core = [
        one for category in CORE for labels in found[category].values() for one in labels.values()
    ]
    assert len(core) == 90
    q = multipletests([one["p"] for one in core], method="fdr_bh")[1]
    assert [one["q"] for one in core] == pytest.approx(list(q))


def test_the_shift_is_on_items_with_both_labels() -> None:
    plan = Plan(accuracy=0.7, silent=0.2)
    read = readings(plan)
    one = shifts(read)["values_conflict"]["opus"][FULL]
    codes = read.labels[read.votes.of("values_conflict"), :, MODELS.index("opus")]
    both = codes[(codes >= 0).all(axis=1)]
    assert 0 < one["n"] == len(both) < 100
    assert one["value"] == pytest.approx((both[:, 1] == 0).mean() - (both[:, 0] == 0).mean())


def test_the_gap_is_explained_by_its_substitutes(read: Reading) -> None:
    """001.gap_explained_opus and _llama: asking back makes 60 of Opus's 65 points, 42 of 43."""
    base = gaps(read)["values_conflict"]["base"]
    assert base["best"] == "gemini"
    for model, gap, asked in (("opus", 65, 60), ("llama", 43, 42)):
        found = base["models"][model]["to_all"]
        assert found["gap"] == pytest.approx(gap / 100)
        assert found["parts"]["asks_for_clarification"] == pytest.approx(asked / gap)
        assert sum(found["parts"].values()) == pytest.approx(1)
    assert base["models"]["gemini"]["to_best"]["reason"] == "there is no gap"


@given(
    st.lists(st.integers(0, 50), min_size=3, max_size=3),
    st.lists(st.integers(0, 50), min_size=3, max_size=3),
)
def test_the_parts_of_a_gap_add_up(one: list[int], other: list[int]) -> None:
    names = (FULL, "asks", "refuses")
    counts, best = (dict(zip(names, of, strict=True)) for of in (one, other))
    found = decomposed(counts, best)
    if not sum(one) or not sum(other):
        assert found["reason"] == "no answer has a label"
    elif one[0] * sum(other) >= other[0] * sum(one):
        assert found["reason"] == "there is no gap"
        assert found["parts"] == {}
    else:
        assert sum(found["parts"].values()) == pytest.approx(1)


def test_splits_of_base_answers_are_ranked_by_the_smaller_side(read: Reading) -> None:
    """001.largest_split, a misprint: 42 of 100 is not the largest, DeepSeek's 43 is larger."""
    assert minority(42, 100) == 0.42
    assert minority(57, 100) == 0.43
    assert minority(0, 0) is None
    found = base_splits(read)
    values = {(one["model"], one["category"], one["label"]): one["minority"] for one in found}
    assert values["deepseek", "reasoning_suppression", "slips_values_in"] == 0.43
    assert values["llama", "values_conflict", "asks_for_clarification"] == 0.42
    assert values["opus", "values_conflict", "asks_for_clarification"] == 0.40
    assert [one["minority"] for one in found] == sorted(values.values(), reverse=True)
    planted = {
        (model, category, label): min(labels.count(label), 100 - labels.count(label)) / 100
        for (category, condition, model), labels in truth(Plan()).items()
        if category in CORE and condition == "base"
        for label in RUBRICS[category]
    }
    assert values == {where: share for where, share in planted.items() if share}
