from __future__ import annotations

from pathlib import Path

import pytest
from transformers import LlamaConfig

from trace.models.hf.memory import GIB, cache_bytes, shortage, weight_bytes


def test_cache_of_llama_3_8b_is_the_known_128_kib_a_token() -> None:
    """32 layers, 8 key-value heads of 128, keys and values, 2 bytes: 131,072 bytes."""
    config = LlamaConfig(
        hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8
    )
    assert cache_bytes(config, 1, "bfloat16") == 131_072
    assert cache_bytes(config, 8192, "float32") == 2 * GIB


def test_weights_are_counted_on_the_disk(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"x" * 100)
    (tmp_path / "b.safetensors").write_bytes(b"x" * 20)
    (tmp_path / "tokenizer.json").write_bytes(b"x" * 7)
    assert weight_bytes(tmp_path) == 120


def test_a_shortage_is_said_in_numbers_and_only_then() -> None:
    assert shortage(GIB, GIB) is None
    said = shortage(3 * GIB, GIB)
    assert said is not None
    assert "3.0 GiB" in said
    assert "1.0 GiB" in said
    assert "model.context" in said


@pytest.mark.parametrize("tokens", [0, 1])
def test_grouped_heads_are_not_counted_as_all_heads(tokens: int) -> None:
    all_heads = LlamaConfig(hidden_size=64, num_hidden_layers=1, num_attention_heads=8)
    grouped = LlamaConfig(
        hidden_size=64, num_hidden_layers=1, num_attention_heads=8, num_key_value_heads=2
    )
    assert cache_bytes(all_heads, tokens, "bfloat16") == 4 * cache_bytes(
        grouped, tokens, "bfloat16"
    )
