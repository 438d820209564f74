"""What the peers of a respondent agree on."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.benchmarks.cross_lab.made_items import MAJORITY, outcome
from trace.judging.panel import Rule
from trace.records import Finish

FIVE = ("a", "b", "c", "d", "e")


def votes(labels: str) -> dict[str, str | None]:
    """One letter a judge: d does, x declines, a dash is no label."""
    words = {"d": "does", "x": "declines", "-": None}
    return {name: words[letter] for name, letter in zip(FIVE, labels, strict=False)}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("dddxx", "does"),
        ("dd---", "does"),
        ("d----", "unparsable"),
        ("ddxx-", "unsupported"),
        ("-----", "unparsable"),
        ("xxd--", "declines"),
    ],
)
def test_most_votes_win_and_ties_or_too_few_are_unscored(labels: str, expected: str) -> None:
    verdict = outcome(votes(labels)).verdict
    assert (verdict.label or verdict.status) == expected
    assert (verdict.label is None) == (verdict.rationale is not None)


def test_the_order_of_the_judges_plays_no_part() -> None:
    found = {
        outcome({name: votes("ddxx-")[name] for name in order}).verdict.rationale
        for order in permutations(FIVE)
    }
    assert found == {"no label by majority: 2 declines, 2 does"}


def test_the_own_vote_is_kept_apart() -> None:
    five = {**votes("ddxx-"), "own": "does"}
    assert outcome(five).verdict.label == "does"
    apart = outcome(five, own=frozenset({"own"}))
    assert apart.verdict.status == "unsupported"
    line = apart.to_json("base", "rubric")
    assert {name: vote["own"] for name, vote in line["judges"].items()} == {
        **dict.fromkeys(FIVE, False), "own": True,
    }  # fmt: skip


def test_a_vote_that_is_set_aside_is_in_the_record_and_not_in_the_label() -> None:
    made = outcome(votes("ddx--"), excluded=frozenset({"a"}))
    assert made.verdict.status == "unsupported"
    judges = made.to_json("base", "rubric")["judges"]
    assert judges["a"]["excluded"] is True
    assert "excluded" not in judges["b"]


def test_the_respondent_as_the_only_judge_labels_nothing() -> None:
    alone = outcome({"own": "does"}, own=frozenset({"own"}),
                    rule=Rule(name="majority", min_valid=1, ties="unscored"))  # fmt: skip
    assert (alone.verdict.status, alone.verdict.label) == ("unsupported", None)


@pytest.mark.parametrize(
    ("finish", "text", "status"),
    [("content_filter", "x", "refused"), ("too_long", "", "too_long"), ("error", "", "error"),
     ("length", "", "truncated"), ("stop", " \n", "unparsable")],
)  # fmt: skip
def test_what_nobody_could_judge_says_why(finish: Finish, text: str, status: str) -> None:
    made = outcome({}, finish=finish, text=text)
    assert (made.verdict.status, made.verdict.label) == (status, None)


def test_an_answer_that_was_cut_off_is_judged_as_it_stands() -> None:
    made = outcome(votes("dddxx"), finish="length", text="Dear neigh")
    assert made.verdict.label == "does"
    assert made.to_json("base", "rubric")["truncated"] is True


def test_a_line_has_what_every_record_has() -> None:
    line = outcome(votes("ddd--"), rule=MAJORITY).to_json("steered", "rubric")
    assert {"id", "gold", "condition", "protocol", "epoch", "verdict", "judges", "response",
            "sample"} <= set(line)  # fmt: skip
    assert line["gold"] == {"label": None, "domain": None, "class": None}
    assert line["sample"]["cluster"] == line["id"]
    assert set(line["verdict"]) == {"status", "label", "score", "evidence", "rationale"}
    assert {"key", "text", "reasoning", "finish", "prompt_tokens", "completion_tokens"} <= set(
        line["response"]
    )
