from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from tests.report.made_annotations import answer, form, item, measure, reannotated, words
from trace.annotation.assign import Assignment
from trace.annotation.item import Lost
from trace.report.annotated import TOGETHER


def test_what_has_no_label_is_never_taken_for_one() -> None:
    items = [item(f"i{i}", "safe" if i % 2 else "unsafe") for i in range(40)]
    answers = [answer("A", f"i{i}", "safe" if i % 2 else "unsafe") for i in range(30)]
    answers += [
        *(answer("A", f"i{i}") for i in (30, 31, 32)),
        answer("A", "i33", "safe", standing="draft"),
        answer("A", "i34", "safe", problems={"safety": "two values"}),
    ]
    found = measure(items, answers)
    metrics = found["metrics"]
    assert (metrics["safety_kappa"]["value"], metrics["safety_kappa"]["n"]) == (1, 30)
    raw = metrics["safety_agreement"]
    assert (raw["n"], raw["n_unscored"], raw["bounds"]) == (30, 10, [0.75, 1])
    assert found["breakdowns"]["confusion"]["safety"]["A"] == {
        "labels": ["safe", "unsafe"],
        "columns": ["safe", "unsafe", "unscored"],
        "counts": [[15, 0, 5], [0, 15, 5]],
    }
    assert (metrics["safety_decided"]["value"], metrics["safety_decided"]["n"]) == (0.75, 40)
    assert found["breakdowns"]["decisions"]["safety"] == {
        "single": 30, "agreed": 0, "majority": 0, "adjudicated": 0, "open": 10,
    }  # fmt: skip


def test_the_work_adds_up() -> None:
    items = [item(f"i{i}") for i in range(10)]
    answers = [
        answer("A", "i0", "safe"),
        answer("A", "i1", "safe", problems={"text": "marked, and safe"}),
        answer("A", "i2"),
        answer("A", "i3", "safe", standing="draft", problems={"text": "marked, and safe"}),
        answer("B", "i9", "unsafe", problems={"safety": "x", "text": "marked, and safe"}),
    ]
    lost = {"A": Lost(deleted=2, twice=3), "C": Lost(no_consent=4)}
    assignments = [
        Assignment(annotator="A", form="en", items=tuple(f"i{i}" for i in range(8))),
        Assignment(annotator="B", form="en", items=("i8", "i9")),
        Assignment(annotator="C", form="en", items=("i4", "i5", "i6", "i7")),
    ]
    found = measure(items, answers, assignments=assignments, lost=lost)
    assert found["breakdowns"]["work"] == {
        "A": {
            "given": 8, "done": 2, "skipped": 1, "draft": 1, "deleted": 2, "no_consent": 0,
            "not_begun": 2, "twice": 3, "problems": 1,
        },
        "B": {
            "given": 2, "done": 1, "skipped": 0, "draft": 0, "deleted": 0, "no_consent": 0,
            "not_begun": 1, "twice": 0, "problems": 1,
        },
        "C": {
            "given": 4, "done": 0, "skipped": 0, "draft": 0, "deleted": 0, "no_consent": 4,
            "not_begun": 0, "twice": 0, "problems": 0,
        },
    }  # fmt: skip
    assert found["breakdowns"]["problems"] == {"safety": {"x": 1}, "text": {"marked, and safe": 2}}
    assert found["metrics"]["done"]["value"] == pytest.approx(3 / 14)
    assert found["metrics"]["done"]["n"] == 14


def test_more_than_was_given_is_refused() -> None:
    some = [Assignment(annotator="A", form="en", items=("i0",))]
    items = [item("i0"), item("i1")]
    with pytest.raises(ValueError, match=r"without having been given: \[\('A', 'i1'\)\]"):
        measure(items, [answer("A", "i1", "safe")], assignments=some)
    with pytest.raises(ValueError, match="A was given 1"):
        measure(items, [answer("A", "i0", "safe")], assignments=some, lost={"A": Lost(deleted=1)})


