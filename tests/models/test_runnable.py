from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from huggingface_hub import constants
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from trace import config
from trace.models import runnable
from trace.models.runnable import Machine, gigabytes, memory_needed, this_machine, verdict

GB = 10**9
LAPTOP = Machine(memory=32 * GB)
NODE = Machine(memory=512 * GB, gpu_memory=(80 * GB, 80 * GB), packages=frozenset({"vllm"}))


def local(*, parameters: float | None = 7.0, gated: bool = False, **engine: Any) -> config.Model:
    return config.Model(
        name="m",
        id="org/m",
        parameters=parameters,
        gated=gated,
        engine=config.HfEngine(**engine),
    )


def vllm(parameters: float = 7.0, **engine: Any) -> config.Model:
    return config.Model(
        name="m", id="org/m", parameters=parameters, engine=config.VllmEngine(**engine)
    )


def hosted(key: str | None) -> config.HostedModel:
    return config.HostedModel(
        name="m",
        id="m-2026-01-01",
        parameters=1e6,
        base_url="https://example.org/v1",
        api_key_env=key,
        engine=config.OpenAIEngine(),
    )


@pytest.mark.parametrize(
    ("engine", "gigabytes_"),
    [
        ({}, 16.8),  # 7e9 parameters, 2 bytes each, and a fifth
        ({"dtype": "float32"}, 33.6),
        ({"quantisation": "int8"}, 8.4),
        ({"quantisation": "nf4"}, 4.2),
    ],
)
def test_memory_follows_the_precision(engine: dict[str, Any], gigabytes_: float) -> None:
    assert memory_needed(local(**engine)) == pytest.approx(gigabytes_ * GB)


def test_memory_is_unknown_rather_than_zero() -> None:
    assert memory_needed(local(parameters=None)) is None
    assert memory_needed(hosted("KEY")) is None  # however large: nothing is loaded here
    assert memory_needed(vllm(quantisation="awq")) is None


def test_weights_that_are_published_quantised_count_as_they_come() -> None:
    """gpt-oss-120b: 117 billion parameters at 4.25 bits; its card says that it fits into 80 GB."""
    card = dataclasses.replace(local(parameters=117.0), bits=4.25)
    assert memory_needed(card) == pytest.approx(117 * 4.25 / 8 * 1.2 * GB)
    assert verdict(card, NODE).runs
    finer = dataclasses.replace(card, bits=16.0, engine=config.HfEngine(quantisation="nf4"))
    assert memory_needed(finer) == pytest.approx(117 * 0.5 * 1.2 * GB)
    assert verdict(local(parameters=None), LAPTOP).runs


def test_a_model_runs_where_its_weights_find_room() -> None:
    assert verdict(local(parameters=13.0), LAPTOP).runs
    refused = verdict(local(parameters=14.0), LAPTOP)
    assert not refused.runs
    assert "32 GB of memory" in refused.reason
    assert verdict(local(parameters=14.0), Machine(memory=None)).runs


@given(st.floats(0.1, 500), st.integers(1, 2000))
def test_more_memory_never_takes_a_model_away(parameters: float, memory: int) -> None:
    model = local(parameters=parameters)
    if verdict(model, Machine(memory=memory * GB)).runs:
        assert verdict(model, Machine(memory=(memory + 1) * GB)).runs


def test_a_gpu_decides_unless_the_device_is_another() -> None:
    big = local(parameters=50.0)  # 120 GB
    assert "80 GB of GPU memory" in verdict(big, NODE).reason
    assert verdict(local(parameters=50.0, device="cpu"), NODE).runs
    assert verdict(local(parameters=50.0, device_map="auto"), NODE).runs
    assert "no GPU was found" in verdict(local(device="cuda"), LAPTOP).reason


def test_vllm_takes_its_share_of_the_gpus_it_is_given() -> None:
    assert verdict(vllm(30.0), NODE).runs  # 72 GB of 0.9 x 80
    assert not verdict(vllm(31.0), NODE).runs
    assert verdict(vllm(60.0, tensor_parallel=2), NODE).runs
    assert "4 GPUs of 2" in verdict(vllm(tensor_parallel=4), NODE).reason


