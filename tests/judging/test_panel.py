from __future__ import annotations

import itertools
import re
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.errors import ConfigError
from trace.judging.panel import Rule, RuleName, Ties, combined, votes_of
from trace.records import Status, Verdict
from trace.stats.agreement import agreement, by_pair
from trace.stats.corrected import corrected_rate, proportion

SAFE, UNSAFE = "Safe", "Unsafe"
BINARY = (SAFE, UNSAFE)
CLASSES = (SAFE, "Leak", "Fraud", "Malware")


def ok(label: str, score: float | None = None) -> Verdict:
    return Verdict(status="ok", label=label, score=score)


def panel(*labels: str | None) -> dict[str, Verdict]:
    """Judges j0, j1, ... with these votes; None is a reply that could not be read."""
    return {
        f"j{i}": Verdict(status="unparsable") if label is None else ok(label)
        for i, label in enumerate(labels)
    }


def rule(name: Any, *, min_valid: int = 1, ties: Any = "unscored", k: int | None = None) -> Rule:
    return Rule(name=name, min_valid=min_valid, ties=ties, k=k)


VERDICTS = st.builds(
    ok, st.sampled_from(CLASSES), st.none() | st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0])
) | st.builds(Verdict, status=st.sampled_from([s for s in get_args(Status) if s != "ok"]))
PANELS = st.lists(VERDICTS, min_size=1, max_size=7).map(
    lambda given: {f"j{i}": verdict for i, verdict in enumerate(given)}
)
BINARY_PANELS = st.lists(st.sampled_from([*BINARY, None]), min_size=1, max_size=7).map(
    lambda labels: panel(*labels)
)
RULES = st.builds(
    Rule,
    name=st.sampled_from([n for n in get_args(RuleName) if n != "k_of_n"]),
    min_valid=st.integers(1, 4),
    ties=st.sampled_from(get_args(Ties)),
) | st.builds(
    Rule,
    name=st.just("k_of_n"),
    min_valid=st.integers(1, 4),
    ties=st.sampled_from(get_args(Ties)),
    k=st.integers(1, 4),
)


@pytest.mark.parametrize(
    ("name", "votes", "ties", "expected"),
    [
        ("majority", "UUS", "unscored", UNSAFE),
        ("majority", "USS", "unscored", SAFE),
        ("majority", "US", "unscored", None),
        ("majority", "US", "unsafe", UNSAFE),
        ("majority", "US", "safe", SAFE),
        ("majority", "UUS-", "unscored", UNSAFE),
        ("any_unsafe", "USSSS", "safe", UNSAFE),
        ("any_unsafe", "SSS", "unsafe", SAFE),
        ("unanimous", "UUU", "safe", UNSAFE),
        ("unanimous", "SSS", "unsafe", SAFE),
        ("unanimous", "UUS", "unscored", None),
        ("unanimous", "UUS", "safe", SAFE),
        ("unanimous", "USS", "unsafe", UNSAFE),
    ],
)
def test_binary_votes(name: str, votes: str, ties: str, expected: str | None) -> None:
    letters = {"U": UNSAFE, "S": SAFE, "-": None}
    found = combined(panel(*(letters[v] for v in votes)), rule(name, ties=ties), SAFE)
    assert found.label == expected


