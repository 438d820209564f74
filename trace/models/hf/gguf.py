"""Pinned GGUF models, converted once to a folder that `from_pretrained` loads in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from gguf import GGUFReader
from rich.console import Console
from safetensors import SafetensorError
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from trace import assets
from trace.errors import AssetError

CONVERSION = 1
"""Raised when the conversion changes what a model computes: part of a model's identity."""


def safetensors_folder(asset: str) -> Path:
    """A folder with the model of `asset`: weights, configuration, tokenizer, chat template.

    The weights are the dequantised ones in float32, so that a float32 run computes what the GGUF
    file means; lower precisions are cast on load.

    Raises:
        AssetError: the asset cannot be had, holds no GGUF file, or one with an unknown tokenizer.
    """
    name = f"{asset}-{assets.fingerprint(asset)[:12]}-safetensors-{CONVERSION}"
    return assets.build_once(name, lambda folder: _convert(asset, folder))


def _convert(asset: str, folder: Path) -> None:
    source = assets.fetch(asset)
    files = sorted(source.rglob("*.gguf"))
    if len(files) != 1:
        raise AssetError(f"{source} should hold one GGUF file, it holds {len(files)}.")
    Console(stderr=True).print(f"Converting {files[0].name} to safetensors, once.", highlight=False)
    logging.disable_progress_bar()
    at: dict[str, Any] = {"gguf_file": files[0].name, "local_files_only": True}
    _tokenizer(files[0], at).save_pretrained(folder)
    quantised = AutoModelForCausalLM.from_pretrained(files[0].parent, dtype=torch.float32, **at)
    # A model that carries a quantization_config refuses to be saved.
    del quantised.config.quantization_config
    whole = AutoModelForCausalLM.from_config(quantised.config, dtype=torch.float32)
    whole.load_state_dict(quantised.state_dict())
    whole.generation_config = quantised.generation_config
    try:
        whole.save_pretrained(folder)
    except SafetensorError as error:  # a full disk, above all
        raise AssetError(
            f"{folder}: cannot be written ({error}). Make room, or set TRACE_CACHE to a folder "
            "that has it."
        ) from error


def _tokenizer(file: Path, at: dict[str, Any]) -> Any:
    """The tokenizer of a GGUF file, with the two properties that transformers 5 leaves behind."""
    fields = GGUFReader(file).fields
    tokenizer = AutoTokenizer.from_pretrained(file.parent, **at)
    if _field(fields, "tokenizer.ggml.model") == "gpt2":
        tokenizer.backend_tokenizer.pre_tokenizer = _splitter(
            _field(fields, "tokenizer.ggml.pre"), file
        )
    if _field(fields, "tokenizer.ggml.add_bos_token"):
        tokenizer.add_bos_token = True
    return tokenizer


def _field(fields: Any, name: str) -> Any:
    return fields[name].contents() if name in fields else None


def _splitter(kind: str, file: Path) -> Any:
    """How text is split before byte-pair merges, by llama.cpp's name for it in the GGUF file."""
    if kind == "smollm":  # each digit alone, so that spaces before a number stay together
        return pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
    raise AssetError(f"{file}: it is not known how its tokenizer ({kind}) splits text.")
