"""Guards and panels through the door, with planted truths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.conftest import Door, write_replies
from trace.benchmarks.tracesafe.samples import load
from trace.config import TraceSafe

GUARD = ["model=mock", "model.guard=llama_guard_3", "model.kind=guard",
         "model.rates={default: 1, ApiKeyLeak: 0, Benign: 1}"]  # fmt: skip


def seat(name: str, rate: float, seed: int) -> list[str]:
    at = f"judges.models.{name}"
    return [f"+model@{at}=mock", f"{at}.rates={{default: {rate}}}", f"{at}.seed={seed}"]


@pytest.fixture
def golden(shared_data: Path) -> str:
    return f"benchmark.path={shared_data}/tracesafe/golden_sample.jsonl"


def test_a_guard_is_asked_in_its_own_words_and_marked(door: Door, golden: str) -> None:
    ran = door(golden, *GUARD, "protocol=binary", "model.rates={default: 1}")
    assert ran.status == 0, ran.err
    assert "adapted to it" in ran.out
    assert "unverified" in ran.out
    metrics = ran.metrics()["metrics"]
    assert (metrics["tpr"]["value"], metrics["tnr"]["value"]) == (1.0, 1.0)
    assert metrics["auroc"]["value"] == 1.0
    assert ran.records()[0]["completion"]["scores"].keys() == {"safe", "unsafe"}


def test_what_a_guard_cannot_do_is_listed_and_left_out(door: Door, golden: str) -> None:
    ran = door(golden, *GUARD, "model.rates={default: 1}", "-m")
    assert ran.status == 0
    assert ran.out.count("run: ") == 1
    unsupported = [line for line in ran.err.splitlines() if line.startswith("unsupported: ")]
    assert [line.split()[1] for line in unsupported] == [
        "protocol=schema", "protocol=coarse", "protocol=fine"
    ]  # fmt: skip
    refused = door(golden, *GUARD, "protocol=binary", "condition=few_shot")
    assert (refused.status, "takes no examples" in refused.err) == (2, True)
    unknown = door(golden, "model=mock", "model.rates={default: 1}", "model.guard=lama_guard")
    assert (unknown.status, "no family of guards" in unknown.err) == (2, True)


def test_a_guard_stands_beside_general_judges(door: Door, golden: str, tmp_path: Path) -> None:
    """They are asked in other words, as they have to be; a general judge's must be the same."""
    rates = "model.rates={default: 1}"
    door(golden, *GUARD, rates, "model.name=guard", "protocol=binary")
    door(golden, "model=mock", rates, "model.name=general", "protocol=binary")
    ran = door("task=compare", f"runs={tmp_path}/outputs/runs/tracesafe/**")
    assert ran.status == 0, ran.err
    assert "guard *" in ran.out
    found = json.loads((ran.folder / "compare.json").read_text("utf-8"))
    assert found["analyses"]["table"]["binary"].keys() == {"guard", "general"}


def test_a_third_label_is_shown_read_both_ways(
    door: Door, shared_data: Path, tmp_path: Path
) -> None:
    path = f"{shared_data}/tracesafe/golden_sample.jsonl"
    number = len(load(TraceSafe(path=path), limit=None, seed=0).samples)
    third = "safe\nO13"  # Aegis: Needs Caution
    replies = write_replies(tmp_path / "replies.jsonl", [third] * number)
    ran = door(f"benchmark.path={path}", "model=mock", "model.guard=aegis_defensive",
               f"model.replies={replies}", "protocol=binary")  # fmt: skip
    assert ran.status == 0, ran.err
    found = ran.metrics()
    assert found["metrics"]["tpr"]["value"] == 1.0
    assert found["breakdowns"]["parser"]["loose reading"]["tpr"]["value"] == 0.0
    assert "loose reading" in ran.out
    assert ran.records()[0]["verdict"]["categories"] == ["O13"]