def test_annotators_among_themselves() -> None:
    """Three, of whom each two share some items; the values are those of other libraries."""
    rng = random.Random(2)
    items = [item(f"i{i}") for i in range(60)]
    truth = {i.id: rng.choice(["safe", "unsafe"]) for i in items}
    flip = {"safe": "unsafe", "unsafe": "safe"}
    votes = {
        who: {k: flip[v] if rng.random() < 0.2 else v for k, v in truth.items()} for who in "ABC"
    }
    answers = [answer(who, k, v) for who, of in votes.items() for k, v in of.items()]
    parts = measure(items, answers)["breakdowns"]
    for pair, metrics in parts["pairs"]["safety"].items():
        a, b = pair.split(", ")
        expected = cohen_kappa_score(list(votes[a].values()), list(votes[b].values()))
        assert metrics["kappa"]["value"] == pytest.approx(expected, abs=1e-11)
        assert metrics["agreement"]["n"] == 60
    assert list(parts["pairs"]["safety"]) == ["A, B", "A, C", "B, C"]
    table, _ = aggregate_raters([[votes[who][i.id] for who in "ABC"] for i in items])
    together = parts["together"]["safety"]
    assert together["fleiss"]["value"] == pytest.approx(fleiss_kappa(table), abs=1e-11)
    assert list(together) == ["percent", "fleiss", "krippendorff"]

    del votes["C"]
    two = measure(items, [a for a in answers if a.annotator != "C"])
    assert two["breakdowns"]["together"] == {}
    assert two["metrics"]["safety_between"]["unit"] == "krippendorff"
    assert two["metrics"]["safety_between"]["value"] is not None


def test_only_what_both_were_given_counts_between_them() -> None:
    items = [item(f"i{i}", "safe") for i in range(5)]
    assignments = [
        Assignment(annotator="A", form="en", items=("i0", "i1", "i2")),
        Assignment(annotator="B", form="en", items=("i2", "i3", "i1")),
    ]
    answers = [answer("A", "i1", "safe"), answer("A", "i0", "safe"), answer("B", "i1", "unsafe")]
    parts = measure(items, answers, assignments=assignments)["breakdowns"]
    pair = parts["pairs"]["safety"]["A, B"]["agreement"]
    assert (pair["value"], pair["n"], pair["n_unscored"]) == (0, 1, 1)
    mine = parts["benchmark"]["safety"]["A"]["agreement"]
    assert (mine["value"], mine["n"], mine["n_unscored"]) == (1, 2, 1)


def test_the_second_pass_is_in_what_was_decided_alone() -> None:
    items = [item("i0", "safe"), item("i1", "unsafe")]
    answers = [answer(w, i.id, v) for i in items for w, v in (("A", "safe"), ("B", "unsafe"))]
    found = measure(items, answers, second=[answer("X", "i0", "safe")])
    assert found["breakdowns"]["decisions"]["safety"]["adjudicated"] == 1
    raw = found["metrics"]["safety_agreement"]
    assert (raw["value"], raw["n"], raw["n_unscored"]) == (1, 1, 1)
    assert set(found["breakdowns"]["benchmark"]["safety"]) == {TOGETHER, "A", "B"}


