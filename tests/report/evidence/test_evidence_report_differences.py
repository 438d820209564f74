"""Differences between components and between groups of triples are the planted ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from tests.report.evidence.conftest import (
    HOW,
    TRIPLES,
    Triple,
    exactly,
    guard,
    make_run,
    make_triples,
    right_at,
    runs_of,
)
from trace.records import Verdict
from trace.report.compare.judged import How
from trace.report.evidence import (
    groups,
    stages,
)
from trace.report.evidence.contrast import f1_contrast
from trace.report.evidence.guards import guards_of
from trace.report.judged import Judged


def judged(rows: Sequence[tuple[bool, bool, int]]) -> list[Judged]:
    names = ("Safe", "Unsafe")
    return [
        Judged(gold=names[g], verdict=Verdict(status="ok", label=names[c]), cluster=f"p{p}",
               class_=names[g])
        for g, c, p in rows
    ]  # fmt: skip


ROWS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=1, max_size=25)


@settings(max_examples=60)
@given(ROWS, ROWS)
def test_a_contrast_is_the_difference_of_two_f1(first: Any, second: Any) -> None:
    how = How(unscored="as_wrong", draws=20, seed=0)
    found = f1_contrast(judged(first), judged(second), "Safe", how, names=("a", "b"))
    back = f1_contrast(judged(second), judged(first), "Safe", how, names=("b", "a"))
    if not all(any(g for g, *_ in rows) for rows in (first, second)):
        assert found["value"] is None
        assert "no unsafe samples" in found["reason"]
        return
    values = [f1_score([g for g, *_ in r], [c for _, c, _ in r], zero_division=0)
              for r in (first, second)]  # fmt: skip
    assert found["value"] == pytest.approx(values[0] - values[1])
    assert back["value"] == pytest.approx(-values[0] + values[1])


def test_a_paired_interval_is_that_of_resampled_prompts() -> None:
    """Against drawing prompts one by one, with both components of all their triples."""
    one = guard(right_at({"prompt": 0.9, "trace": 0.7, "response": 0.8}))
    how = How(unscored="as_wrong", draws=4000, seed=1)
    found = stages.stages([one], how)["guards"]["guard"]["differences"]["prompt − trace"]
    rows: dict[str, list[tuple[bool, ...]]] = {}
    for a, b in zip(one.runs["prompt"].once, one.runs["trace"].once, strict=True):
        assert a.id == b.id
        pair = [o.gold == "Unsafe" for o in (a, b)], [o.verdict.label == "Unsafe" for o in (a, b)]
        rows.setdefault(a.cluster, []).append((pair[0][0], pair[1][0], pair[0][1], pair[1][1]))
    rng = random.Random(5)
    values = []
    for _ in range(400):
        drawn = [row for name in rng.choices(list(rows), k=len(rows)) for row in rows[name]]
        table = np.array(drawn)
        values.append(f1_score(table[:, 0], table[:, 1]) - f1_score(table[:, 2], table[:, 3]))
    low, high = np.quantile(values, (0.025, 0.975))
    assert found["low"] == pytest.approx(low, abs=0.03)
    assert found["high"] == pytest.approx(high, abs=0.03)


def test_only_shared_triples_are_paired() -> None:
    prompt = make_run(exactly, "prompt", triples=TRIPLES[:100])
    trace = make_run(exactly, "trace", triples=TRIPLES[60:])
    (made,) = guards_of([prompt, trace], HOW)
    row = stages.stages([made], HOW)["guards"]["guard"]
    assert row["differences"]["prompt − trace"]["triples"] == 40
    assert list(row["differences"]) == ["prompt − trace"]


def test_ranks_and_counts_of_the_hardest_component() -> None:
    """14 of 18 find prompts easiest and traces hardest, as the paper says of its guards."""
    usual_ = right_at({"prompt": 1.0, "trace": 0.6, "response": 0.9})
    other = right_at({"prompt": 0.6, "trace": 0.9, "response": 1.0})
    runs = [r for i in range(14) for r in runs_of(usual_, f"usual{i}")]
    runs += [r for i in range(4) for r in runs_of(other, f"other{i}")]
    runs += runs_of(exactly, "equal") + runs_of(exactly, "short")[:2]
    found = stages.stages(guards_of(runs, HOW), HOW)
    assert found["ranked"] == 19
    assert found["hardest"] == {"prompt": 4, "trace": 14, "response": 0, "tied": 1}
    assert found["easiest"] == {"prompt": 14, "trace": 0, "response": 4, "tied": 1}
    assert found["guards"]["usual0"]["ranks"] == {"prompt": 1.0, "trace": 3.0, "response": 2.0}
    assert found["guards"]["equal"]["ranks"] == {"prompt": 2.0, "trace": 2.0, "response": 2.0}
    assert found["guards"]["equal"]["differences"]["prompt − trace"]["value"] == 0
    alone = stages.section(list(guards_of(runs_of(exactly)[:1], HOW)), HOW)
    assert "two components" in str(alone.reason)


@pytest.mark.parametrize(
    ("by", "favoured"),
    [(groups.FAMILY, "Qwen"), (groups.ALIGNED, "aligned"), (groups.LANGUAGE, "zh")],
)
def test_table_7_and_the_languages_recover_a_planted_group(by: groups.Split, favoured: str) -> None:
    triples = make_triples(60)
    probe = make_run(exactly, "trace", triples=triples)
    group = {o.id: by.of(o) for o in probe.once}

    def answer(component: str, triple: Triple, luck: random.Random) -> bool:
        good = group[triple["id"]] == favoured
        return bool(triple["unsafe"][component]) == (luck.random() < (1.0 if good else 0.6))

    found = groups.split([guard(answer, triples=triples)], by, HOW)
    assert list(found["components"]) == list(by.components)
    sign = 1 if favoured == by.groups[0] else -1
    for component in by.components:
        row = found["components"][component]["guard"]
        assert row[favoured]["value"] == 1
        assert sign * row["difference"]["value"] > 0.1
        assert row["difference"]["low"] * row["difference"]["high"] > 0
        assert found["better"][component][favoured] == 1


def test_groups_that_are_not_there_are_said() -> None:
    english = [t | {"language": "en"} for t in TRIPLES]
    section = groups.section([guard(exactly, triples=english)], groups.LANGUAGE, HOW)
    assert section.reason == "no triple is zh; there are en"
    alone = guards_of(runs_of(exactly)[:1], HOW)
    assert groups.section(alone, groups.FAMILY, HOW).reason == "no run on trace or response"