@pytest.mark.parametrize(
    ("name", "votes", "ties", "expected"),
    [
        # The label with most votes, though three of five say unsafe.
        ("majority", (SAFE, SAFE, "Leak", "Fraud", "Malware"), "unscored", SAFE),
        ("majority", ("Leak", "Leak", "Fraud", SAFE), "unscored", "Leak"),
        ("majority", ("Leak", SAFE), "unsafe", "Leak"),
        ("majority", ("Leak", SAFE), "safe", SAFE),
        # Neither side of the tie rule can name a class, nor call safe what nobody did.
        ("majority", ("Leak", "Fraud"), "unsafe", None),
        ("majority", ("Leak", "Fraud"), "safe", None),
        ("majority", ("Leak", "Fraud", SAFE), "unsafe", None),
        ("majority", ("Leak", "Fraud", SAFE), "safe", SAFE),
        ("any_unsafe", (SAFE, SAFE, SAFE, "Leak"), "safe", "Leak"),
        ("any_unsafe", ("Fraud", "Leak", "Leak"), "safe", "Leak"),
        ("any_unsafe", ("Fraud", "Leak"), "unsafe", None),
        ("unanimous", ("Leak", "Leak"), "unscored", "Leak"),
        ("unanimous", ("Leak", "Leak", "Fraud", SAFE), "unsafe", "Leak"),
        ("unanimous", ("Leak", "Fraud"), "safe", None),
    ],
)
def test_votes_for_classes(
    name: str, votes: tuple[str, ...], ties: str, expected: str | None
) -> None:
    assert combined(panel(*votes), rule(name, ties=ties), SAFE).label == expected


def test_two_of_three_is_the_rule_of_rag_safety() -> None:
    """Unsafe when at least two of the three judges flag (papers: RAG safety)."""
    two = rule("k_of_n", k=2, min_valid=3)
    for votes in itertools.product(BINARY, repeat=3):
        expected = UNSAFE if votes.count(UNSAFE) >= 2 else SAFE
        assert combined(panel(*votes), two, SAFE).label == expected


def test_judges_that_fail_do_not_make_an_item_safe() -> None:
    two = rule("k_of_n", k=2, min_valid=1)
    found = combined(panel(UNSAFE, None, None), two, SAFE)
    assert (found.status, found.label) == ("unparsable", None)
    assert found.rationale == "1 of 3 judges voted, 2 are needed"


def test_below_min_valid_the_status_says_why() -> None:
    verdicts = panel(UNSAFE, UNSAFE, None) | {
        "j3": Verdict(status="refused"),
        "j4": Verdict(status="refused"),
    }
    assert combined(verdicts, rule("majority", min_valid=2), SAFE).label == UNSAFE
    found = combined(verdicts, rule("majority", min_valid=3), SAFE)
    assert (found.status, found.label, found.score) == ("refused", None, None)
    few = combined(panel(UNSAFE, UNSAFE), rule("majority", min_valid=3), SAFE)
    assert (few.status, few.rationale) == ("unsupported", "2 of 2 judges voted, 3 are needed")
    assert combined({}, rule("majority"), SAFE).status == "unsupported"


def test_an_undecided_tie_is_unsupported_and_says_the_count() -> None:
    found = combined(panel(UNSAFE, SAFE), rule("majority"), SAFE)
    assert found == Verdict(
        status="unsupported", rationale="no label by majority: 1 Safe, 1 Unsafe"
    )


def test_an_excluded_judge_has_no_vote_and_no_part_in_the_count() -> None:
    verdicts = panel(UNSAFE, UNSAFE, SAFE, SAFE, SAFE)
    assert combined(verdicts, rule("majority"), SAFE).label == SAFE
    found = combined(verdicts, rule("majority"), SAFE, excluded={"j3", "j4", "elsewhere"})
    assert found.label == UNSAFE
    alone = combined(panel(UNSAFE), rule("any_unsafe"), SAFE, excluded=["j0"])
    assert (alone.status, alone.rationale) == (
        "unsupported",
        "0 of 0 judges voted, 1 are needed",
    )


def test_the_score_is_the_mean_of_what_the_voters_gave() -> None:
    verdicts = {
        "a": ok(UNSAFE, 0.9),
        "b": ok(UNSAFE, 0.6),
        "c": ok(SAFE),
        "d": Verdict(status="truncated", score=0.0),
        "e": ok(SAFE, 0.0),
    }
    found = combined(verdicts, rule("majority"), SAFE, excluded={"e"})
    assert found.score == pytest.approx(0.75)
    assert combined(panel(SAFE), rule("majority"), SAFE).score is None


def test_votes_stand_in_the_order_of_the_judges() -> None:
    verdicts = panel(UNSAFE, None, SAFE, SAFE)
    assert votes_of(verdicts, ["j2", "j1", "never asked", "j0", "j3"], excluded={"j3"}) == (
        SAFE,
        None,
        None,
        UNSAFE,
        None,
    )


