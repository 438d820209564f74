"""How much memory a request takes, said before the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import torch

GIB = 2**30
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def cache_bytes(config: Any, tokens: int, dtype: str) -> int:
    """Keys and values of one row, by the model's own description.

    Args:
        config: a transformers text config.
        tokens: positions of the row, prompt and answer.
        dtype: that of the engine.
    """
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * size * tokens * BYTES[dtype])


def weight_bytes(folder: Path) -> int:
    """The weights on the disk, about what they take when loaded in the dtype they are stored in."""
    return sum(file.stat().st_size for file in folder.glob("*.safetensors"))


def free_bytes(device: torch.device) -> int:
    """What is free where the model will lie: all GPUs together, or the machine's memory."""
    if device.type == "cuda":
        return sum(torch.cuda.mem_get_info(i)[0] for i in range(torch.cuda.device_count()))
    return int(psutil.virtual_memory().available)


def shortage(needed: int, free: int) -> str | None:
    """What to tell the user; None if it fits."""
    if needed <= free:
        return None
    return (
        f"the longest request needs about {needed / GIB:.1f} GiB with the weights, and "
        f"{free / GIB:.1f} GiB are free: it may run out of memory. Leave long prompts out "
        "(model.context=…), or use model.engine.quantisation=nf4 or a smaller model."
    )
