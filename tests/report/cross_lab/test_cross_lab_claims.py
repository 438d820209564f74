"""The claims that votes suggest, and those that were written down."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.cross_lab.planted import (
    FULL,
    HOW,
    MODELS,
    RUBRICS,
    Plan,
    judgements,
    votes,
)
from trace.errors import DataError
from trace.report.cross_lab.claims import Claim, found_claims
from trace.report.cross_lab.family import Reading, reading
from trace.report.cross_lab.sections import sections
from trace.report.cross_lab.votes import Votes, majority
from trace.report.cross_lab.words import HELD_OUT

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
