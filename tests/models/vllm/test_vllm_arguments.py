"""What is refused before a run, and what reaches vLLM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.models.vllm.help import ask, settings
from trace import config
from trace.errors import AssetError, ConfigError
from trace.models.hf.engine import HfModel
from trace.models.open import make
from trace.models.vllm import load
from trace.models.vllm.engine import VllmModel


def test_without_the_package_it_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"make vllm-env.*\.venv-vllm/bin/python"):
        VllmModel(settings()).prepare(ask("Hello"))


def test_a_folder_of_that_name_is_not_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vllm").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    assert not load.installed()


def test_its_identity_is_that_of_the_weights_and_not_of_the_machine() -> None:
    vllm = make(settings().engine, settings()).identity
    hf = HfModel(
        config.Model(
            name="smollm2",
            asset="smollm2",
            reasoning="none",
            context=2048,
            engine=config.HfEngine(dtype="float32"),
        )
    ).identity
    assert vllm == hf | {"engine": "vllm"}
    spread = settings(tensor_parallel=2, pipeline_parallel=4, memory=0.5, max_rows=8)
    assert VllmModel(spread).identity == vllm
    assert VllmModel(settings(dtype="bfloat16")).identity != vllm
    assert VllmModel(settings(quantisation="fp8")).identity != vllm


@pytest.mark.slow
def test_the_command_stops_before_anything_is_written(tmp_path: Path) -> None:
    if load.installed():
        pytest.skip("vllm is installed")
    command = [sys.executable, "-m", "trace.run", "benchmark=tracesafe", "model=smollm2",
               "model/engine=vllm", "limit=1", f"output_dir={tmp_path}/out"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if "cannot be had" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 2
    assert "vllm is not installed" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_settings_reach_vllm(vllm_here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import vllm

    seen: list[Any] = []
    monkeypatch.setattr(vllm.LLM, "from_engine_args", seen.append)
    given = settings(
        dtype="bfloat16",
        quantisation="fp8",
        tensor_parallel=2,
        pipeline_parallel=3,
        memory=0.5,
        cpu_cache_gib=4,
        max_rows=7,
        eager=False,
    )
    try:
        assert VllmModel(given).llm is None
    except AssetError as error:
        pytest.skip(str(error))
    (args,) = seen
    assert (args.tensor_parallel_size, args.pipeline_parallel_size) == (2, 3)
    assert (args.dtype, args.quantization, args.max_model_len) == ("bfloat16", "fp8", 2048)
    assert (args.gpu_memory_utilization, args.kv_cache_memory_bytes) == (0.5, 4 * 2**30)
    assert (args.max_num_seqs, args.enforce_eager, args.enable_prefix_caching) == (7, False, True)
    assert os.environ["VLLM_NO_USAGE_STATS"] == "1"
    assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"


@pytest.mark.slow
def test_what_vllm_cannot_load_is_told(vllm_here: None, tmp_path: Path) -> None:
    import json

    import numpy as np
    from safetensors.numpy import save_file

    (tmp_path / "config.json").write_text(
        json.dumps({"model_type": "gpt2", "architectures": ["NoSuchModel"]})
    )
    save_file({"weight": np.zeros(1, np.float32)}, tmp_path / "model.safetensors")
    engine = config.VllmEngine(dtype="float32", eager=True, cpu_cache_gib=1)
    broken = config.Model(name="broken", id=str(tmp_path), context=64, engine=engine)
    with pytest.raises(ConfigError, match=r"cannot load .* Or use model/engine=hf"):
        VllmModel(broken).llm  # noqa: B018