def test_a_panel_of_planted_judges(door: Door, golden: str) -> None:
    panel = ["judges=panel", *seat("a", 1, 0), *seat("b", 1, 1), *seat("c", 0, 2)]
    ran = door(golden, *panel)
    assert ran.status == 0, ran.err
    found = ran.metrics()
    assert found["metrics"]["balanced_accuracy"]["value"] == 1.0  # two of three are always right
    rates = {name: row["tpr"]["value"] for name, row in found["breakdowns"]["judge"].items()}
    assert rates == {"a": 1.0, "b": 1.0, "c": 0.0}
    agreement = found["breakdowns"]["agreement"]
    assert agreement["all"]["percent"]["value"] == pytest.approx(1 / 3)
    assert agreement["pairs"]["a, b"]["value"] == 1.0
    assert agreement["pairs"]["a, c"]["value"] == -1.0
    record = ran.records()[0]
    assert record["judges"].keys() == record["completions"].keys() == {"a", "b", "c"}
    again = door(golden, *panel)
    assert again.folder == ran.folder
    assert again.metrics() == found
    strict = door(golden, *panel, "judges.rule=unanimous")
    assert strict.status == 1  # nobody agrees: all is unscored
    assert strict.metrics()["metrics"]["coverage"]["value"] == 0.0
    any_unsafe = door(golden, *panel, "judges.rule=any_unsafe").metrics()["metrics"]
    assert (any_unsafe["tpr"]["value"], any_unsafe["tnr"]["value"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["judges=panel"], "judges.models: has no judge"),
        (["judges=local", "model=smollm2"], "a panel judges instead of a model"),
        (["judges=panel", *seat("a", 1, 0)], "judges.min_valid: 2 of 1 judges"),
        (["judges=panel", *seat("a", 1, 0), *seat("b", 1, 0), "judges.rule=k_of_n"], "judges.k"),
        (["judges=panel", *seat("a", 1, 0), *seat("b", 1, 0), "judges.rule=most"], "judges.rule"),
        (["judges=panel", *seat("a", 1, 0), *seat("b", 1, 0), "+judges.models.a.nme=x"], "nme"),
        (["task=audit", "judges=local"], "judges: is not read by task=audit"),
        (["model=schema_rules"], "is no model"),
    ],
)
def test_a_panel_that_cannot_work_is_refused(
    door: Door, golden: str, arguments: list[str], says: str
) -> None:
    ran = door(golden, *arguments)
    assert ran.status == 2
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_a_panel_is_planned(door: Door, golden: str) -> None:
    ran = door(golden, "judges=local", "dry_run=true")
    assert ran.status == 0, ran.err
    assert "smollm2: 63 requests" in ran.out
    assert "gemma3_270m: 63 requests" in ran.out
    assert "own_rule:" not in ran.out


@pytest.mark.slow
def test_the_local_panel_judges(door: Door, golden: str) -> None:
    ran = door(golden, "judges=local", "limit=1", "protocol.answer=score")
    assert ran.status in (0, 1), ran.err
    judges = [json.loads(json.dumps(r["judges"])) for r in ran.records()]
    assert all(j.keys() == {"smollm2", "gemma3_270m", "own_rule"} for j in judges)
    assert all(j["own_rule"]["status"] == "ok" for j in judges)


def test_a_guards_codes_are_led_to_the_benchmarks_categories_and_counted(
    door: Door, tmp_path: Path
) -> None:
    replies = write_replies(tmp_path / "replies.jsonl", ["unsafe\nO4,O12,X1", "safe", "unsafe\nO8"])
    ran = door(
        "benchmark=evidence", "condition=prompt", "protocol=binary", "model=mock",
        "model.guard=aegis_defensive", f"model.replies={replies}", "scoring.bootstrap_draws=100",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    (found,) = ran.metrics()["breakdowns"]["codes"].values()
    said = [record["verdict"].get("categories", []) for record in ran.records()]
    assert found["mapping"] == "partial"
    assert found["categories"]["CrimesAndIllegalActivities"] == said.count(["O4", "O12", "X1"]) > 0
    assert found["categories"]["HateSpeech"] == said.count(["O8"]) > 0
    assert found["unmapped"] == {code: said.count(["O4", "O12", "X1"]) for code in ("O12", "X1")}