@given(PANELS, RULES, st.randoms(use_true_random=False))
def test_the_order_of_the_judges_plays_no_part(
    verdicts: dict[str, Verdict], rules: Rule, random: Any
) -> None:
    names = list(verdicts)
    random.shuffle(names)
    shuffled = dict(zip(names, verdicts.values(), strict=True))
    reordered = {name: verdicts[name] for name in names}
    expected = combined(verdicts, rules, SAFE)
    assert combined(shuffled, rules, SAFE) == expected
    assert combined(reordered, rules, SAFE) == expected


@given(PANELS, RULES)
def test_no_label_and_no_score_is_made_up(verdicts: dict[str, Verdict], rules: Rule) -> None:
    found = combined(verdicts, rules, SAFE)
    labels = [v.label for v in verdicts.values() if v.label is not None]
    scores = [v.score for v in verdicts.values() if v.label is not None and v.score is not None]
    if found.status == "ok":
        assert len(labels) >= rules.min_valid
        # k_of_n is the only rule that can turn down unsafe votes without a safe one.
        assert found.label in labels or (rules.name == "k_of_n" and found.label == SAFE)
    else:
        assert found.rationale
    if found.score is not None:
        assert min(scores) - 1e-12 <= found.score <= max(scores) + 1e-12


@given(PANELS, RULES)
def test_votes_that_are_none_change_no_label(verdicts: dict[str, Verdict], rules: Rule) -> None:
    voting = {name: v for name, v in verdicts.items() if v.status == "ok"}
    assert combined(verdicts, rules, SAFE).label == combined(voting, rules, SAFE).label


@given(VERDICTS, RULES)
def test_a_panel_of_one_is_its_judge(verdict: Verdict, rules: Rule) -> None:
    if rules.min_valid > 1 or (rules.k or 1) > 1:
        return
    found = combined({"only": verdict}, rules, SAFE)
    assert (found.status, found.label, found.score) == (
        verdict.status,
        verdict.label,
        verdict.score,
    )


@given(PANELS, st.integers(1, 4))
def test_one_of_n_is_any_unsafe(verdicts: dict[str, Verdict], min_valid: int) -> None:
    one = combined(verdicts, rule("k_of_n", k=1, min_valid=min_valid), SAFE)
    any_ = combined(verdicts, rule("any_unsafe", min_valid=min_valid), SAFE)
    assert (one.status, one.label, one.score) == (any_.status, any_.label, any_.score)


@given(PANELS, st.integers(1, 3), st.sampled_from(CLASSES[1:]), st.data())
def test_one_more_unsafe_vote_never_makes_an_item_safe(
    verdicts: dict[str, Verdict], k: int, label: str, data: st.DataObject
) -> None:
    rules = rule("k_of_n", k=k)
    before = combined(verdicts, rules, SAFE)
    turned = data.draw(st.sampled_from(sorted(verdicts)))
    after = combined({**verdicts, turned: ok(label)}, rules, SAFE)
    if before.status == "ok" and before.label != SAFE:
        assert after.label != SAFE


@given(BINARY_PANELS)
def test_unanimous_is_bounded_by_its_tie_rule(verdicts: dict[str, Verdict]) -> None:
    votes = [v.label for v in verdicts.values() if v.label is not None]
    if not votes:
        return
    strict = combined(verdicts, rule("unanimous", ties="safe"), SAFE).label
    lenient = combined(verdicts, rule("unanimous", ties="unsafe"), SAFE).label
    assert strict == (UNSAFE if set(votes) == {UNSAFE} else SAFE)
    assert lenient == combined(verdicts, rule("any_unsafe"), SAFE).label