def test_a_missing_package_is_said_before_anything_else() -> None:
    assert "vllm is not installed" in verdict(vllm(9999.0), LAPTOP).reason
    quantised = local(quantisation="nf4")
    assert "bitsandbytes" in verdict(quantised, LAPTOP).reason
    there = Machine(memory=32 * GB, packages=frozenset({"bitsandbytes"}))
    assert verdict(quantised, there).runs


def test_weights_are_here_or_fetched_or_out_of_reach() -> None:
    here = Machine(memory=32 * GB, weights=frozenset({"org/m"}), offline=True)
    assert verdict(local(gated=True), here) == runnable.Verdict(runs=True)
    assert "hub" in verdict(local(), LAPTOP).reason
    assert not verdict(local(), Machine(memory=32 * GB, offline=True)).runs
    assert "HF_TOKEN" in verdict(local(gated=True), LAPTOP).reason
    assert verdict(local(gated=True), Machine(memory=32 * GB, hub_token=True)).runs
    broken = Machine(memory=32 * GB, problems={"org/m": "it lacks a file"})
    assert verdict(local(), broken) == runnable.Verdict(runs=False, reason="it lacks a file")


def test_a_hosted_model_needs_its_key_alone() -> None:
    assert verdict(hosted("SOME_KEY"), LAPTOP).reason == (
        "the environment variable SOME_KEY is not set"
    )
    assert verdict(hosted("SOME_KEY"), Machine(environment=frozenset({"SOME_KEY"}))).runs
    assert verdict(hosted(None), Machine(offline=True)).runs


def test_the_mock_runs_anywhere() -> None:
    mock = config.MockModel(name="mock", rates={"default": 0.5}, engine=config.MockEngine())
    assert verdict(mock, Machine(memory=0)).runs


def test_this_machine_knows_names_and_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "s3cret")
    monkeypatch.setenv("EMPTY_KEY", "")
    machine = this_machine()
    assert "SOME_KEY" in machine.environment
    assert "EMPTY_KEY" not in machine.environment
    assert "s3cret" not in repr(machine)
    assert machine.memory is None or machine.memory > GB


def test_weights_are_found_in_a_folder_and_in_the_hubs_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--org--whole" / "snapshots" / "0"
    snapshot.mkdir(parents=True)
    save_file({"x": np.zeros(3)}, snapshot / "model.safetensors")
    (snapshot / "config.json").write_text("{}")
    cut = tmp_path / "models--org--cut" / "snapshots" / "0"
    cut.mkdir(parents=True)
    (cut / "model.safetensors").write_bytes((snapshot / "model.safetensors").read_bytes()[:-1])
    described = tmp_path / "models--org--described" / "snapshots" / "0"
    described.mkdir(parents=True)
    (described / "config.json").touch()  # a tokenizer or a config alone is no model
    names = ["org/whole", "org/cut", "org/described", "org/never", str(snapshot), str(cut)]
    machine = this_machine(names)
    assert machine.weights == {"org/whole", str(snapshot)}
    assert machine.problems.keys() == {str(cut)}


@pytest.fixture
def smi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A stand-in for nvidia-smi that writes down how it was called."""
    script = tmp_path / "nvidia-smi"
    script.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/called\nprintf "81559\\n[N/A]\\n24576\\n"'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return script


def test_gpus_are_asked_of_the_driver(smi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert this_machine().gpu_memory == (81559 * 2**20, 24576 * 2**20)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    this_machine()
    assert "--id=1" in (smi.parent / "called").read_text()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert this_machine().gpu_memory == ()


def test_a_driver_that_fails_is_no_gpu(smi: Path) -> None:
    smi.write_text("#!/bin/sh\nexit 9\n")
    assert this_machine().gpu_memory == ()


def test_sizes_are_for_people() -> None:
    assert [gigabytes(size) for size in (0.32e9, 0.99e9, 3.6e9, 281e9)] == [
        "0.3 GB", "1 GB", "4 GB", "281 GB"
    ]  # fmt: skip
