"""Cross-lab TRACE a second time: smaller arms, answers cut off, resumed and planned runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks.cross_lab.made_items import LINE
from tests.integration.conftest import Door
from tests.integration.cross_lab_lines import (
    FILES,
    FIRST,
    LAB,
    MORE,
    cut_off,
    four,
    items,
    refused,
    respondent,
)
from trace.benchmarks.cross_lab.rubric import CORE
from trace.models.mock import MockModel
from trace.records import Completion, Request


@pytest.mark.slow
def test_both_arms_judge_afresh_what_the_main_arm_was_told(door: Door) -> None:
    """The answers are those of the main arm, whatever else is asked there."""
    line = [*LAB, "model=mock_lab/c", "condition=steered"]
    runs = {"main": door(*line)}
    runs |= {arm: door(*line, f"benchmark.arm={arm}", "benchmark.per_cell=3")
             for arm in ("repeat", "field_free")}  # fmt: skip
    assert [ran.status for ran in runs.values()] == [0, 0, 0]
    assert len({ran.folder for ran in runs.values()}) == 3
    records = {arm: {r["id"]: r for r in ran.records()} for arm, ran in runs.items()}
    assert len(records["repeat"]) == 9
    assert records["repeat"].keys() == records["field_free"].keys()
    for id_, again in records["repeat"].items():
        main, free = records["main"][id_], records["field_free"][id_]
        assert main["response"] == again["response"] == free["response"]
        keys = {r["judges"]["mock_a"]["completion"]["key"] for r in (main, again, free)}
        assert len(keys) == 3
    counted = Counter(r["sample"]["category"] for r in records["repeat"].values())
    assert counted == dict.fromkeys(CORE, 3)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(monkeypatch)


REGENERATED = {"none": [], "truncated": ["i1"], "model": ["i0", "i1", "i2", "i3"]}


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("how", REGENERATED)
def test_what_was_cut_off_is_asked_again_and_judged_anew(
    door: Door, tmp_path: Path, how: str
) -> None:
    control = LINE | {"id": "n", "category": "neutral_control", "base": "Sum.", "steered": "Sum!"}
    replies = ["Here.", "CUT I won't.", "Here.", "Here.", "CUT Sum.", *["Could you tell me?"] * 5]
    line = [*LAB, items(tmp_path, *four(), control), *respondent(tmp_path, replies),
            f"sampling.max_new_tokens={FIRST}"]  # fmt: skip
    before = {r["id"]: r for r in door(*line).records()}
    assert [r["truncated"] for r in before.values()] == [False, True, False, False, True]
    ran = door(*line, f"benchmark.regenerate={how}")
    after = {r["id"]: r for r in ran.records()}
    assert [id_ for id_, r in after.items() if r["asked_again"]] == REGENERATED[how]
    for id_, record in after.items():
        again = id_ in REGENERATED[how]
        assert record["tokens"] == (MORE if again else FIRST)
        assert record["response"]["text"] == (
            "Could you tell me?" if again else before[id_]["response"]["text"]
        )
        if again:  # the old votes are of another text
            assert {v["label"] for v in record["judges"].values()} >= {"clarification_derail"}
    asked = ran.metrics()["metrics"]["asked_again"]
    assert (asked["value"], asked["n"]) == (len(REGENERATED[how]) / 4, 4)


def test_one_cut_answer_in_either_wording_regenerates_both(door: Door, tmp_path: Path) -> None:
    """The steered wording of one item is cut, and nothing at base."""
    plain = MockModel._answer
    with pytest.MonkeyPatch.context() as patch:

        def by_wording(self: MockModel, request: Request, key: str) -> Completion:
            made = plain(self, request, key)
            long = request.texts[0] == "Task 2. So." and request.sampling.max_new_tokens <= FIRST
            return replace(made, finish="length") if long else made

        patch.setattr(MockModel, "_answer", by_wording)
        line = [*LAB, items(tmp_path, *four()), *respondent(tmp_path, ["Here."]),
                f"sampling.max_new_tokens={FIRST}", "benchmark.regenerate=model"]  # fmt: skip
        for condition in ("base", "steered"):
            ran = door(*line, f"condition={condition}")
            assert {r["tokens"] for r in ran.records()} == {MORE}, condition
        arm = door(
            *line, "benchmark.arm=repeat", "benchmark.per_cell=1", "condition=base", "seed=1"
        )
        (record,) = arm.records()
        assert record["id"] != "i2"  # not the one that was cut, and longer all the same
        assert record["tokens"] == MORE


def test_a_dry_run_counts_all_that_may_be_asked(door: Door, tmp_path: Path) -> None:
    ran = door(*LAB, "model=mock_lab/a", "condition=base", "dry_run=true")
    assert ran.status == 0, ran.err
    assert "mock_a: 340 requests" in ran.out
    assert ran.out.count("(judge): 340 requests") == 6
    assert not (tmp_path / "outputs").exists()
    more = door(*LAB, "model=mock_lab/a", "condition=base", "dry_run=true",
                "benchmark.regenerate=model")  # fmt: skip
    assert "mock_a: 980 requests" in more.out  # both wordings, and 300 core items again
    arm = door(*LAB, "model=mock_lab/a", "condition=base", "dry_run=true", "benchmark.arm=repeat")
    assert "mock_a: 18 requests" in arm.out
    assert arm.out.count("(judge): 18 requests") == 6


@pytest.mark.slow
def test_the_natural_sweep_is_both_conditions_and_the_study_twelve_jobs(door: Door) -> None:
    both = door(*LAB, "model=mock_lab/a", "limit=1", "-m", "dry_run=true")
    assert both.status == 0, both.err
    assert both.out.count("evaluate cross_lab/") == 2
    study = door("+sweeps=cross_lab", "-m", "dry_run=true", "limit=1")
    assert study.status == 0, study.err
    assert study.out.count("evaluate cross_lab/") == 12
    assert "ANTHROPIC_API_KEY" in study.out


def test_keys_that_are_missing_are_said_before_anything_is_asked(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    line = ["benchmark=cross_lab", "limit=1", "judges=panel", "judges.min_valid=1",
            "+model@judges.models.claude_opus_4_5=claude_opus_4_5"]  # fmt: skip
    said = refused(door(*line, *respondent(tmp_path, ["Here."])))
    assert "ANTHROPIC_API_KEY" in said
    assert "OPENAI_API_KEY" in refused(door(*line, "model=gpt_5"))
    assert not (tmp_path / "outputs" / "completions").exists()


def test_a_guard_knows_no_rubric(door: Door, tmp_path: Path) -> None:
    ran = door(*LAB, items(tmp_path, *four()), *respondent(tmp_path, ["Here."]),
               "+model@judges.models.g=llama_guard_3_8b")  # fmt: skip
    assert "judges.models.g: " in refused(ran)
    assert "knows no rubric" in ran.err


def test_more_votes_needed_than_there_are_judges(door: Door, tmp_path: Path) -> None:
    ran = door(*LAB, "model=mock_lab/a", "judges.min_valid=7")
    assert "judges.min_valid: 7 of 6 judges" in refused(ran)
    own = door(*LAB, "model=mock_lab/a", "judges.min_valid=6", "limit=1", "condition=base")
    assert own.status == 1
    assert "5 peers cannot give 6 votes" in own.out


@pytest.mark.slow
def test_a_run_that_was_broken_off_asks_nothing_twice(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = [*LAB, "model=mock_lab/d", "condition=base", "limit=8"]
    whole = door(*line, output_dir=tmp_path / "whole")
    plain, asked = MockModel._answer, Counter[str]()

    def interrupted(self: MockModel, request: Request, key: str) -> Completion:
        if key:
            if asked.total() == 150:
                raise KeyboardInterrupt
            asked[key] += 1
        return plain(self, request, key)

    with monkeypatch.context() as patch:
        patch.setattr(MockModel, "_answer", interrupted)
        broken = door(*line, output_dir=tmp_path / "broken")
    assert broken.status == 130, broken.err
    begun = asked.copy()

    def counted(self: MockModel, request: Request, key: str) -> Completion:
        asked[key] += bool(key)
        return plain(self, request, key)

    with monkeypatch.context() as patch:
        patch.setattr(MockModel, "_answer", counted)
        ended = door(*line, output_dir=tmp_path / "broken")
        assert ended.status == 0, ended.err
        lost = asked.total() - 7 * 40
        assert 0 <= lost < 32, begun.total()  # at most the batch that was being made
        third = asked.copy()
        assert door(*line, output_dir=tmp_path / "broken").status == 0
        assert asked - third == Counter()
    for name in FILES - {"manifest.json", "figures", "config.yaml"}:
        assert (ended.folder / name).read_bytes() == (whole.folder / name).read_bytes(), name