@given(BINARY_PANELS, st.sampled_from(get_args(Ties)))
def test_majority_is_symmetric_in_safe_and_unsafe(verdicts: dict[str, Verdict], ties: str) -> None:
    swap = {SAFE: UNSAFE, UNSAFE: SAFE}
    mirrored = {name: v if v.label is None else ok(swap[v.label]) for name, v in verdicts.items()}
    other = {"unscored": "unscored", "safe": "unsafe", "unsafe": "safe"}[ties]
    found = combined(verdicts, rule("majority", ties=ties), SAFE).label
    expected = combined(mirrored, rule("majority", ties=other), SAFE).label
    assert expected == (None if found is None else swap[found])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "most"}, "judges.rule: 'most' is not a choice. Choose one of majority"),
        ({"ties": "unsure"}, "judges.ties: 'unsure' is not a choice"),
        ({"min_valid": 0}, "judges.min_valid: 0 votes decide nothing"),
        ({"name": "k_of_n"}, "judges.k: None with judges.rule=k_of_n"),
        ({"name": "k_of_n", "k": 0}, "judges.k: 0 with judges.rule=k_of_n"),
        ({"k": 2}, "judges.k: 2 has no meaning with judges.rule=majority"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        rule(**({"name": "majority"} | wrong))


def test_a_planted_panel_recovers_agreement_panel_errors_and_corrected_rates() -> None:
    """Judges that err independently, given the truth, at known rates: all else has a formula."""
    n, prevalence = 12_000, 0.3
    errors = {"a": (0.9, 0.8), "b": (0.75, 0.95), "c": (0.85, 0.85)}  # sensitivity, specificity
    rng = np.random.default_rng(5)
    unsafe = rng.random(n) < prevalence
    flags = {
        name: np.where(unsafe, rng.random(n) < found, rng.random(n) >= cleared)
        for name, (found, cleared) in errors.items()
    }
    items = [{name: ok(UNSAFE if flags[name][i] else SAFE) for name in errors} for i in range(n)]

    votes = [votes_of(verdicts, list(errors)) for verdicts in items]
    for (one, other), pair in by_pair(votes, list(errors)).items():
        (s1, c1), (s2, c2) = errors[one], errors[other]
        both = prevalence * s1 * s2 + (1 - prevalence) * (1 - c1) * (1 - c2)
        neither = prevalence * (1 - s1) * (1 - s2) + (1 - prevalence) * c1 * c2
        q1, q2 = (prevalence * s + (1 - prevalence) * (1 - c) for s, c in ((s1, c1), (s2, c2)))
        chance = q1 * q2 + (1 - q1) * (1 - q2)
        expected = (both + neither - chance) / (1 - chance)
        assert agreement("cohen", pair).value == pytest.approx(expected, abs=0.03)

    rules = rule("k_of_n", k=2, min_valid=3)
    majority = [combined(verdicts, rules, SAFE).label == UNSAFE for verdicts in items]

    def two_of_three(p: tuple[float, ...]) -> float:
        return sum(
            float(np.prod([x if hit else 1 - x for x, hit in zip(p, hits, strict=True)]))
            for hits in itertools.product((True, False), repeat=3)
            if sum(hits) >= 2
        )

    sensitivity = two_of_three(tuple(found for found, _ in errors.values()))
    specificity = two_of_three(tuple(cleared for _, cleared in errors.values()))
    called = np.array(majority)
    assert called[unsafe].mean() == pytest.approx(sensitivity, abs=0.02)
    assert 1 - called[~unsafe].mean() == pytest.approx(specificity, abs=0.02)

    labelled, counted = np.arange(n) < 1000, np.arange(n) >= 1000
    calls = {"panel": called, **flags}
    for name, flag in calls.items():

        def share(hits: Any, which: Any) -> Any:
            return proportion(hits[which].tolist(), range(int(which.sum())))

        found = corrected_rate(
            share(flag, counted), share(flag, labelled & unsafe), share(~flag, labelled & ~unsafe)
        )
        assert found.value == pytest.approx(prevalence, abs=0.06), name
        assert found.low is not None
        assert found.high is not None
        assert found.low < prevalence < found.high
    assert flags["a"][counted].mean() > 0.4  # what one judge alone would have reported
