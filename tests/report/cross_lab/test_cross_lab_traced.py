"""Traces crossed with the final label, against a count of tuples."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tests.report.cross_lab.planted import HOW, RUBRICS, Plan, judgements, truth, votes
from trace.report.cross_lab.sections import sections
from trace.report.cross_lab.traced import Trace, Traces, crossed, section
from trace.report.cross_lab.votes import majority

CATEGORY = "reasoning_suppression"
KINDS = ("absent", "set_aside", "acted_on")
PLAN = Plan()


def kind(i: int) -> str | None:
    """A third of traces each; every tenth could not be read."""
    return None if i % 10 == 9 else KINDS[i % 3]


def made(models: tuple[str, ...] = ("opus",), every: int = 1) -> Traces:
    read = [
        Trace(item=f"{CATEGORY}-{i:03d}", respondent=m, condition=c, label=kind(i))
        for m in models
        for c in ("base", "steered")
        for i in range(0, 100, every)
    ]
    return Traces(category=CATEGORY, labels=KINDS, read=read)


def test_every_answer_is_counted_where_its_trace_and_its_label_meet() -> None:
    of = votes(PLAN)
    found = crossed(of, majority(of), made(every=2))
    assert list(found) == ["opus"]
    for condition in ("base", "steered"):
        labels = truth(PLAN)[CATEGORY, condition, "opus"]
        wanted = Counter(
            ("none shown" if i % 2 else kind(i) or "unread", label)
            for i, label in enumerate(labels)
        )
        table = found["opus"][condition]
        got = {(trace, label): k for trace, row in table.items() for label, k in row.items() if k}
        assert got == wanted
        assert sum(got.values()) == 100


def test_what_symmetry_leaves_out_and_what_has_no_label_is_not_hidden() -> None:
    gone, few = f"{CATEGORY}-000", f"{CATEGORY}-001"
    lines = [
        replace(one, label=None, status="unparsable") if one.item == few else one
        for one in judgements(PLAN)
        if not (one.item == gone and one.condition == "base" and one.respondent == "opus")
    ]
    shown = {one.name: one for one in sections(lines, RUBRICS, HOW, traces=made())}
    table = shown["cross_lab_traces"].result["opus"]["steered"]
    assert sum(sum(row.values()) for row in table.values()) == 99
    assert table["set_aside"]["unscored"] == 1


def test_only_kinds_that_occur_have_a_row() -> None:
    of = votes(PLAN)
    (grid,) = section(of, majority(of), made(("opus", "grok"))).grids
    assert [row[0][0].strip() for row in grid.rows] == [
        name
        for who in ("grok, base", "grok, steered", "opus, base", "opus, steered")
        for name in (who, "absent", "set aside", "acted on", "unread")
    ]
    assert {len(row) for row in grid.rows} == {len(grid.header)}


def test_without_a_reader_there_is_a_reason() -> None:
    of = votes(PLAN)
    for traces in (None, replace(made(), read=[])):
        assert "benchmark.trace_judge" in (section(of, majority(of), traces).reason or "")
