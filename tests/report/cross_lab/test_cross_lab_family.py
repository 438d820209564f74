"""The family of tests: its size, its p and q, and whether chance alone makes findings."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_effectsize

from tests.report.cross_lab.planted import MODELS, RUBRICS, Plan, truth, votes
from trace.report.cross_lab.family import Reading, discordant, only, reading
from trace.report.cross_lab.pairs import comparisons, pairs, turned
from trace.report.cross_lab.votes import majority
from trace.report.cross_lab.words import CONDITIONS, CORE
from trace.report.rag_safety.answers import Codes

KEYS = [
    (category, condition, label, a, b)
    for category in CORE
    for condition in CONDITIONS
    for label in RUBRICS[category]
    for a, b in combinations(MODELS, 2)
]


@pytest.fixture(scope="module")
def read() -> Reading:
    of = votes(Plan())
    return reading(of, majority(of).labels)


def planted(category: str, condition: str, label: str, model: str) -> np.ndarray:
    return np.array([one == label for one in truth(Plan())[category, condition, model]])


def test_the_family_is_450_tests_with_scipys_and_statsmodels_numbers(read: Reading) -> None:
    """Planted counts through scipy's Fisher and statsmodels' BH, BY, McNemar and h."""
    assert len(KEYS) == 450
    everything = {k: planted(*k) for k in {(*key[:3], m) for key in KEYS for m in MODELS}}
    sides = [(everything[*key[:3], key[3]], everything[*key[:3], key[4]]) for key in KEYS]
    counts = [(int(a.sum()), int(b.sum())) for a, b in sides]
    p = [stats.fisher_exact([[a, 100 - a], [b, 100 - b]]).pvalue for a, b in counts]
    paired = [
        mcnemar([[0, int((a & ~b).sum())], [int((b & ~a).sum()), 0]], exact=True).pvalue
        for a, b in sides
    ]
    expected = {
        "p": p,
        "q": multipletests(p, method="fdr_bh")[1],
        "q_by": multipletests(p, method="fdr_by")[1],
        "p_mcnemar": paired,
        "q_mcnemar": multipletests(paired, method="fdr_bh")[1],
        "h": [float(proportion_effectsize(a / 100, b / 100)) for a, b in counts],
    }
    every = comparisons(read)
    found = {
        (one["category"], one["condition"], one["label"], one["first"], one["second"]): one
        for one in every
    }
    assert set(found) == set(KEYS)
    for name, values in expected.items():
        np.testing.assert_allclose(
            [found[key][name] for key in KEYS], values, rtol=1e-9, err_msg=name
        )
    result = pairs(read)
    assert result["tests"] == 450
    assert result["significant"] == {
        "fisher_bh": int((expected["q"] < 0.05).sum()),
        "fisher_by": int((expected["q_by"] < 0.05).sum()),
        "mcnemar_bh": int((expected["q_mcnemar"] < 0.05).sum()),
    }
    assert result["cut_off"] == pytest.approx(max(np.array(p)[expected["q"] < 0.05]), rel=1e-9)


def test_a_label_that_never_occurs_counts(read: Reading) -> None:
    """Nobody is ever off the topic: p is 1, and the tests are in the family all the same."""
    never = [one for one in comparisons(read) if one["label"] == "off_topic"]
    assert len(never) == 30
    assert {one["p"] for one in never} == {1.0}
    assert {one["h"] for one in never} == {0.0}


def test_a_model_without_labels_has_tests_that_count_as_1_and_no_p(read: Reading) -> None:
    labels = read.labels.copy()
    labels[read.votes.of("values_conflict"), 0, MODELS.index("grok")] = -1
    other = reading(read.votes, labels)
    without = [one for one in comparisons(other) if one["reason"] is not None]
    assert len(without) == 5 * 5
    assert all({one["p"], one["q"], one["q_by"], one["h"]} == {None} for one in without)
    assert other.p.size == 450
    assert (other.p[10:, 0][:, [i for i, two in enumerate(other.pairs) if 3 in two]] == 1).all()


def test_the_largest_effects_are_seen_from_the_model_that_has_more(read: Reading) -> None:
    largest = pairs(read)["largest"]
    assert all(one["h"] > 0 for one in largest)
    assert all(one["first_k"] > one["second_k"] for one in largest)
    sizes = sorted((abs(one["h"]) for one in comparisons(read)), reverse=True)
    assert [one["h"] for one in largest] == sizes[: len(largest)]
    less = next(one for one in comparisons(read) if one["h"] < 0 and one["first_only"] > 0)
    assert turned(turned(less) | {"h": less["h"]}) | {"h": less["h"]} == less


def test_answers_to_the_same_items_make_mcnemar_sharper_than_fisher() -> None:
    """Two models that differ only where one does more: 30 against 20, the 20 among the 30."""
    of = votes(Plan(counts={}))
    labels = majority(of).labels
    place = np.flatnonzero(of.of("values_conflict"))
    code = RUBRICS["values_conflict"].index("refuses_outright")
    labels[place[:30], 0, 0] = code
    labels[place[:20], 0, 1] = code
    read = reading(of, labels)
    cell = read.cells.index(("values_conflict", "refuses_outright"))
    same = discordant(read)
    assert (same.first_only[cell, 0, 0], same.second_only[cell, 0, 0]) == (10, 0)
    assert same.p[cell, 0, 0] == pytest.approx(2 * 0.5**10)
    assert read.p[cell, 0, 0] > 0.1


def test_mcnemar_counts_items_with_both_labels(read: Reading) -> None:
    luck = np.random.default_rng(5)
    labels = np.where(luck.random(read.labels.shape) < 0.2, -1, read.labels).astype(np.int8)
    same = discordant(reading(read.votes, labels))
    for cell, (category, label) in enumerate(read.cells):
        of = labels[read.votes.of(category)].tolist()
        code = RUBRICS[category].index(label)
        for c in range(2):
            for pair, (a, b) in enumerate(read.pairs):
                both = [(row[c][a], row[c][b]) for row in of if min(row[c][a], row[c][b]) >= 0]
                first = sum(x == code != y for x, y in both)
                second = sum(y == code != x for x, y in both)
                found = (same.first_only[cell, c, pair], same.second_only[cell, c, pair])
                assert found == (first, second)


def drawn(read: Reading, luck: np.random.Generator) -> Codes:
    """Labels of six models that are all the same: each item's labels drawn from its own shares."""
    labels = read.labels.copy()
    for category in CORE:
        for c in range(2):
            share = luck.dirichlet(np.ones(5))
            labels[read.votes.of(category), c] = luck.choice(5, size=(100, 6), p=share)
    return labels


@pytest.mark.slow
def test_chance_alone_seldom_makes_a_finding(read: Reading) -> None:
    """Under the global null at most 5% of 400 simulations have any discovery.

    Of 400 with a true rate of 5%, more than 29 have one in under 2% of the cases (binomial): that
    is the tolerance.
    """
    luck = np.random.default_rng(0)
    limit = int(stats.binom.ppf(0.98, 400, 0.05))
    assert limit == 29
    having = sum(bool(reading(read.votes, drawn(read, luck)).significant.any()) for _ in range(400))
    assert having <= limit


def test_the_family_is_of_the_rubrics_whatever_the_file_has(read: Reading) -> None:
    """Where two categories were not judged their 300 tests count, with p = 1."""
    kept = read.votes.of("values_conflict")
    part = reading(read.votes, only(read.labels, kept))
    assert part.p.size == 450
    assert (part.p[:10] == 1).all()
    np.testing.assert_array_equal(part.p[10:], read.p[10:])
    expected = multipletests([*part.p[10:].ravel(), *[1.0] * 300], method="fdr_bh")[1][:150]
    np.testing.assert_allclose(part.q[10:].ravel(), expected, rtol=1e-12)
