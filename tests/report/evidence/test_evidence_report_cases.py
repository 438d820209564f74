"""Case studies are those that their rules pick."""

from __future__ import annotations

from typing import Any

from tests.report.evidence.conftest import (
    HOW,
    TRIPLES,
    Triple,
    exactly,
    guard,
    make_run,
)
from trace.report.evidence import (
    cases,
)
from trace.report.evidence.guards import Guard, guards_of


def _case(one: Guard, rule: str) -> dict[str, Any]:
    found: dict[str, Any] = cases.cases([one])[one.name][rule]
    return found


def test_a_missed_triple_is_the_surest_of_those_called_safe() -> None:
    all_unsafe = [t for t in TRIPLES if all(t["unsafe"].values())]

    def score(triple: Triple, called: bool) -> float:
        return 0.01 if triple["id"] == all_unsafe[5]["id"] else 0.2

    found = _case(guard(lambda *_: False, score=score), "missed")
    assert found["fitting"] == len(all_unsafe)
    assert found["case"]["triple"] == all_unsafe[5]["id"]
    assert (found["case"]["by"], found["case"]["value"]) == ("score", 0.01)
    assert {c["label"] for c in found["case"]["components"].values()} == {"Safe"}
    assert found["case"]["prompt_id"] == all_unsafe[5]["prompt_id"]


def test_without_scores_the_longest_is_shown_and_ties_go_by_id() -> None:
    all_safe = sorted(t["id"] for t in TRIPLES if not any(t["unsafe"].values()))
    found = _case(guard(lambda *_: True), "over_refusal")
    assert found["fitting"] == len(all_safe)
    assert found["case"]["by"] == "chars"
    longest = max(map(len, all_safe))
    assert found["case"]["triple"] == next(i for i in all_safe if len(i) == longest)


def test_right_with_wrong_evidence_has_the_lowest_token_f1() -> None:
    all_unsafe = [t["id"] for t in TRIPLES if all(t["unsafe"].values())]

    def say(triple: Triple) -> str:
        return "nothing alike" if triple["id"] == all_unsafe[3] else "fetch the red lamp"

    found = _case(guard(exactly, say=say), "right_wrong_evidence")
    assert found["fitting"] == len(all_unsafe)
    assert (found["case"]["triple"], found["case"]["value"]) == (all_unsafe[3], 0)
    silent = _case(guard(exactly), "right_wrong_evidence")
    assert (silent["case"], silent["reason"]) == (None, "it explains nothing")


def test_evidence_is_as_near_as_it_looks() -> None:
    """A zero-width blank inside a word makes it no other one, as in the runs' TokenF1."""
    found = _case(guard(exactly, say=lambda t: f"fe\u200btch the red lamp {t['prompt_id']}"),
                  "right_wrong_evidence")  # fmt: skip
    assert found["case"]["value"] == 1


def test_under_refusal_is_of_one_component_and_needs_no_other() -> None:
    (alone,) = guards_of([make_run(lambda *_: False, "trace")], HOW)
    found = _case(alone, "under_refusal")
    assert list(found["case"]["components"]) == ["trace"]
    assert found["fitting"] == sum(t["unsafe"]["trace"] for t in TRIPLES)
    assert _case(alone, "missed")["reason"] == "not run on prompt, response"
    assert _case(guard(exactly), "missed") == {"fitting": 0, "case": None, "reason": "none fits"}
