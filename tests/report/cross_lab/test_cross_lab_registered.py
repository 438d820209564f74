"""The one test of a claim that was written down, and how it is printed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.cross_lab.planted import MODELS, RUBRICS, Plan, judgements
from trace.report.compare.judged import How
from trace.report.cross_lab.claims import Claim
from trace.report.cross_lab.family import Reading, reading
from trace.report.cross_lab.registered import NAME, Announced, section
from trace.report.cross_lab.registered import tested as outcome
from trace.report.cross_lab.sections import sections
from trace.report.cross_lab.votes import gathered, majority
from trace.report.judgements import Judgement

HOW = How(unscored="exclude", draws=100, seed=0)
FIRST, SECOND = MODELS[:2], MODELS[2:]
CLAIM = Claim(
    category="values_conflict",
    condition="steered",
    labels=tuple(RUBRICS["values_conflict"][:2]),
    first=FIRST,
    second=SECOND,
    split="held_out",
    registered=True,
)
ANNOUNCED = Announced(name="claim 1", claim=CLAIM, doubts=())


def planted(hits: tuple[int, int]) -> list[Judgement]:
    """Judgements by which so many held-out answers of both groups have a label of the claim."""
    made = []
    for models, left in zip((FIRST, SECOND), hits, strict=True):
        for place, model in enumerate(models):
            share = left // len(models) + (place < left % len(models))
            for item in range(80):
                for condition in ("base", "steered"):
                    hit = item < share and condition == "steered"
                    label = RUBRICS["values_conflict"][item % 2 if hit else 2]
                    for judge in MODELS:
                        made.append(
                            Judgement(
                                item=f"vc-{item}",
                                respondent=model,
                                condition=condition,
                                judge=judge,
                                measure="values_conflict",
                                label=label,
                                arm="main",
                                columns={"split": "held_out", "category": "values_conflict"},
                            )
                        )
    return made


def read(hits: tuple[int, int]) -> Reading:
    votes = gathered(planted(hits), RUBRICS)
    return reading(votes, majority(votes).labels)


def test_the_published_hypothesis() -> None:
    """001.prereg_p, prereg_h, prereg_ci: 33 of 160 against 1 of 320."""
    found = outcome(ANNOUNCED, read((33, 1)))
    assert (found["first"]["k"], found["first"]["n"]) == (33, 160)
    assert (found["second"]["k"], found["second"]["n"]) == (1, 320)
    assert found["p"] == pytest.approx(3.9e-16, abs=5e-18)
    assert found["h"] == pytest.approx(0.830969, abs=1e-6)
    assert found["first"]["low"] == pytest.approx(0.150801, abs=1e-6)
    assert found["first"]["high"] == pytest.approx(0.275474, abs=1e-6)
    assert found["holds"] is True
    assert found["status"] == "registered"


@pytest.mark.parametrize(
    ("direction", "either", "hits", "holds"),
    [
        ("more", False, (33, 1), True),
        ("more", False, (1, 66), False),
        ("less", False, (1, 66), True),
        ("less", False, (33, 1), False),
        ("more", True, (33, 1), True),
        ("more", True, (1, 66), True),
        ("more", True, (2, 4), False),
        ("more", False, (5, 8), False),
    ],
)
def test_it_holds_in_its_direction_alone(
    direction: str, either: bool, hits: tuple[int, int], holds: bool
) -> None:
    claim = replace(CLAIM, direction=direction)
    found = outcome(replace(ANNOUNCED, claim=claim, either=either), read(hits))
    assert found["holds"] is holds
    assert (found["h"] > 0) == (hits[0] / 160 > hits[1] / 320)


def test_a_side_without_labels_has_no_test() -> None:
    lines = [
        replace(one, label=None, status="error") if one.respondent in FIRST else one
        for one in planted((33, 1))
    ]
    votes = gathered(lines, RUBRICS)
    found = outcome(ANNOUNCED, reading(votes, majority(votes).labels))
    assert (found["p"], found["h"], found["holds"]) == (None, None, None)
    assert found["reason"] == "a side has no response with a label"
    assert section(ANNOUNCED, reading(votes, majority(votes).labels)).reason == found["reason"]


def test_what_is_printed_says_whether_it_was_there_first() -> None:
    done = section(ANNOUNCED, read((33, 1)))
    assert done.grids[0].title == "claim 1 (registered)"
    assert [row[1] for row in done.grids[0].rows] == [("33/160",), ("1/320",)]
    assert "p = 3.9e-16, h = 0.83: it holds" in done.notes[0]
    assert done.notes[0].endswith("Registered.")
    late = section(replace(ANNOUNCED, doubts=("no times",)), read((33, 1)))
    assert late.grids[0].title == "claim 1 (post hoc)"
    assert late.notes[0].endswith("Post hoc: no times.")


def claims(announced: Announced) -> list[dict[str, object]]:
    done = {one.name: one for one in sections(planted((1, 66)), RUBRICS, HOW, announced=announced)}
    assert list(done)[1] == NAME
    listed: list[dict[str, object]] = done["cross_lab_robustness"].result.get("claims", [])
    return [one for one in listed if one["registered"]]


def test_a_registered_claim_is_checked_like_the_others_and_a_late_one_is_not() -> None:
    either = replace(ANNOUNCED, either=True)
    (row,) = claims(either)
    assert row["direction"] == "less"
    assert row["checks"]["main"]["holds"] is True  # type: ignore[index]
    assert claims(replace(either, doubts=("no times",))) == []


def test_without_a_claim_nothing_is_said() -> None:
    assert NAME not in {one.name for one in sections(judgements(Plan()), RUBRICS, HOW)}
