"""vLLM itself: whether it is there, its arguments, and loading a model with it."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from trace import config
from trace.errors import ConfigError
from trace.models.hf.load import Source

ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # one process: whatever kills it leaves no orphan
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
    "VLLM_RAISE_ON_LOGIT_NANS": "1",  # otherwise they are read as a token, silently
}
"""What vLLM reads from its environment. What the user has set stands."""


def installed() -> bool:
    """Whether the package is there. A folder of that name that happens to be found is none."""
    spec = importlib.util.find_spec("vllm")
    return spec is not None and spec.origin is not None


def check_installed() -> None:
    """Finds out, without importing it, whether vLLM is there.

    Raises:
        ConfigError: it is not installed.
    """
    if not installed():
        raise ConfigError(
            "model/engine=vllm: the package vllm is not installed. On a GPU machine: "
            "pip install '.[vllm]'. Without a GPU: make vllm-env, then run with "
            ".venv-vllm/bin/python. Or use model/engine=hf."
        )


def engine_args(engine: config.VllmEngine, source: Source, context: int) -> Any:
    """The EngineArgs of vLLM for a model.

    Args:
        engine: the settings.
        source: where the weights are.
        context: tokens that a prompt and its answer may have together.
    """
    os.environ.update({name: os.environ.get(name, value) for name, value in ENVIRONMENT.items()})
    from vllm import EngineArgs
    from vllm.platforms import current_platform

    on_cpu = current_platform.is_cpu()
    return EngineArgs(
        model=str(source.folder if source.local else source.settings.id),
        revision=None if source.local else source.folder.name,
        tokenizer_revision=None if source.local else source.folder.name,
        trust_remote_code=False,
        dtype=engine.dtype,
        quantization=engine.quantisation,
        tensor_parallel_size=engine.tensor_parallel,
        pipeline_parallel_size=engine.pipeline_parallel,
        gpu_memory_utilization=engine.memory,
        kv_cache_memory_bytes=engine.cpu_cache_gib << 30 if on_cpu else None,
        block_size=32 if on_cpu else None,  # its 128 there makes the forks of labels dear
        max_model_len=context,
        max_num_seqs=engine.max_rows,
        enforce_eager=engine.eager,
        enable_prefix_caching=True,
        disable_log_stats=True,
        use_tqdm_on_load=False,
    )


def load(engine: config.VllmEngine, source: Source, context: int) -> Any:
    """The LLM of vLLM, with the weights loaded.

    Raises:
        ConfigError: vLLM cannot load the model, or not on this machine.
    """
    args = engine_args(engine, source, context)
    from vllm import LLM

    try:
        return LLM.from_engine_args(args)
    except (OSError, ValueError, RuntimeError, NotImplementedError, ImportError) as error:
        what = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ConfigError(
            f"model/engine=vllm: cannot load {args.model} ({what}). Where memory is short: "
            "model.context=…, model.engine.memory=… (GPU) or model.engine.cpu_cache_gib=… (CPU), "
            "model.engine.tensor_parallel=… to share it. Or use model/engine=hf."
        ) from error


def release(llm: Any) -> None:
    """Frees what a loaded model holds. Dropping it would not: vLLM refers to it in many places."""
    from vllm.distributed.parallel_state import cleanup_dist_env_and_memory

    llm.llm_engine.engine_core.shutdown()
    del llm
    cleanup_dist_env_and_memory()


def version(engine: config.VllmEngine) -> str:
    """The version of vLLM and the flags that can move a number in its last digits."""
    import torch
    import vllm

    return (
        f"vllm {vllm.__version__}, torch {torch.__version__}, {engine.dtype}, "
        f"tensor_parallel={engine.tensor_parallel}, pipeline_parallel={engine.pipeline_parallel}, "
        f"max_rows={engine.max_rows}, eager={engine.eager}, prefix_caching=True"
    )
