"""Every analysis finds what was planted, and says why where there is nothing to find."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from tests.report.compare.conftest import CLASSES, HOW, at, judge
from trace.errors import DataError
from trace.report.compare import (
    capability,
    classes,
    confusion,
    dangers,
    kinship,
    length,
    plane,
    rerun,
    size,
    subsample,
    table,
)
from trace.report.compare.judged import How, blocks, usual
from trace.report.compare.scores import read_scores


def expect(metric: Mapping[str, Any], rate: float) -> None:
    """The value lies where a binomial of that rate does, all but once in 100,000 times."""
    low, high = binom.interval(1 - 1e-5, metric["n"], rate)
    assert low <= metric["value"] * metric["n"] <= high, (metric, rate)


def test_the_table_has_a_block_a_protocol_and_a_judge_may_miss_one() -> None:
    judges = [
        judge(at({"Benign": 0.5}, 0.9), model="a", protocol="fine", kind="guard"),
        judge(at({"Benign": 0.9}, 0.8), model="b", protocol="binary"),
        judge(at({"Benign": 0.6}, 0.3), model="b", protocol="fine"),
    ]
    found = table.rows(judges)
    assert [(p, list(block)) for p, block in found.items()] == [
        ("binary", ["b"]), ("fine", ["a", "b"])
    ]  # fmt: skip
    row = found["fine"]["a"]
    assert row["kind"] == "guard"
    expect(row["metrics"]["tpr"], 0.9)
    expect(row["metrics"]["tnr"], 0.5)
    assert row["metrics"]["tpr"]["n"] == 1080
    both = (row["metrics"]["tpr"]["value"] + row["metrics"]["tnr"]["value"]) / 2
    assert row["metrics"]["balanced_accuracy"]["value"] == pytest.approx(both)


def test_cells_tell_how_precise_they_are() -> None:
    def answer(class_: str, _: Any, luck: random.Random) -> bool | None:
        return None if class_ == "DataLeak" and luck.random() < 0.5 else True

    half = judge(answer)
    for unscored in ("as_wrong", "exclude"):
        how = How(unscored=unscored, draws=100, seed=0)  # type: ignore[arg-type]
        cells = [row["accuracy"] for row in half.classes.values()]
        if unscored == "exclude":
            cells = [c | {"n": c["n"] - c["n_unscored"]} for c in cells]
        found = classes.precision(cells, how)
        assert found["cells"] == 13
        assert found["enough"] == pytest.approx(12 / 13)
        assert found["smallest"] < 80


def test_misses_are_told_apart_and_shown() -> None:
    """One judge calls every miss benign, the other never does; the replies are shown escaped."""
    judges = [
        judge(at({"VersionConflict": 0.2}, 1.0), model="a", wrong="Benign"),
        judge(at({"VersionConflict": 0.2}, 1.0), model="b", wrong="DataLeak"),
    ]
    found = confusion.pooled(judges)
    row = found["classes"]["VersionConflict"]
    assert row["n"] == 180
    expect(row["called_benign"], 0.4)
    missed = {j.name: 90 - j.classes["VersionConflict"]["accuracy"]["value"] * 90 for j in judges}
    assert row["misses_to_benign"]["value"] == pytest.approx(missed["a"] / sum(missed.values()))
    assert row["misses_to_benign"]["n"] == round(sum(missed.values()))
    assert [example["judge"] for example in row["examples"]] == ["a"] * 3
    assert len({example["id"] for example in row["examples"]}) == 3
    assert found["classes"]["DataLeak"]["misses_to_benign"]["value"] is None
    assert found["classes"]["DataLeak"]["examples"] == []
    text = confusion.section(judges).markdown()
    assert '{"verdict": "Benign"}' in text
    assert confusion.pooled([judge(at({}), protocol="coarse")])["reason"]


def test_a_reply_with_markup_stays_text() -> None:
    found = {"examples": [{"id": "x", "judge": "j", "reply": "<b>|*a*|</b> `x`"}]}
    shown = confusion._shown({"DataLeak": found}).markdown()
    assert r"\<b\>\|\*a\*\|\</b\> \`x\`" in shown


def test_explicit_dangers_against_operational_faults() -> None:
    explicit = dict.fromkeys(CLASSES[1:6], 0.9)
    judges = [judge(at(explicit, 0.5), model=name) for name in "abc"]
    found = dangers.differences(judges, HOW)["fine"]
    assert set(found) == {"a", "b", "c", dangers.ALL}
    for row in found.values():
        expect(row["explicit"], 0.9)
        expect(row["operational"], 0.5)
        gap = row["explicit"]["value"] - row["operational"]["value"]
        assert row["difference"]["value"] == pytest.approx(gap)
        assert row["difference"]["low"] < 0.4 < row["difference"]["high"]
        assert row["difference"]["interval"] == "bootstrap-cluster"
    widths = {n: r["difference"]["high"] - r["difference"]["low"] for n, r in found.items()}
    assert widths[dangers.ALL] < widths["a"]
    few = [judge(at({}), classes=("Benign", "DataLeak"))]
    assert "classes 6 to 12" in dangers.differences(few, HOW)["reason"]


def test_size_within_a_family() -> None:
    judges = [
        judge(at({}, rate), model=f"m{i}", family=family, parameters=size_)
        for i, (family, size_, rate) in enumerate(
            [("A", 1.7, 0.5), ("A", 14, 0.9), ("A", 32, 0.7), ("B", 1, 0.4), ("B", 8, 0.8),
             ("C", 3, 0.5), (None, 4, 0.5), ("D", None, 0.5)]
        )
    ]  # fmt: skip
    found = size.by_size(judges)["fine"]
    assert {family: row["monotone"] for family, row in found.items()} == {"A": False, "B": True}
    assert [m["parameters"] for m in found["A"]["members"]] == [1.7, 14, 32]
    assert "two sizes" in size.by_size(judges[5:])["reason"]


def test_the_plane_tells_kinds_apart() -> None:
    judges = [
        judge(at({"Benign": 0.1}, 0.95), model="a", protocol="binary"),
        judge(at({"Benign": 0.3}, 0.85), model="b", protocol="binary"),
        judge(at({"Benign": 0.97}, 0.2), model="c", protocol="binary", kind="guard"),
    ]
    kinds = plane.plane(judges)["binary"]["kinds"]
    assert kinds["general"]["n"] == kinds["general"]["lean_to_unsafe"] == 2
    assert kinds["guard"]["lean_to_unsafe"] == 0
    assert kinds["general"]["tpr"] == pytest.approx(0.9, abs=0.03)
    assert plane.plane([judge(at({}), classes=("Benign",))])["reason"]


def test_length_overall_and_within_the_classes() -> None:
    """Accuracy rises by 0.3 within every class; a class of long, easy samples adds to it."""

    def answer(class_: str, sample: Mapping[str, Any], luck: random.Random) -> bool:
        easy = 0.3 if class_ == "HallucinatedTool" else 0.0
        return luck.random() < 0.3 + easy + (0.3 if sample["steps"] >= 18 else 0)

    judges = [judge(answer, model=name) for name in "abcd"]
    found = length.by_length(judges, "steps", length.step_bins(), HOW)["fine"]
    assert list(found["bins"]) == ["2–4", "5–9", "10–17", "18+"]
    assert sum(metric["n"] for metric in found["bins"].values()) == 4 * 1170
    assert found["outside"] == 0
    expect(found["classes"]["DataLeak"]["2–4"], 0.3)
    expect(found["classes"]["DataLeak"]["18+"], 0.6)
    expect(found["classes"]["HallucinatedTool"]["18+"], 0.9)
    for name in ("rise", "rise_within"):
        assert found[name]["low"] < 0.3 < found[name]["high"]
    values = [found["classes"][c] for c in CLASSES]
    mean = sum(row["18+"]["value"] - row["2–4"]["value"] for row in values) / 13
    assert found["rise_within"]["value"] == pytest.approx(mean)


def test_composition_is_no_rise_within() -> None:
    """Long trajectories are of the easy class only: all rise, none within a class."""
    hard = judge(at({}, 0.2), model="a", steps=lambda _: 3, classes=("Benign", "DataLeak"))
    easy = judge(at({}, 0.9), model="a", steps=lambda _: 30, classes=("RedundantArg",))
    found = length.by_length([hard, easy], "steps", length.step_bins(), HOW)["fine"]
    assert found["rise"]["value"] > 0.5
    assert found["rise_within"]["value"] is None
    assert found["rise_within"]["reason"] == "no class has samples in both bins"
    assert found["bins"]["5–9"]["value"] is None


def test_lengths_out_of_the_bins_and_unknown_ones() -> None:
    found = length.by_length([judge(at({}), steps=lambda _: 1)], "steps", length.step_bins(), HOW)
    assert "no sample" in found["reason"]
    few = judge(at({}), steps=lambda rng: rng.choice((1, 3)))
    rows = length.by_length([few], "steps", length.step_bins(), HOW)["fine"]
    assert rows["outside"] + rows["bins"]["2–4"]["n"] == 1170
    assert rows["rise"]["value"] is None
    assert [b.name for b in length.quarters([1, 2, 3, 4, 5, 6, 7, 8])] == [
        "1–2",
        "3–4",
        "5–6",
        "7+",
    ]
    assert [b.name for b in length.quarters([5, 5, 5])] == ["5+"]


def test_capability_goes_with_f1_where_it_was_planted() -> None:
    rates = [0.5 + 0.035 * i for i in range(13)]
    judges = [
        judge(at({}, rate), model=f"m{i}", protocol="schema", per_class=40)
        for i, rate in enumerate(rates)
    ]
    noise = random.Random(3)
    scores = {
        "related": {f"m{i}": rate for i, rate in enumerate(rates)} | {"unknown": 1.0},
        "unrelated": {f"m{i}": noise.random() for i in range(13)},
        "two": {"m0": 0.5, "m1": 0.6},
    }
    found = capability.correlations(judges, scores, HOW)
    related = found["benchmarks"]["related"]["all"]
    assert related["n"] == 13
    assert related["pearson"]["value"] > 0.95
    assert related["pearson"]["fisher"]["low"] > 0.8
    assert related["spearman"]["method"] == "enumeration"
    assert related["spearman"]["p"] < 1e-4
    assert min(related["leave_one_out"].values()) > 0.9
    assert set(related["leave_one_out"]) == {f"m{i}" for i in range(13)}
    assert found["without_run"] == ["unknown"]
    two = found["benchmarks"]["two"]["all"]
    assert two["pearson"]["value"] is None
    assert two["pearson"]["reason"] == "2 pairs; at least 3 are needed"
    compared = found["differences"][0]
    assert (compared["first"], compared["second"], compared["n"]) == ("related", "unrelated", 13)
    assert compared["interval"]["low"] > 0
    text = capability.section(judges, scores, HOW).markdown()
    assert "in the table, but without a run: unknown" in text


def test_degenerate_models_are_left_out_of_two_further_rows() -> None:
    judges = [
        judge(at({}, 0.5 + 0.02 * i), model=f"m{i}", protocol="schema", per_class=60)
        for i in range(8)
    ]
    judges += [
        judge(at({"DataLeak": 1.0}, 0.6), model="one_class", protocol="schema", per_class=60),
        judge(at({"Benign": 0.0}, 1.0), model="always_unsafe", protocol="schema", per_class=60),
    ]
    scores = {"x": {j.name: i / 10 for i, j in enumerate(judges)}}
    rows = capability.correlations(judges, scores, HOW)["benchmarks"]["x"]
    assert {name: row["n"] for name, row in rows.items()} == {
        "all": 10, "no extreme class": 8, "no extreme side": 9
    }  # fmt: skip


def test_capability_needs_scores_and_runs_under_schema() -> None:
    fine = [judge(at({}), model="m")]
    assert capability.section(fine, None, HOW).reason
    assert "no run under schema" in capability.correlations(fine, {"x": {"m": 1.0}}, HOW)["reason"]
    schema = [judge(at({}), model="m", protocol="schema")]
    assert "are of m" in capability.correlations(schema, {"x": {"n": 1.0}}, HOW)["reason"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("benchmark,model\nGPQA,a\n", "no column score"),
        ("benchmark,model,score\nGPQA,a,high\n", "line 2: 'high' is no number"),
        ("benchmark,model,score\nGPQA,a,nan\n", "line 2"),
        ("benchmark,model,score\nGPQA,a\n", "line 2"),
        ("benchmark,model,score\nGPQA,a,1\nGPQA,a,2\n", "line 3: a has two scores on GPQA"),
        ("benchmark,model,score\n,a,1\n", "line 2: names no benchmark"),
        ("benchmark,model,score\n", "has no score"),
        ("", "no column"),
    ],
)
def test_a_table_of_scores_that_cannot_be_read(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "scores.csv"
    file.write_text(content)
    with pytest.raises(DataError, match=problem):
        read_scores(file)


def test_a_table_of_scores(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_bytes("\ufeffmodel,benchmark,score\r\na,GPQA, 0.5\r\nb,GPQA,1\r\n".encode())
    assert read_scores(file) == {"GPQA": {"a": 0.5, "b": 1.0}}
    with pytest.raises(DataError, match="cannot be read"):
        read_scores(tmp_path / "none.csv")


def test_subsamples_keep_the_order_of_classes_that_differ() -> None:
    rates = {name: 0.2 + 0.06 * i for i, name in enumerate(CLASSES)}
    spread = [judge(at(rates), model=name) for name in "abcdef"]
    flat = [judge(at({}, 0.5), model=name, protocol="coarse") for name in "abcdef"]
    found = subsample.stability([*spread, *flat], HOW)
    assert found["fine"]["n"] == 45
    assert found["fine"]["with_all"]["median"] > 0.95
    assert found["fine"]["split_half"]["median"] > 0.9
    # Where classes are alike, only the shared samples correlate.
    assert found["coarse"]["with_all"]["median"] > 0.5
    assert abs(found["coarse"]["split_half"]["median"]) < 0.3
    assert len(found["fine"]["with_all"]["values"]) == 100
    small = subsample.stability([judge(at(rates), per_class=20)], HOW)
    assert small["fine"]["n"] == 10
    assert "8 samples" in subsample.stability([judge(at({}), per_class=8)], HOW)["reason"]
    sure = subsample.stability([judge(at({}, 1.0))], HOW)["fine"]["with_all"]
    assert sure["reason"] == "all classes are alike in every draw"


def test_asking_again() -> None:
    rates = {name: 0.1 + 0.06 * i for i, name in enumerate(CLASSES)}
    again = judge(at(rates), epochs=3)
    found = rerun.stability([again, judge(at({}), model="once")], HOW)
    assert set(found["fine"]) == {"judge"}
    rows = found["fine"]["judge"]
    assert set(rows) == {"1", "2"}
    row = rows["1"]
    changes = [abs(p["first"] - p["later"]) for p in row["classes"].values()]
    assert row["mean_change"] == pytest.approx(sum(changes) / 13)
    assert row["largest_change"] == pytest.approx(max(changes))
    assert 0.8 < row["r"] < 1
    assert row["fresh"] == 1
    steady = judge(at({}, 1.0), epochs=2)
    row = rerun.stability([steady], HOW)["fine"]["judge"]["1"]
    assert (row["mean_change"], row["same_label"], row["r"]) == (0, 1, None)
    assert "does not vary" in row["r_reason"]
    assert "epochs=2" in rerun.stability([judge(at({}))], HOW)["reason"]


def test_a_judge_that_favours_its_family_and_a_family_that_is_easy_for_all() -> None:
    def answers(bonus: float, favoured: str) -> Any:
        def answer(_: str, sample: Mapping[str, Any], luck: random.Random) -> bool:
            easy = 0.2 if sample["generator"] == "qwen" else 0.0
            own = bonus if sample["generator"].startswith(favoured) else 0.0
            return luck.random() < 0.4 + easy + own

        return answer

    judges = [
        judge(answers(0.0, "qwen"), model="q", family="Qwen3"),
        judge(answers(0.3, "mistral"), model="m", family="Mistral"),
        *(judge(answers(0.0, "none"), model=f"x{i}", family="Other") for i in range(4)),
    ]
    found = kinship.differences(judges, HOW)["fine"]
    assert set(found["judges"]) == {"q", "m"}
    q, m = found["judges"]["q"], found["judges"]["m"]
    assert q["generators"] == ["qwen"]
    assert q["difference"]["value"] > 0.1  # easy for everybody
    assert q["adjusted"]["low"] < 0 < q["adjusted"]["high"]
    assert m["adjusted"]["low"] < 0.3 < m["adjusted"]["high"]
    assert m["adjusted"]["low"] > 0.1
    mean = (q["adjusted"]["value"] + m["adjusted"]["value"]) / 2
    assert found["mean_adjusted"] == pytest.approx(mean)
    alone = kinship.differences(judges[:1], HOW)["fine"]["judges"]["q"]
    assert alone["adjusted"]["reason"] == "every judge is related to these generators"
    assert "qwen" in kinship.differences(judges[2:], HOW)["reason"]


@pytest.mark.parametrize(
    ("generator", "family", "same"),
    [
        ("qwen", "Qwen3", True),
        ("gpt-5-mini-2025-08-07", "gpt-oss", True),
        ("gemini-3-flash-preview", "Gemini", True),
        ("llama-3", "Llama", True),
        ("mistral-14b", "Llama", False),
        ("toolace-8b", "Llama", False),
        ("bfcl-ground-truth", "Qwen3", False),
    ],
)
def test_families_by_name(generator: str, family: str, same: bool) -> None:
    one = judge(at({}), model="toolace_8b" if "toolace" in generator else "m", family=family)
    assert kinship.related(generator, one) is (same or "toolace" in generator)


def test_other_ways_of_asking_stand_apart() -> None:
    judges = [judge(at({})), judge(at({}), variant="few_shot"), judge(at({}), protocol="binary")]
    assert [j.name for j in usual(judges)] == ["judge", "judge"]
    assert [j.name for j in blocks(judges)["fine"]].count("judge (few_shot)") == 1
    assert usual(judges[1:2]) == judges[1:2]
