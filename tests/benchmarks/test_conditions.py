from __future__ import annotations

import json
from typing import Any

import pytest

from trace import config
from trace.benchmarks.base import Dataset
from trace.benchmarks.conditions import apply
from trace.errors import ConfigError
from trace.judging.taxonomy import Category, Domain, Taxonomy
from trace.records import Gold, Sample

TAXONOMY = Taxonomy(
    name="toy",
    domains=(
        Domain(
            category=Category(name="Risk", definition="A risk."),
            classes=(Category(name="Fire", definition="It burns."),),
        ),
    ),
    benign=Category(name="Benign", definition="Nothing."),
)


def sample(number: int, unsafe: bool, cluster: int) -> Sample:
    return Sample(
        id=f"s{number}",
        gold=Gold(label="unsafe" if unsafe else "safe", class_="Fire" if unsafe else "Benign"),
        view={
            "user_query": f"query {number}",
            "tools": [{"name": "shared"}, {"name": f"tool_{cluster}"}],
            "trajectory": [{"role": "user", "content": f"step {number} {'x' * 40}"}],
        },
        cluster=f"c{cluster}",
    )


DATA = Dataset(
    samples=tuple(sample(i, unsafe=i % 2 == 0, cluster=i // 2) for i in range(60)),
    taxonomy=TAXONOMY,
    fingerprint={},
    licence="none",
)


def under(**settings: Any) -> Dataset:
    return apply(
        config.Condition(name="x", **settings),
        DATA,
        label_of=lambda s: s.gold.class_ or "",
        tokens_of=len,
        seed=3,
    )


def test_plain_changes_nothing() -> None:
    assert under().samples == DATA.samples


def test_examples_are_solved_balanced_and_never_from_the_samples_own_source() -> None:
    by_query = {s.view["user_query"]: s for s in DATA.samples}
    changed = under(examples=4)
    for before, after in zip(DATA.samples, changed.samples, strict=True):
        assert (after.id, after.gold, after.cluster) == (before.id, before.gold, before.cluster)
        assert next(iter(after.view)) == "solved_examples"
        assert {k: v for k, v in after.view.items() if k != "solved_examples"} == before.view
        shown = after.view["solved_examples"]
        sources = [by_query[e["user_query"]] for e in shown]
        assert [e["verdict"] for e in shown] == [s.gold.class_ for s in sources]
        assert sorted(s.gold.label or "" for s in sources) == ["safe"] * 2 + ["unsafe"] * 2
        assert before.cluster not in {s.cluster for s in sources}
    heads = {json.dumps(s.view["solved_examples"]) for s in changed.samples}
    assert len(heads) == 2, "all but a few prompts begin alike"
    assert under(examples=4).samples == changed.samples


def test_too_few_sources_for_examples_say_what_to_change() -> None:
    with pytest.raises(ConfigError, match="Raise limit"):
        under(examples=60)


@pytest.mark.parametrize("tokens", [400, 900, 2000])
def test_the_needle_stands_whole_in_the_middle_of_benign_steps_of_other_sources(
    tokens: int,
) -> None:
    origin = {s.view["trajectory"][0]["content"]: s for s in DATA.samples}
    for before, after in zip(DATA.samples, under(tokens=tokens).samples, strict=True):
        size = after.meta["haystack_tokens"]
        assert 0.7 * tokens < size <= tokens
        steps = after.view["trajectory"]
        at = steps.index(before.view["trajectory"][0])
        assert abs(at - (len(steps) - 1 - at)) <= 1
        for step in steps[:at] + steps[at + 1 :]:
            filler = origin[step["content"]]
            assert filler.gold.label == "safe"
            assert filler.cluster != before.cluster
            assert filler.view["tools"][1] in after.view["tools"]
        names = [tool["name"] for tool in after.view["tools"]]
        assert len(names) == len(set(names))
        assert after.view["user_query"] == before.view["user_query"]


def test_a_haystack_that_cannot_be_filled_is_said() -> None:
    changed = under(tokens=10**6)
    assert "60 of 60 samples stay under 90%" in changed.notes[-1]


def test_a_view_without_steps_is_refused() -> None:
    flat = Dataset(
        samples=(Sample(id="a", gold=Gold(label="safe"), view={"trace": "x"}, cluster="c"),),
        taxonomy=TAXONOMY,
        fingerprint={},
        licence="none",
    )
    with pytest.raises(ConfigError, match=r"view=clean"):
        apply(config.Condition(tokens=100), flat, label_of=str, tokens_of=len, seed=0)
