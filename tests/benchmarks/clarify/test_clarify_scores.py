"""Shares and their difference, from planted outcomes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.benchmarks.clarify import tables
from trace.benchmarks.clarify.items import Item, Kind
from trace.benchmarks.clarify.outcomes import Outcome
from trace.benchmarks.clarify.scores import measure
from trace.benchmarks.responses import unjudged
from trace.records import Completion, Json, Record, Verdict
from trace.stats.paired import tango_interval

SAID = {True: "asks_back", False: "answers"}


def outcome(
    pair: int, kind: Kind, asks: bool | None, *, epoch: int = 0, finish: str = "stop"
) -> Outcome:
    item = Item(id=f"{pair}-{kind}", pair=str(pair), kind=kind, topic="boats", text="?")
    response = Completion(key="k", text="" if asks is None else "said", finish=finish)  # type: ignore[arg-type]
    verdict = unjudged(response) or Verdict(status="ok", label=SAID[bool(asks)])
    sample = item.shown(response.text)
    record = Record(
        id=item.id,
        gold=sample.gold,
        condition="plain",
        protocol="fine",
        verdict=verdict,
        judges={} if verdict.label is None else {"a": verdict},
        answers={},
        cluster=item.pair,
        epoch=epoch,
        meta=sample.meta,
    )
    return Outcome(item=item, response=response, record=record)


def measured(outcomes: list[Outcome]) -> dict[str, Json]:
    return measure(outcomes, draws=100, seed=0)


Side = st.one_of(st.none(), st.booleans())


@given(st.lists(st.tuples(Side, Side), min_size=1, max_size=12))
def test_shares_and_difference_are_counted(pairs: list[tuple[bool | None, bool | None]]) -> None:
    result = measured(
        [
            outcome(i, kind, asks)
            for i, pair in enumerate(pairs)
            for kind, asks in zip(("underspecified", "specified"), pair, strict=True)
        ]
    )
    for side, kind in enumerate(("underspecified", "specified")):
        said = [pair[side] for pair in pairs if pair[side] is not None]
        metric = result["metrics"][kind]
        assert metric["n"] == len(said)
        assert metric["n_unscored"] == len(pairs) - len(said)
        expected = sum(map(bool, said)) / len(said) if said else None
        assert metric["value"] == (None if expected is None else pytest.approx(expected))
    whole = [(a, b) for a, b in pairs if a is not None and b is not None]
    difference = result["metrics"]["difference"]
    assert difference["n"] == len(whole)
    if whole:
        gained = sum(a and not b for a, b in whole)
        lost = sum(b and not a for a, b in whole)
        assert difference["value"] == pytest.approx((gained - lost) / len(whole))
        ends = tango_interval(gained, lost, len(whole))
        assert (difference["low"], difference["high"]) == pytest.approx(ends)
    else:
        assert difference["reason"] == "no pairs with both"
    for grid in (tables.summary("t", "rule", result), *tables.further(result)):
        assert "None" not in grid.markdown()


def test_repeats_narrow_no_interval_and_the_difference_is_of_the_first() -> None:
    once = [
        outcome(i, kind, kind == "underspecified" and i < 5)
        for i in range(10)
        for kind in ("underspecified", "specified")
    ]
    again = [replace(o, record=replace(o.record, epoch=1)) for o in once]
    one, two = measured(once)["metrics"], measured([*once, *again])["metrics"]
    assert two["underspecified"]["n"] == 2 * one["underspecified"]["n"]
    for end in ("value", "low", "high"):
        assert two["underspecified"][end] == pytest.approx(one["underspecified"][end])
    assert two["difference"] == one["difference"]


def test_what_a_filter_stopped_is_in_no_share() -> None:
    result = measured(
        [
            outcome(0, "underspecified", True),
            outcome(0, "specified", False),
            outcome(1, "underspecified", False, finish="content_filter"),
            outcome(1, "specified", False),
        ]
    )
    metrics = result["metrics"]
    assert (metrics["underspecified"]["n"], metrics["underspecified"]["n_unscored"]) == (1, 0)
    assert metrics["provider_refused"]["value"] == 0.25
    assert metrics["coverage"]["value"] == 1
    assert result["breakdowns"]["finish"]["content_filter"] == 1
    assert result["breakdowns"]["status"]["refused"] == 0


def test_a_vote_that_is_set_aside_counts_for_no_judge() -> None:
    plain = outcome(0, "underspecified", True)
    aside = replace(plain, record=replace(plain.record, excluded=frozenset({"a"})))
    rows = [aside, outcome(1, "underspecified", False)]
    assert measured(rows)["breakdowns"]["judge"]["a"]["underspecified"]["n"] == 1
    assert measured(rows)["metrics"]["underspecified"]["n"] == 2
