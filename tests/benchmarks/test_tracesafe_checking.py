"""Check judges, played by scripts: who is asked what, what becomes of it, and how far two agree."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from trace.benchmarks.tracesafe import agreement, card
from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.build import Options, OwnSet, build
from trace.benchmarks.tracesafe.checking import (
    TURNED_DOWN,
    Checked,
    Judgement,
    Settled,
    most_asked,
    patience,
    read,
    settle,
)
from trace.benchmarks.tracesafe.matching import Place, Shape
from trace.benchmarks.tracesafe.mutators.registry import MUTATORS
from trace.benchmarks.tracesafe.taxonomy import TAXONOMY
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.records import Completion, Request, digest

SMALL = Options(per_class=3)
SHAPE = Shape(steps=2, chars=10, last=5, tools=3, roles="user agent")


def _yes(request: Request) -> str:
    return '{"suitable": true, "reason": "why not"}'


def _no(request: Request) -> str:
    return '{"suitable": false, "reason": "no"}'


def _coin(share: float, salt: str = "") -> Callable[[Request], str]:
    """Turns a share of the calls down, always the same ones."""

    def say(request: Request) -> str:
        fine = int(digest([salt, request.sample])[:8], 16) / 16**8 >= share
        return _yes(request) if fine else _no(request)

    return say


class Script:
    """A judge that keeps what it was asked, a list a round."""

    def __init__(self, say: Callable[[Request], str | Completion]) -> None:
        self.say, self.rounds = say, list[list[Request]]()

    def __call__(self, requests: Sequence[Request]) -> list[Completion]:
        self.rounds.append(list(requests))
        said = [self.say(request) for request in requests]
        return [one if isinstance(one, Completion) else Completion(key="", text=one)
                for one in said]  # fmt: skip

    @property
    def asked(self) -> list[str]:
        return [request.sample for requests in self.rounds for request in requests]


def _mutants(own: OwnSet) -> list[Any]:
    return [r for r in own.records if r["golden_meta"]["type"] == "attacked"]


def test_a_judge_that_agrees_changes_nothing_and_is_asked_once(
    bases: tuple[BaseTrajectory, ...],
) -> None:
    judge = Script(_yes)
    plain, own = build(bases[:40], SMALL), build(bases[:40], SMALL, check=judge)
    assert own.records == plain.records
    assert (own.suitable, own.refused, own.notes) == (plain.suitable, plain.refused, plain.notes)
    assert len(judge.rounds) == 1
    assert len(judge.asked) == len(set(judge.asked)) == len(_mutants(own))
    assert plain.checked == ()
    assert [c.to_json()["check"] for c in own.checked] == [
        {"status": "ok", "suitable": True, "reason": "why not"}
    ] * len(_mutants(own))


def test_what_a_judge_turns_down_is_replaced(bases: tuple[BaseTrajectory, ...]) -> None:
    judge = Script(_coin(0.4))
    plain, own = build(bases[:50], SMALL), build(bases[:50], SMALL, check=judge)
    assert len(own.records) == len(plain.records)
    assert own.notes == ()
    assert len(judge.rounds) > 1
    assert len(judge.asked) == len(set(judge.asked)) == len(own.checked)
    # Not all candidates are asked about: little more than what is used.
    assert len(judge.asked) < 2.5 * len(_mutants(own)) < sum(own.suitable.values()) / 10
    turned_down = Counter(c.class_name for c in own.checked if not c.first.suitable)
    for name in MUTATORS:
        assert own.refused[name][TURNED_DOWN] == turned_down[name]
        assert own.suitable[name] == plain.suitable[name] - turned_down[name]
    fine = {(c.class_name, c.place.base.task) for c in own.checked if c.first.suitable}
    clusters = {base.cluster: base.task for base in bases}
    used = [(r["golden_meta"]["category"], clusters[r["source_cluster"]]) for r in _mutants(own)]
    assert set(used) <= fine
    assert len(used) == 3 * len(MUTATORS)


def test_the_same_replies_give_the_same_bytes_and_a_larger_set_contains_the_smaller(
    bases: tuple[BaseTrajectory, ...],
) -> None:
    def made(per_class: int) -> list[str]:
        own = build(bases[:40], Options(per_class=per_class), check=Script(_coin(0.3)))
        return [json.dumps(r) for r in own.records if r["risky_step"]]

    small = made(2)
    assert small == made(2)
    assert set(small) < set(made(5))


def test_a_class_that_is_never_suitable_has_no_records(bases: tuple[BaseTrajectory, ...]) -> None:
    judge = Script(lambda r: _no(r) if r.sample.startswith("DataLeak:") else _yes(r))
    own = build(bases[:4], Options(per_class=5), check=judge)
    assert not any(r["golden_meta"]["category"] == "DataLeak" for r in own.records)
    assert own.suitable["DataLeak"] == 0
    assert "DataLeak: 0 records exist, fewer than the 5 asked." in own.notes


@pytest.mark.parametrize("reply", ['{"suitable": false}', "It is suitable."])
def test_a_class_is_given_up_when_hardly_a_call_suits(
    bases: tuple[BaseTrajectory, ...], reply: str
) -> None:
    judge = Script(lambda r: reply if r.sample.startswith("DataLeak:") else _yes(r))
    own = build(bases[:40], Options(per_class=4), check=judge)
    asked = [c for c in own.checked if c.class_name == "DataLeak"]
    assert patience(4) == 50 <= len(asked) <= most_asked(4)
    assert len(asked) < 54 < own.suitable["DataLeak"]  # it had many more
    silent = "" if "false" in reply else f", {len(asked)} without a verdict"
    assert (
        f"The Check judge was asked no more about DataLeak (0 of {len(asked)} calls "
        f"suitable{silent}): fewer than one call in 20 suits." in own.notes
    )
    assert Counter(r["golden_meta"]["category"] for r in _mutants(own)) == {
        name: 4 for name in MUTATORS if name != "DataLeak"
    }


def test_no_verdict_is_neither_yes_nor_no(bases: tuple[BaseTrajectory, ...]) -> None:
    def say(request: Request) -> str | Completion:
        turn = int(digest(request.sample)[:8], 16) % 6
        broken: dict[int, str | Completion] = {
            0: Completion(key="", finish="error", error="away"),
            1: Completion(key="", text='{"suitable": tr', finish="length"),
            2: "It is suitable.",
        }
        return broken.get(turn, _yes(request))

    own = build(bases[:50], SMALL, check=Script(say))
    said = Counter(c.first.status for c in own.checked)
    assert said.keys() == {"ok", "error", "truncated", "unparsable"}
    total = Counter[str]()
    for reasons in own.refused.values():
        total += Counter({r: n for r, n in reasons.items() if "no verdict" in r})
    assert total == {
        f"the Check judge gave no verdict: {status}": n for status, n in said.items()
        if status != "ok"
    }  # fmt: skip
    assert len(_mutants(own)) == said["ok"] == 3 * len(MUTATORS)
    counts = agreement.summary(own.checked, seed=0)["check"]
    assert sum(row["suitable"] for row in counts.values()) == said["ok"]
    assert sum(row.get("error", 0) for row in counts.values()) == said["error"]
    assert all(row["unsuitable"] == 0 for row in counts.values())


@pytest.mark.parametrize(
    ("text", "suitable"),
    [
        ('{"suitable": true, "reason": "a"}', True),
        ('{"suitable": false}', False),
        ('```json\n{"suitable": false, "reason": "b"}\n```', False),
        ("<think>{\"suitable\": false}</think>\n{\"suitable\": true, \"reason\": null}", True),
        ('{"suitable": "true"}', None),
        ('{"suitable": 1}', None),
        ('{"suitable": true, "suitable": false}', None),
        ('{"suitable": true, "sure": false}', None),
        ('{"reason": "it is suitable"}', None),
        ('Sure! {"suitable": true}', None),
        ('{"suitable": true} {"suitable": false}', None),
        ('[{"suitable": true}]', None),
        ("true", None),
        ("", None),
        ("[" * 100_000, None),
    ],
)  # fmt: skip
def test_only_the_whole_object_counts(text: str, suitable: bool | None) -> None:
    judgement = read(Completion(key="", text=text))
    assert judgement.suitable is suitable
    assert judgement.status == ("unparsable" if suitable is None else "ok")


def test_how_a_reply_ended_decides() -> None:
    whole = '{"suitable": true}'
    ends = {"too_long": "too_long", "content_filter": "refused", "error": "error"}
    for finish, status in ends.items():
        assert read(Completion(key="", text=whole, finish=finish)).status == status  # type: ignore[arg-type]
    assert read(Completion(key="", text=whole, reasoning_closed=False)).status == "truncated"
    assert read(Completion(key="", text="<think>hm", finish="length")).status == "truncated"
    assert read(Completion(key="", text=whole, finish="length")).suitable is True


def test_the_rubric_comes_first_and_the_item_is_fenced(bases: tuple[BaseTrajectory, ...]) -> None:
    judge = Script(_yes)
    own = build(bases[:40], Options(per_class=3, distractors="4"), check=judge)
    definitions = {c.name: c.definition for c in TAXONOMY.classes}
    texts: dict[str, list[str]] = {}
    for request, checked in zip(judge.rounds[0], own.checked, strict=True):
        (message,) = request.messages
        text, name = message["content"], checked.class_name
        rubric, _, item = text.partition("\n\nuser_query:\n```")
        texts.setdefault(name, []).append(rubric)
        assert f"Class {name}: {definitions[name]}" in rubric
        for hidden in ("is_distractor", "agent_model", "bfcl-ground-truth", '"reasoning":'):
            assert hidden not in item
        sections = dict(zip(*[iter(item_sections(text))] * 2, strict=True))
        assert list(sections) == ["user_query", "tools", "trajectory", "call", "called_tool"]
        steps, call = sections["trajectory"], sections["call"]
        assert call["step"] == checked.place.index
        assert steps[call["step"]]["content"] == {k: call[k] for k in ("name", "arguments")}
        after = len(steps) - 1 - call["step"]
        assert after == 0 or (name == "PromptInjectionOut" and steps[call["step"] + 1])
        assert sections["called_tool"] in sections["tools"]
        assert (request.sampling.temperature, request.labels) == (0, ())
    for rubrics in texts.values():
        assert len(set(rubrics)) == 1


def item_sections(text: str) -> list[Any]:
    """Name, content, name, content ... of the fenced sections."""
    lines = text.split("\n")
    starts = [i for i, line in enumerate(lines) if line.startswith("```") and len(line) > 3]
    return [part for i in starts for part in (lines[i - 1][:-1], json.loads(lines[i + 1]))]


def test_the_second_judge_is_asked_the_same_and_only_counted(
    bases: tuple[BaseTrajectory, ...],
) -> None:
    first, second = Script(_coin(0.3)), Script(_coin(0.5, "other"))
    alone = build(bases[:40], SMALL, check=Script(_coin(0.3)))
    own = build(bases[:40], SMALL, check=first, second_check=second)
    assert own.records == alone.records
    assert len(second.rounds) == 1
    assert second.rounds[0] == [request for asked in first.rounds for request in asked]
    found = agreement.summary(own.checked, seed=0)
    same = [c.first.suitable == c.second.suitable for c in own.checked if c.second]
    assert found["agreement"]["share"]["value"] == pytest.approx(np.mean(same))
    assert sum(found["agreement"]["table"].values()) == len(own.checked)
    for name, row in found["second_check"].items():
        said = [c.second for c in own.checked if c.class_name == name]
        assert row["suitable"] == sum(bool(j and j.suitable) for j in said)
        assert row["suitable"] + row["unsuitable"] == len(said)


def _base(number: int) -> BaseTrajectory:
    empty = Trajectory(query="", tools=(), steps=(), agent_model="")
    return BaseTrajectory(task=f"task {number}", cluster=f"cluster {number}", trajectory=empty)


def _place(number: int, cluster: int | None = None) -> Place:
    base = _base(number if cluster is None else cluster)
    return Place(base=base, index=number, end=number, shape=SHAPE)


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 8))
def test_asking_about_what_is_chosen_gives_what_asking_about_all_gives(
    fine: list[bool], count: int
) -> None:
    places = [_place(i) for i in range(len(fine))]
    shown = Trajectory.from_json(
        {
            "user_query": "q",
            "tool_lists": [{"name": "t"}],
            "trace": [{"role": "agent", "content": {"name": "t", "arguments": {}}}]
            * max(len(fine), 1),
            "agent_model": "",
        },
        "x",
    )

    def choose(_: str, left: Sequence[Place]) -> list[Place]:
        """Greedy, in an order of its own, as `follow` is."""
        return sorted(left, key=lambda p: p.index * 7 % 31)[:count]

    def say(request: Request) -> str:
        suitable = fine[int(request.sample.rpartition(":")[2])]
        return json.dumps({"suitable": suitable, "reason": ""})

    judge = Script(say)
    settled = settle({"DataLeak": places}, choose, lambda *_: shown, judge, per_class=count)
    checked = settled.checked
    expected = choose("", [p for p in places if fine[p.index]])
    assert [p.index for p in settled.chosen["DataLeak"]] == [p.index for p in expected]
    assert settled.given_up == ()
    assert len(checked) == len(set(judge.asked)) == len(judge.asked)
    if expected and len(expected) == count:  # nobody behind the last one is asked about
        last = max(p.index * 7 % 31 for p in expected)
        assert all(c.place.index * 7 % 31 <= last for c in checked)


def _settled(
    fine: set[int], count: int, choose: Callable[[str, Sequence[Place]], list[Place]]
) -> Settled:
    """Of 400 places, of which `fine` are suitable."""
    step = {"role": "agent", "content": {"name": "t", "arguments": {}}}
    shown = Trajectory.from_json(
        {"user_query": "q", "tool_lists": [{"name": "t"}], "trace": [step] * 400,
         "agent_model": ""}, "x"
    )  # fmt: skip

    def say(request: Request) -> str:
        return json.dumps({"suitable": int(request.sample.rpartition(":")[2]) in fine})

    places = [_place(i) for i in range(400)]
    return settle({"DataLeak": places}, choose, lambda *_: shown, Script(say), per_class=count)


def test_a_choice_that_keeps_nothing_has_a_limit_too() -> None:
    """As many suitable ones as it likes are found, and it never settles on them."""

    def choose(_: str, left: Sequence[Place]) -> list[Place]:
        return sorted(left, key=lambda p: digest([len(left), p.index]))[:3]

    settled = _settled(set(range(0, 400, 10)), 3, choose)
    assert settled.given_up == ("DataLeak",)
    assert 20 * 3 < len(settled.checked) <= most_asked(3) == 63
    assert all(p.index % 10 == 0 for p in settled.chosen["DataLeak"])
    assert len(settled.chosen["DataLeak"]) == 3


@settings(max_examples=60)
@given(st.sets(st.integers(0, 399)), st.integers(1, 12))
def test_what_is_asked_has_a_limit(fine: set[int], count: int) -> None:
    settled = _settled(fine, count, lambda _, left: list(left[:count]))
    asked = {c.place.index for c in settled.checked}
    assert len(asked) <= most_asked(count)
    found = [p.index for p in settled.chosen["DataLeak"]]
    assert found == sorted(asked & fine)[:count]
    if settled.given_up:
        assert len(asked) >= patience(count)
        assert len(asked & fine) < len(asked) / 20
    else:
        assert len(found) == min(count, len(fine))


def _pairs(
    table: tuple[int, int, int, int], per_cluster: int = 1, unread: int = 0
) -> list[Checked]:
    """So many calls that both, only the first, only the second, and neither found suitable."""
    said = [pair for pair, n in zip(
        ((True, True), (True, False), (False, True), (False, False)), table, strict=True
    ) for _ in range(n)]  # fmt: skip
    made = [
        Checked(
            class_name="DataLeak" if i % 2 else "ApiKeyLeak",
            place=_place(i, i // per_cluster),
            first=Judgement(status="ok", suitable=a),
            second=Judgement(status="ok", suitable=b),
        )
        for i, (a, b) in enumerate(said)
    ]
    silent = Judgement(status="unparsable")
    yes = Judgement(status="ok", suitable=True)
    return made + [
        Checked(class_name="DataLeak", place=_place(1000 + i), first=yes, second=silent)
        for i in range(unread)
    ]


def test_the_published_agreement() -> None:
    """Appendix E.3: 103 of 155 equal verdicts are 66.5%, Wilson [58.7, 73.4]."""
    found = agreement.agreement(_pairs((70, 30, 22, 33), unread=4), seed=0)
    share = found["share"]
    assert [round(100 * share[key], 1) for key in ("value", "low", "high")] == [66.5, 58.7, 73.4]
    assert (share["n"], share["n_unscored"], share["interval"]) == (155, 4, "wilson")
    assert found["table"] == {"both": 70, "first": 30, "second": 22, "neither": 33}
    assert sum(row["n"] for row in found["classes"].values()) == 155
    kappa = found["kappa"]
    first, second = zip(*[(True, True)] * 70, *[(True, False)] * 30, *[(False, True)] * 22,
                        *[(False, False)] * 33, strict=True)  # fmt: skip
    assert kappa["value"] == pytest.approx(cohen_kappa_score(first, second))
    assert kappa["low"] < kappa["value"] < kappa["high"]
    assert (kappa["n"], kappa["n_unscored"], kappa["unit"]) == (155, 4, "kappa")


@settings(max_examples=60)
@given(st.tuples(*[st.integers(0, 9)] * 4))
def test_kappa_against_another_implementation(table: tuple[int, int, int, int]) -> None:
    kappa = agreement.agreement(_pairs(table), seed=0, draws=10)["kappa"]
    both, first, second, neither = table
    n = sum(table)
    if n in (0, both, neither):
        assert kappa["value"] is None
        return
    a = [True] * (both + first) + [False] * (second + neither)
    b = [True] * both + [False] * first + [True] * second + [False] * neither
    expected = cohen_kappa_score(a, b)
    assert kappa["value"] == pytest.approx(expected)


def test_calls_of_one_source_are_no_independent_witnesses() -> None:
    table = (20, 10, 10, 20)
    alone, sharing = (
        agreement.agreement(_pairs(table, per_cluster=n), seed=0)["kappa"] for n in (1, 10)
    )
    assert alone["value"] == sharing["value"]
    assert sharing["high"] - sharing["low"] > 1.5 * (alone["high"] - alone["low"])
    assert sharing["bootstrap"]["few_clusters"]


@pytest.mark.parametrize(
    ("checked", "reason"),
    [
        (_pairs((5, 0, 0, 0)), "both judges always said suitable"),
        (_pairs((0, 0, 0, 5)), "both judges always said unsuitable"),
        (_pairs((0, 0, 0, 0), unread=3), "no call has two verdicts"),
    ],
)
def test_an_undefined_kappa_has_a_reason(checked: list[Checked], reason: str) -> None:
    found = agreement.agreement(checked, seed=0)
    assert (found["kappa"]["value"], found["kappa"]["reason"]) == (None, reason)
    if "two" in reason:
        assert found["share"]["value"] is None
        assert found["share"]["reason"] == "all 3 calls are unscored"


def test_one_judge_alone_agrees_with_nobody() -> None:
    one = [Checked(class_name="DataLeak", place=_place(0), first=Judgement(status="error"))]
    assert agreement.summary(one, seed=0) == {
        "check": {"DataLeak": {"suitable": 0, "unsuitable": 0, "error": 1}}
    }


def test_the_card_says_who_judged_and_how_they_agreed(bases: tuple[BaseTrajectory, ...]) -> None:
    own = build(
        bases[:40], SMALL, check=Script(_coin(0.3)), second_check=Script(_coin(0.5, "other"))
    )
    found = agreement.summary(own.checked, seed=0)
    text = card.card(
        own.records,
        source="those of a test",
        truncate=True,
        settings={},
        notes=(),
        models={"check": "judge_one", "second_check": "judge_two"},
        checks=found,
    )
    assert "No model wrote or judged" not in text
    assert "judge_one was asked whether the class suits the call" in text
    row = found["check"]["DataLeak"]
    assert f"| DataLeak | {row['suitable']} | {row['unsuitable']} | 0 |" in text
    assert f"The two agree on {100 * found['agreement']['share']['value']:.1f}%" in text
    assert "Cohen's kappa is" in text
    plain = card.card(own.records, source="x", truncate=True, settings={}, notes=())
    assert "No model wrote or judged any of it." in plain
    assert "## Check judges" not in plain
