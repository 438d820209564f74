"""dry_run=true through the door: it says what would be done, and does nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.integration.conftest import Door

SERVER = ["model=openai_compatible", "model.id=m-2026-01-01",
          "model.base_url=http://127.0.0.1:9/v1"]  # fmt: skip


@pytest.fixture
def golden(shared_data: Path) -> str:
    return f"benchmark.path={shared_data}/tracesafe/golden_sample.jsonl"


@pytest.mark.parametrize(
    "model",
    [["model=smollm2"], ["model=smollm2", "model/engine=vllm"], ["model=qwen3_14b"],
     ["model=mock", "model.rates={default: 0.8}"], SERVER],
    ids=lambda model: " ".join(model),
)  # fmt: skip
def test_an_evaluation_is_planned_whatever_the_engine(
    door: Door, golden: str, tmp_path: Path, model: list[str]
) -> None:
    ran = door(golden, *model, "dry_run=true")
    assert ran.status == 0, ran.err
    assert "63 requests" in ran.out
    assert "unsafe samples: n = 32. A rate of 50% will have ±16.4 points" in ran.out
    assert not (tmp_path / "outputs").exists()


def test_what_is_missing_and_what_it_costs_is_said(
    door: Door, golden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    price = "model.price={input: 1000000, output: 0}"  # a dollar a token read
    ran = door(golden, *SERVER, "model.api_key_env=SOME_KEY", price, "dry_run=true")
    read = int(ran.out.split("about ")[1].split(" tokens")[0].replace(",", ""))
    assert f"at most about {read:,}.00 USD" in ran.out
    assert "cannot run here: the environment variable SOME_KEY is not set" in ran.out


def test_a_server_without_likelihoods_cannot_score(door: Door, golden: str) -> None:
    line = [golden, *SERVER, "protocol.answer=score", "dry_run=true"]
    refused = door(*line, "protocol=binary")
    assert refused.status == 0, refused.err
    assert "cannot run here: model.logprobs=0: protocol.answer=score needs" in refused.out
    assert "cannot run" not in door(*line, "protocol=binary", "model.logprobs=20").out
    alike = door(*line, "protocol=fine", "model.logprobs=100")
    assert "labels begin alike. Use protocol.answer=generate" in alike.out


def test_texts_have_no_likelihoods(door: Door, golden: str, tmp_path: Path) -> None:
    (tmp_path / "replies.jsonl").write_text('"Safe"\n')
    line = [golden, "model=mock", f"model.replies={tmp_path}/replies.jsonl", "dry_run=true"]
    assert "cannot run here: model.replies" in door(*line, "protocol.answer=score").out
    assert "cannot run here" not in door(*line).out


def test_a_folder_that_is_not_whole_cannot_run(door: Door, golden: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    line = [golden, "model=hf", f"model.id={folder}", "dry_run=true"]
    (folder / "pytorch_model.bin").touch()
    assert f"cannot run here: model.id={folder}: its weights are in pytorch" in door(*line).out
    (folder / "model.safetensors.index.json").write_text(
        '{"weight_map": {"x": "gone.safetensors"}}'
    )
    refused = door(*line)
    assert (refused.status, "such as gone.safetensors" in refused.out) == (0, True)


def test_a_budget_below_the_estimate_is_said(door: Door, golden: str) -> None:
    price = "model.price={input: 1000000, output: 0}"
    line = [golden, *SERVER, price, "dry_run=true"]
    for budget, told in {
        "max_requests=62": "model.engine.max_requests=62 is less than that",
        "max_requests=63": "",
        "max_cost_usd=0.5": "model.engine.max_cost_usd=0.5 is less than that",
        "max_cost_usd=1e9": "",
    }.items():
        out = door(*line, f"model.engine.{budget}").out
        assert told in out
        assert ("is less than that" in out) == bool(told)


def test_every_job_of_a_sweep_is_planned(door: Door, golden: str) -> None:
    ran = door(golden, "model=mock", "model.rates={default: 1}", "dry_run=true", "-m")
    assert [line.rpartition("/")[2] for line in ran.out.splitlines()
            if line.startswith("evaluate")] == ["binary", "schema", "coarse", "fine"]  # fmt: skip


def test_the_other_tasks_are_planned_too(door: Door, golden: str, tmp_path: Path) -> None:
    assert "audit" in door("task=audit", golden, "dry_run=true").out
    assert "1,170 records" in door("task=build", "dry_run=true").out
    assert door("task=list", "dry_run=true").status == 0
    refused = door("task=compare", "dry_run=true", f"runs={tmp_path}/none/**")
    assert (refused.status, "no finished run matches" in refused.err) == (2, True)
    assert not (tmp_path / "outputs").exists()


def test_no_heavy_library_is_loaded(golden: str, tmp_path: Path) -> None:
    code = (
        "import json, sys; from trace.run import main; "
        f"status = main(['dry_run=true', {golden!r}, 'output_dir={tmp_path}/o']); "
        "print(json.dumps([status, *({'torch', 'transformers', 'wandb', 'vllm', 'lightning'} "
        "& sys.modules.keys())]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [0]
