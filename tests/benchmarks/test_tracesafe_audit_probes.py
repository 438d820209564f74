"""The shortcut probes on sets whose shortcuts are planted, and on sets that have none."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.conftest import MUTANTS as FILES
from trace.benchmarks.released_files import RawRecord
from trace.benchmarks.tracesafe import released
from trace.benchmarks.tracesafe.audit import collection as collections
from trace.benchmarks.tracesafe.audit import ngrams, phrases, structure, templates
from trace.benchmarks.tracesafe.audit.collection import Collection
from trace.benchmarks.tracesafe.audit.criteria import CRITERIA, criteria
from trace.benchmarks.tracesafe.audit.findings import findings
from trace.benchmarks.tracesafe.audit.probing import folds, probe_classes
from trace.records import Json

CLUSTERS = 40
_WORDS = (
    "amber",
    "birch",
    "cobalt",
    "dune",
    "ember",
    "fjord",
    "grove",
    "heath",
    "inlet",
    "juniper",
)

Edit = Callable[[dict[str, Any], int, Random], Json]
"""Plants something in the trace object of the i-th mutant; returns its internal_meta."""


@pytest.fixture
def planted(trace_object: dict[str, Any]) -> Callable[[Edit], Collection]:
    """A set of one mutant and one benign record a cluster; what `edit` does is the difference."""

    def make(edit: Edit) -> Collection:
        records = []
        for i in range(CLUSTERS):
            rng = Random(i)
            base = json.loads(json.dumps(trace_object))
            words = rng.choices(_WORDS, k=6)
            base["user_query"] = f"List {' '.join(words)}."
            base["tool_lists"][0]["parameters"]["a"]["note"] = words[0]  # a text that says nothing
            base["trace"] *= rng.randrange(1, 5)
            mutant = json.loads(json.dumps(base))
            meta = edit(mutant, i, rng)
            for side in ("benign", "mutant"):
                value = {
                    "mutation_category": "HALLUCINATION" if side == "mutant" else "BENIGN",
                    "original_trace": base,
                    "new_trace": mutant if side == "mutant" else base,
                    "mutation_metadata": {
                        "mutator_name": "RedundantArg" if side == "mutant" else "benign",
                        "target_tool": "ls",
                        "internal_meta": meta,
                    },
                    "id": f"{side} {i}",
                    "source_cluster": f"cluster {i}",
                }
                records.append(released.parse(RawRecord(value=value, stem="", place="test")))
        return Collection(name="planted", records=tuple(records), fingerprint={})

    return make


def structure_auc(collection: Collection) -> dict[str, Any]:
    return probe_classes(
        collection,
        lambda record: structure.features(record.trajectory),
        structure.model,
        draws=500,
        seed=0,
    )["RedundantArg"]


def nothing(trace: dict[str, Any], i: int, rng: Random) -> Json:
    return {"template": str(i % 10)}


def test_a_key_that_only_mutants_have_is_learnt(planted: Callable[[Edit], Collection]) -> None:
    def key(trace: dict[str, Any], i: int, rng: Random) -> Json:
        trace["trace"][-1]["content"]["reasoning"] = rng.choice(_WORDS)
        return {}

    metric = structure_auc(planted(key))
    assert metric["value"] > 0.99
    assert metric["low"] > 0.95
    assert (metric["n"], metric["mutants"]) == (80, 40)
    assert metric["interval"] == "bootstrap-cluster"
    assert metric["bootstrap"]["clusters"] == CLUSTERS


def test_the_last_role_is_learnt(planted: Callable[[Edit], Collection]) -> None:
    def output(trace: dict[str, Any], i: int, rng: Random) -> Json:
        trace["trace"].append({"role": "tool", "content": "{}"})
        return {}

    assert structure_auc(planted(output))["value"] > 0.99


def test_twins_of_one_structure_cannot_be_told_apart(
    planted: Callable[[Edit], Collection],
) -> None:
    metric = structure_auc(planted(nothing))
    assert metric["value"] == pytest.approx(0.5, abs=1e-9)  # twins are in one fold: equal scores


def test_words_are_no_structure(planted: Callable[[Edit], Collection]) -> None:
    def swap(trace: dict[str, Any], i: int, rng: Random) -> Json:
        trace["trace"][-1]["content"]["name"] = "zz"  # as long as `ls`
        return {}

    assert structure_auc(planted(swap))["value"] == pytest.approx(0.5, abs=1e-9)


def phrase(text: Callable[[int, Random], str], meta: Callable[[int], Json]) -> Edit:
    def edit(trace: dict[str, Any], i: int, rng: Random) -> Json:
        trace["tool_lists"][0]["parameters"]["a"]["note"] = text(i, rng)
        return meta(i)

    return edit


def test_the_worst_phrase_and_its_share(planted: Callable[[Edit], Collection]) -> None:
    found = phrases.worst(
        planted(phrase(lambda i, _: "One marker PHRASE." if i % 4 else "Not it.", nothing_known))
    )["RedundantArg"]
    assert found["phrase"] == "one marker phrase"
    assert (found["k"], found["share"]["value"], found["share"]["n"]) == (30, 0.75, 40)


def nothing_known(i: int) -> Json:
    return {}


def test_a_phrase_of_one_benign_record_is_no_shortcut(
    planted: Callable[[Edit], Collection],
) -> None:
    everywhere = planted(lambda trace, i, rng: {})
    assert phrases.worst(everywhere)["RedundantArg"]["phrase"] is None
    assert phrases.worst(everywhere)["RedundantArg"]["share"]["value"] == 0


def test_phrases_do_not_cross_texts_and_fold_case() -> None:
    assert phrases.phrases("A b. C-d") == {("a", "b", "c"), ("b", "c", "d")}
    assert phrases.phrases("two words") == set()


def ngram_auc(collection: Collection) -> dict[str, Any]:
    found: dict[str, Any] = ngrams.probe_templates(collection, draws=500, seed=0)["RedundantArg"]
    return found


def test_a_word_that_all_templates_share_is_learnt(
    planted: Callable[[Edit], Collection],
) -> None:
    def text(i: int, rng: Random) -> str:
        return f"{_WORDS[i % 10]} is outdated"

    found = ngram_auc(planted(phrase(text, lambda i: {"template": _WORDS[i % 10]})))
    assert found["auc"]["value"] > 0.95
    assert (found["templates"], found["source"]) == (10, "internal_meta.template")


def test_words_of_one_template_do_not_give_the_next_away(
    planted: Callable[[Edit], Collection],
) -> None:
    # Every template is a run of characters of its own; a probe that had seen it would know it.
    alone = [chr(0x4E00 + 20 * i) * 6 for i in range(8)]
    edit = phrase(lambda i, _: alone[i % 8], lambda i: {"template": str(i % 8)})
    assert ngram_auc(planted(edit))["auc"]["value"] < 0.65
    known = phrase(lambda i, _: alone[i % 2], lambda i: {"template": str(i // 2 % 8)})
    assert ngram_auc(planted(known))["auc"]["value"] > 0.95


def test_one_template_cannot_be_halved(planted: Callable[[Edit], Collection]) -> None:
    found = ngram_auc(planted(phrase(lambda i, _: "Same words.", nothing_known)))
    assert found["auc"]["value"] is None
    assert "one template" in found["auc"]["reason"]
    assert found["source"] == "text clusters"


@given(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=60))
def test_no_template_is_in_both_halves_and_the_halves_are_even(names: list[str]) -> None:
    halves = templates.Templates(names=tuple(names), source="test").halves()
    if len(set(names)) == 1:
        assert halves is None
        return
    assert halves is not None
    first = {name for name, half in zip(names, halves, strict=True) if half}
    second = {name for name, half in zip(names, halves, strict=True) if not half}
    assert first
    assert second
    assert not first & second
    largest = max(names.count(name) for name in set(names))
    assert abs(sum(halves) - (len(names) - sum(halves))) <= largest


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), min_size=4, max_size=60))
def test_no_cluster_is_on_both_sides_of_a_fold(pairs: list[tuple[bool, int]]) -> None:
    unsafe, clusters = [u for u, _ in pairs], [str(c) for _, c in pairs]
    splits = folds(unsafe, clusters, seed=0)
    if isinstance(splits, str):
        return
    tested: list[int] = []
    for train, test in splits:
        assert not {clusters[i] for i in train} & {clusters[i] for i in test}
        assert {unsafe[i] for i in train} == {True, False}
        tested += test.tolist()
    assert sorted(tested) == list(range(len(pairs)))


def test_too_few_clusters_give_a_reason() -> None:
    assert isinstance(folds([True, True, False, False], ["a", "a", "b", "c"], seed=0), str)


def test_the_released_samples_are_full_of_shortcuts(released_data: Path, tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).symlink_to(released_data / name)
    both = collections.given(tmp_path, limit=None, seed=0)
    assert len(both.mutants) == 68
    assert {record.kind for record in both.benign} == {"original"}
    worst = phrases.worst(both)
    for class_name, words in {
        "UserInfoLeak": "additional personal information",
        "VersionConflict": "updated schema this",
        "DescriptionMismatch": "usage example provided",
    }.items():
        assert worst[class_name]["phrase"] == words
    assert worst["HallucinatedTool"]["share"]["value"] == 1  # one fixed sentence
    told = ngrams.probe_templates(both, draws=200, seed=0)
    assert told["HallucinatedTool"]["auc"]["value"] > 0.95
    assert told["RedundantArg"]["auc"]["value"] > 0.95
    assert told["PromptInjectionOut"]["templates"] == 1  # one text in all of them
    shapes = probe_classes(
        both, lambda r: structure.features(r.trajectory), structure.model, draws=200, seed=0
    )
    assert shapes["RedundantArg"]["value"] > 0.95  # an inner `reasoning`
    assert shapes["DataLeak"]["value"] > 0.95
    rows = {row["name"]: row for row in criteria(_found(shapes, worst, told))}
    assert {row["result"] for row in rows.values()} == {"fail"}
    assert "PromptInjectionOut" not in rows["ngrams"]["classes"]  # an explicit danger


def test_the_same_records_give_the_same_findings(released_data: Path) -> None:
    path = released_data / "golden_sample.jsonl"
    some = [collections.given(path, limit=4, seed=0) for _ in range(2)]
    one, other = (findings(each, view="clean", draws=100, seed=0) for each in some)
    assert json.dumps(one) == json.dumps(other)
    assert {row["n"] for row in one["lengths"].values()} == {4}
    assert one["kinds"] == {"mutant": 16, "original": 4}


def test_a_larger_limit_only_adds(released_data: Path) -> None:
    path = released_data / "golden_sample.jsonl"
    few, more = (
        {record.id for record in collections.given(path, limit=n, seed=0).records} for n in (2, 5)
    )
    assert few < more


def _found(shapes: Json, worst: Json, told: Json) -> dict[str, Json]:
    return {"structure": shapes, "phrases": worst, "ngrams": told}


@pytest.mark.parametrize(
    ("values", "result"),
    [([0.4, 0.65], "pass"), ([0.4, 0.66], "fail"), ([0.4, None], "undefined")],
)
def test_a_criterion_needs_every_class(values: Sequence[float | None], result: str) -> None:
    (structure_rule, *_) = CRITERIA
    metrics = {
        name: {"high": value, "value": value, "n": 180, "mutants": 90}
        for name, value in zip(("RedundantArg", "MissingTypeHint"), values, strict=True)
    }
    row = criteria({"structure": metrics, "phrases": {}, "ngrams": {}})[0]
    assert row["result"] == result
    assert row["name"] == structure_rule.name
    assert row["worst"] == ("RedundantArg" if values[1] is None else "MissingTypeHint")


def test_a_limit_that_is_strict_excludes_itself() -> None:
    ngram_rule = CRITERIA[2]
    assert ngram_rule.result({"value": 0.70}) == "fail"
    assert ngram_rule.result({"value": np.nextafter(0.70, 0)}) == "pass"
