"""Shares by dose, their tests, and which push is the smallest that counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from trace.interp.steering.coherence import Coherence
from trace.interp.steering.outcome import Dose, measure
from trace.records import Json

LANGUAGE = Coherence(repetition=0.0, words=9, perplexity=4.0)
SALAD = Coherence(repetition=0.1, words=9, perplexity=41.0)
CIRCLES = Coherence(repetition=0.6, words=30, perplexity=1.5)
EMPTY = Coherence(repetition=None, words=0, perplexity=None)
Side = bool | None


def dosed(
    alpha: float,
    sides: Sequence[Side],
    name: str = "difference",
    lost: int = 0,
    sign: Coherence = SALAD,
) -> Dose:
    """The last `lost` answers are no language."""
    coherence = [LANGUAGE] * (len(sides) - lost) + [sign] * lost
    return Dose(direction=name, alpha=alpha, ratio=abs(alpha), sides=sides, coherence=coherence)


def sides(positives: int, n: int, unscored: int = 0) -> list[Side]:
    """The first are positive, the last without a label."""
    return [True] * positives + [False] * (n - positives - unscored) + [None] * unscored


def rows(*doses: Dose) -> dict[tuple[str, float], Json]:
    return {
        (row["direction"], row["alpha"]): row for row in measure(doses, "difference")[0]["doses"]
    }


def smallest(*doses: Dose) -> Json:
    return measure(doses, "difference")[0]["smallest"]


def adjusted_by_hand(ps: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's: p_(k) m / k, made monotone from the largest down."""
    order = np.argsort(ps)
    scaled = np.asarray(ps)[order] * len(ps) / np.arange(1, len(ps) + 1)
    out = np.empty(len(ps))
    out[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return [float(q) for q in out]


def test_tests_are_those_of_scipy_on_what_has_a_label() -> None:
    drawn = np.random.default_rng(3)
    doses = [
        dosed(alpha, [None if u < 0.1 else bool(u < 0.1 + rate) for u in drawn.random(40)], name)
        for name, alpha, rate in [
            ("difference", -3.0, 0.1), ("difference", 0.0, 0.45), ("difference", 3.0, 0.85),
            ("random", -3.0, 0.4), ("random", 3.0, 0.2),
        ]
    ]  # fmt: skip
    found = rows(*doses)
    base = doses[1].sides
    pushed = [one for one in doses if one.alpha]
    fisher, mcnemar = [], []
    for one in pushed:
        a, b = ([s for s in side if s is not None] for side in (one.sides, base))
        table = [[a.count(True), a.count(False)], [b.count(True), b.count(False)]]
        fisher.append(float(stats.fisher_exact(np.array(table))[1]))
        both = [(x, y) for x, y in zip(base, one.sides, strict=True) if None not in (x, y)]
        gained, gone = both.count((False, True)), both.count((True, False))
        test = stats.binomtest(gained, gained + gone) if gained + gone else None
        mcnemar.append(1.0 if test is None else float(test.pvalue))
        row = found[one.direction, one.alpha]
        assert (row["mcnemar"]["b"], row["mcnemar"]["c"]) == (gained, gone)
        assert (row["n"], row["n_unscored"]) == (len(a), one.sides.count(None))
        assert row["share"]["value"] == pytest.approx(a.count(True) / len(a))
        low, high = proportion_confint(a.count(True), len(a), method="wilson")
        assert (row["share"]["low"], row["share"]["high"]) == (
            pytest.approx(low), pytest.approx(high)
        )  # fmt: skip
    for name, ps in (("fisher", fisher), ("mcnemar", mcnemar)):
        tested = [found[one.direction, one.alpha][name] for one in pushed]
        assert [test["p"] for test in tested] == pytest.approx(ps)
        assert [test["adjusted"] for test in tested] == pytest.approx(adjusted_by_hand(ps))
    zero = found["difference", 0.0]
    assert zero["fisher"] is zero["mcnemar"] is None


@pytest.mark.parametrize("label", [True, False])
@pytest.mark.parametrize("sign", [SALAD, CIRCLES, EMPTY])
def test_an_answer_that_is_no_language_counts_neither_way(label: bool, sign: Coherence) -> None:
    base = dosed(0, sides(10, 20))
    flagged = dosed(3, [not label] * 12 + [label] * 8, lost=8, sign=sign)
    counted, lost = measure([base, flagged], "difference")
    row = counted["doses"][1]
    assert (row["n"], row["n_unscored"], row["incoherent"]) == (12, 8, 8)
    assert row["share"]["value"] == float(not label)
    assert lost == [[False] * 20, [False] * 12 + [True] * 8]
    assert row["mcnemar"]["b"] + row["mcnemar"]["c"] == (2 if not label else 10)


def test_medians_are_over_all_answers_that_have_one() -> None:
    row = rows(dosed(0, sides(2, 4)), dosed(1, sides(2, 4), lost=2, sign=EMPTY))["difference", 1]
    assert row["coherence"] == {"repetition": 0.0, "words": 4.5, "perplexity": 4.0}


def test_the_smallest_push_each_way() -> None:
    base = dosed(0, sides(15, 30))
    told = smallest(
        dosed(-6, sides(0, 30)), dosed(-3, sides(1, 30)), dosed(-1, sides(14, 30)), base,
        dosed(1, sides(16, 30)), dosed(3, sides(29, 30)), dosed(6, sides(30, 30)),
        dosed(0.5, sides(30, 30), "random"),
    )  # fmt: skip
    assert told == {"up": 3, "down": -3, "reason": None}


def test_a_push_that_moves_the_other_way_is_no_smallest() -> None:
    base = dosed(0, sides(15, 30))
    assert smallest(dosed(-3, sides(30, 30)), base, dosed(3, sides(0, 30))) == {
        "up": None, "down": None, "reason": None
    }  # fmt: skip


def test_a_share_that_rose_only_because_others_lost_their_label_is_no_rise() -> None:
    """Of 24 with a label 12 changed to no; the share of the rest is higher than without a push."""
    base = dosed(0, [True] * 24 + [False] * 76)
    pushed: list[Any] = [True] * 12 + [False] * 12 + [None] * 76
    row = rows(base, dosed(3, pushed))["difference", 3]
    assert row["share"]["value"] > 0.24
    assert (row["mcnemar"]["b"], row["mcnemar"]["c"]) == (0, 12)
    assert row["mcnemar"]["adjusted"] < 0.05
    assert smallest(base, dosed(3, pushed))["up"] is None


def test_the_smallest_push_leaves_most_answers_language() -> None:
    base = dosed(0, sides(0, 60))
    half, most = (dosed(3, sides(60, 60), lost=lost) for lost in (30, 31))
    assert smallest(base, half)["up"] == 3
    assert rows(base, most)["difference", 3]["mcnemar"]["adjusted"] < 0.05
    assert smallest(base, most)["up"] is None
    more = dosed(6, sides(60, 60), lost=10)
    assert smallest(base, most, more)["up"] == 6


def test_one_strength_alone_is_tested_against_nothing() -> None:
    counted, _ = measure([dosed(0, sides(3, 9))], "difference")
    (row,) = counted["doses"]
    assert row["fisher"] is row["mcnemar"] is None
    assert counted["smallest"] == {"up": None, "down": None, "reason": None}


def test_without_a_label_there_is_no_test() -> None:
    base, gone = dosed(0, sides(15, 30)), dosed(3, sides(0, 30, unscored=30))
    strong = dosed(-3, sides(2, 30))
    found = rows(base, gone, strong)
    row = found["difference", 3]
    assert row["fisher"] == {"p": None, "adjusted": None}
    assert row["mcnemar"] == {"b": 0, "c": 0, "p": None, "adjusted": None}
    assert row["share"]["value"] is None
    assert row["share"]["reason"]
    one = found["difference", -3]  # one test is a family of one
    assert one["mcnemar"]["p"] == one["mcnemar"]["adjusted"]
    assert smallest(base, gone, strong) == {"up": None, "down": -3, "reason": None}


def test_without_a_label_at_zero_nothing_can_be_said() -> None:
    told = smallest(dosed(0, [None] * 8), dosed(3, sides(8, 8)))
    assert (told["up"], told["down"]) == (None, None)
    assert "no answer has a label" in told["reason"]


def test_shares_of_other_questions_are_not_paired() -> None:
    base: list[Side] = [True] * 10 + [None] * 10
    row = rows(dosed(0, base), dosed(3, [None] * 10 + [False] * 10))["difference", 3]
    assert row["mcnemar"]["p"] is None
    assert row["fisher"]["p"] == pytest.approx(stats.fisher_exact(np.array([[0, 10], [10, 0]]))[1])