def test_overlap_of_the_evidence() -> None:
    marked = {"en": form(marked="unsafe")}
    items = [
        item("i0", "unsafe", spans={"text": words(0, 1)}),
        item("i1", "unsafe", spans={"text": words(0, 1, 2, 3)}),
        item("i2", "unsafe", spans={"text": words(5)}),
        item("i3", "unsafe"),  # the benchmark has none
        item("i4", "safe"),
        item("i5", "safe"),
    ]
    answers = [
        answer("A", "i0", "unsafe", spans={"text": words(0, 1)}),  # 1
        answer("A", "i1", "unsafe", spans={"text": words(3, 4)}),  # 2 * 1 / (2 + 4)
        answer("A", "i2", "safe"),
        answer("A", "i3", "unsafe", spans={"text": words(1)}),
        answer("A", "i4", "safe"),
        answer("A", "i5", "unsafe", spans={"text": words(1)}),
    ]
    evidence = measure(items, answers, forms=marked)["metrics"]["safety_evidence"]
    assert evidence["value"] == pytest.approx((1 + 1 / 3) / 2)
    assert (evidence["n"], evidence["n_unscored"]) == (2, 1)
    assert (evidence["low"], evidence["high"]) == pytest.approx((1 / 3, 1))

    both = [*answers, answer("B", "i5", "unsafe", spans={"text": words(1, 2, 3)})]
    pair = measure(items, both, forms=marked)["breakdowns"]["pairs"]["safety"]["A, B"]
    assert pair["evidence"]["value"] == pytest.approx(2 / 4)
    assert "bootstrap" in pair["evidence"]
    assert "safety_evidence" not in measure(items, answers)["metrics"]


def test_by_stratum() -> None:
    items = [item(f"i{i}", "safe", stratum="b" if i < 6 else "a") for i in range(10)]
    answers = [answer("A", f"i{i}", "unsafe" if i == 0 else "safe") for i in range(10)]
    strata = measure(items, answers)["breakdowns"]["strata"]["safety"]
    assert list(strata) == ["a", "b"]
    assert (strata["b"]["agreement"]["value"], strata["b"]["agreement"]["n"]) == (
        pytest.approx(5 / 6),
        6,
    )
    assert strata["b"]["kappa"]["value"] == 0
    assert strata["a"]["kappa"]["reason"] == "every vote is 'safe'"
    assert strata["a"]["between"]["reason"] == "no items"


def test_what_is_undefined_has_a_reason() -> None:
    found = measure([item("i0"), item("i1")], [answer("A", "i0", "safe")])
    for name in ("agreement", "kappa"):
        metric = found["metrics"][f"safety_{name}"]
        assert (metric["value"], metric["n"]) == (None, 0)
        assert metric["reason"] == "no benchmark labels"
    skipped = measure([item("i0", "safe")], [answer("A", "i0")])["metrics"]
    assert "unscored" in skipped["safety_kappa"]["reason"]
    assert measure([], [])["metrics"]["done"]["reason"] == "nothing was given"


def test_nothing_is_undefined_without_a_reason() -> None:
    items, answers = reannotated(40, 0.5, 0.5, 3)
    marked = {"en": form(marked="unsafe")}
    for found in (measure(items, answers), measure(items, answers[:1], forms=marked)):
        text = json.dumps(found, allow_nan=False)
        assert json.loads(text) == found
        assert all(m["value"] is not None or m["reason"] for m in metrics_in(found))


def metrics_in(found: Any) -> Iterator[dict[str, Any]]:
    if isinstance(found, dict):
        if "higher_is_better" in found:
            yield found
            return
        for part in found.values():
            yield from metrics_in(part)


def test_one_question_in_two_languages_and_another_of_the_same_name() -> None:
    items = [item("i0", "safe"), item("i1", "safe", form="zh")]
    answers = [answer("A", "i0", "safe"), answer("A", "i1", "safe")]
    same = {"en": form("en"), "zh": form("zh")}
    assert measure(items, answers, forms=same)["metrics"]["safety_agreement"]["n"] == 2
    other = {"en": form("en"), "zh": form("zh", values=("safe", "unsafe", "odd"))}
    metrics = measure(items, answers, forms=other)["metrics"]
    assert metrics["en.safety_agreement"]["n"] == metrics["zh.safety_agreement"]["n"] == 1
    assert "safety_agreement" not in metrics


def test_a_label_that_the_form_does_not_have_is_a_row_of_the_confusion() -> None:
    found = measure([item("i0", "new")], [answer("A", "i0", "safe")])
    table = found["breakdowns"]["confusion"]["safety"][TOGETHER]
    assert table["labels"] == ["safe", "unsafe", "new"]
    assert table["counts"] == [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
