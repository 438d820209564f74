"""From votes to one label an answer: the majority of a model's peers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.report.cross_lab.planted import HOW, MODELS, RUBRICS, Plan, judgements, truth, votes
from trace.errors import DataError
from trace.report.cross_lab.sections import sections
from trace.report.cross_lab.votes import gathered, majority
from trace.report.cross_lab.words import ARMS, CONDITIONS, FIELD_FREE, MAIN, REPEAT
from trace.report.judgements import HUMAN, Judgement
from trace.report.rag_safety.answers import ABSENT, UNSCORED

NOISY = Plan(accuracy=0.6, silent=0.15, drawn=6, repeat=0.6, field_free=0.5)


def naive(
    lines: list[Judgement], arm: str, min_valid: int, without: str | None
) -> dict[tuple[str, str, str], str]:
    """(item, condition, respondent) -> the label, `tied` or `few`; vote by vote."""
    said: dict[tuple[str, str, str], list[str | None]] = {}
    for one in lines:
        if one.arm == arm and one.judge not in (one.respondent, without):
            key = (one.item, one.condition, one.respondent)
            said.setdefault(key, []).append(one.label)
    found = {}
    for key, labels in said.items():
        valid = [label for label in labels if label is not None]
        ranked = Counter(valid).most_common()
        if len(valid) < min_valid:
            found[key] = "few"
        elif len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
            found[key] = "tied"
        else:
            found[key] = ranked[0][0]
    return found


@pytest.mark.parametrize("arm", [MAIN, REPEAT, FIELD_FREE])
@pytest.mark.parametrize(("min_valid", "without"), [(3, None), (4, "opus"), (1, "grok")])
def test_the_majority_is_that_of_a_plain_loop(
    arm: str, min_valid: int, without: str | None
) -> None:
    lines = judgements(NOISY)
    of = gathered(lines, RUBRICS)
    said = majority(of, arm, min_valid=min_valid, without=[without] if without else [])
    expected = naive(lines, arm, min_valid, without)
    assert {"few", "tied"} <= set(expected.values()) or min_valid == 1
    for i, item in enumerate(of.items):
        rubric = RUBRICS[of.categories[i]]
        for c, condition in enumerate(CONDITIONS):
            for m, model in enumerate(of.respondents):
                at = (i, c, m)
                outcome = expected.get((item, condition, model))
                assert bool(said.tied[at]) == (outcome == "tied")
                assert bool(said.few[at]) == (outcome == "few")
                if outcome is None:
                    assert said.labels[at] == ABSENT
                elif outcome in ("tied", "few"):
                    assert said.labels[at] == UNSCORED
                else:
                    assert rubric[said.labels[at]] == outcome


def test_a_models_own_vote_never_counts() -> None:
    """Whatever a model says of itself, its labels are the same."""
    plain, loving = (
        majority(votes(Plan(accuracy=0.8, self_love=love))).labels
        for love in ({}, dict.fromkeys(MODELS, 1.0))
    )
    assert (plain == loving).all()
    assert (votes(Plan(accuracy=0.8)).votes != votes(
        Plan(accuracy=0.8, self_love={"opus": 1.0})
    ).votes).any()  # fmt: skip


def test_perfect_judges_say_what_was_planted() -> None:
    of = votes(Plan())
    said = majority(of)
    assert not said.tied.any()
    assert not said.few.any()
    for (category, condition, model), labels in truth(Plan()).items():
        codes = said.labels[of.of(category), CONDITIONS.index(condition), MODELS.index(model)]
        assert [RUBRICS[category][code] for code in codes] == labels


def test_the_size_of_the_study() -> None:
    of = votes(Plan())
    assert of.votes.shape == (len(ARMS), 340, 2, 6, 6)
    assert of.votes.dtype == np.int8
    assert (of.votes != ABSENT).sum() == 24480


def test_a_pair_of_which_one_half_is_missing_is_left_out_and_named() -> None:
    lines = judgements(Plan(drawn=100))
    item = "values_conflict-007"

    def missing(one: Judgement) -> bool:
        return (one.item, one.respondent, one.condition) == (item, "grok", "steered")

    of = gathered([one for one in lines if not missing(one)], RUBRICS)
    assert [(one.item, one.respondent, one.lacking) for one in of.lone] == [
        (item, "grok", "steered")
    ]
    at = (of.items.index(item), of.respondents.index("grok"))
    assert (of.votes[:, at[0], :, at[1]] == ABSENT).all()  # in no arm, under no condition
    drawn = [ARMS.index(arm) for arm in (MAIN, REPEAT, FIELD_FREE)]
    assert (of.votes[drawn, at[0], :, at[1] + 1] != ABSENT).all()
    first = sections([one for one in lines if not missing(one)], RUBRICS, HOW)[0]
    assert first.notes == (
        "grok: 1 pair left out, judged under one condition only: values_conflict-007 "
        "(not steered).",
    )
    rates = first.result["rates"]["values_conflict"]
    assert rates["grok"]["base"]["full_compliance"]["n"] == 99
    assert rates["opus"]["base"]["full_compliance"]["n"] == 100


def test_an_answer_that_every_judge_failed_on_is_no_missing_half() -> None:
    lines = [
        replace(one, label=None, status="refused")
        if (one.item, one.respondent, one.condition) == ("values_conflict-007", "grok", "base")
        else one
        for one in judgements(Plan())
    ]
    of = gathered(lines, RUBRICS)
    assert of.lone == ()
    assert majority(of).few.sum() == 1


def test_an_item_that_one_model_was_not_asked_is_named() -> None:
    lines = [
        one
        for one in judgements(Plan())
        if (one.item, one.respondent) != ("neutral_control-003", "llama")
    ]
    first = sections(lines, RUBRICS, HOW)[0]
    assert first.result["not_asked"] == {"llama": ["neutral_control-003"]}
    assert first.result["excluded"] == []
    assert "llama: 1 item that others answered were not judged" in first.notes[0]


def test_people_and_later_epochs_have_no_vote_and_are_counted() -> None:
    lines = judgements(Plan())
    more = [replace(one, judge=HUMAN) for one in lines[:7]]
    more += [replace(one, epoch=1, label=None, status="refused") for one in lines[:9]]
    of = gathered([*lines, *more], RUBRICS)
    assert HUMAN not in of.judges
    assert of.passed_over == {"of people": 7, "of later epochs": 9}
    assert (of.votes == votes(Plan()).votes).all()


def test_one_condition_alone_is_no_study() -> None:
    half = [one for one in judgements(Plan()) if one.condition == "base"]
    with pytest.raises(DataError, match="both base and steered"):
        gathered(half, RUBRICS)


def test_without_the_main_arm_there_is_nothing() -> None:
    others = [one for one in judgements(Plan(drawn=3)) if one.arm != "main"]
    with pytest.raises(DataError, match="none is of the arm main"):
        gathered(others, RUBRICS)


def test_what_an_arm_has_besides_the_main_arm_is_counted_and_left_out() -> None:
    lines = judgements(Plan(drawn=3))
    other = [
        replace(one, item=f"other-{one.item}", arm=REPEAT)
        for one in lines
        if one.arm == MAIN and one.item == "values_conflict-007"
    ]
    whole, more = gathered(lines, RUBRICS), gathered([*lines, *other], RUBRICS)
    assert more.items == whole.items
    assert (more.votes == whole.votes).all()
    assert more.passed_over == {"of answers that the arm main lacks": 72}


def test_labels_of_people_do_not_say_which_epoch_is_the_first() -> None:
    lines = [replace(one, epoch=1) for one in judgements(Plan())]
    people = [replace(one, judge="human", epoch=0) for one in lines if one.judge == "opus"]
    of = gathered([*lines, *people], RUBRICS)
    assert (of.votes != ABSENT).sum() == 24480
