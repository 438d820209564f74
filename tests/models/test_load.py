"""What lies in a model's folder and must not be taken for the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM

from trace import config
from trace.errors import ConfigError
from trace.models.hf.load import Source
from trace.models.local import TextSide

SMALL = {
    "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    settings = AutoConfig.for_model("llama", **SMALL, tie_word_embeddings=True)
    AutoModelForCausalLM.from_config(settings).save_pretrained(tmp_path)
    return tmp_path


def settings(folder: Path | str) -> config.Model:
    return config.Model(name="small", id=str(folder), engine=config.HfEngine())


def source(folder: Path | str) -> Source:
    return Source(settings(folder))


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_whole_folder_is_loaded_with_its_tied_weights(folder: Path) -> None:
    model = source(folder).load_weights()
    assert model.lm_head.weight is model.model.embed_tokens.weight


def test_weights_that_are_lacking_are_not_made_up(folder: Path) -> None:
    """Transformers draws them at random and only warns; all numbers would be noise."""
    edit(folder / "config.json", num_hidden_layers=3, layer_types=None)
    with pytest.raises(ConfigError, match=r"lack 9 weights .*model\.layers\.2"):
        source(folder).load_weights()


def test_a_single_lacking_tensor_is_noticed(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    del tensors["model.norm.weight"]
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(ConfigError, match=r"lack 1 weights .*model\.norm\.weight"):
        source(folder).load_weights()


def test_weights_of_another_shape_are_told(folder: Path) -> None:
    edit(folder / "config.json", hidden_size=64)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        source(folder).load_weights()


def test_pickled_weights_are_never_opened(folder: Path) -> None:
    """The file would write a mark if it were unpickled."""
    mark = folder / "opened"
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(
        b"cpathlib\nPath\n(V" + str(mark).encode() + b"\ntRp0\n0cpathlib\nPath.touch\n(g0\ntR."
    )
    with pytest.raises(ConfigError, match=r"pytorch_model\.bin.*can run code"):
        source(folder).load_weights()
    assert not mark.exists()


def test_an_adapter_beside_a_model_is_not_left_out_in_silence(folder: Path) -> None:
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"holds an adapter.*Merge it"):
        source(folder).identity()


def test_other_places_say_what_they_are(tmp_path: Path) -> None:
    gguf = tmp_path / "x.gguf"
    gguf.write_bytes(b"GGUF")
    for place, says in {
        str(tmp_path): r"x\.gguf.*llama\.cpp",
        str(gguf): r"is a file.*llama\.cpp",
        str(tmp_path / "nowhere"): "no such folder",
        "~": "Give model.id=/",
    }.items():
        with pytest.raises(ConfigError, match=says):
            source(place).identity()


@pytest.mark.parametrize(
    ("name", "text"),
    [("config.json", '{"model_type": "llama", "hidden_size": "x"}'), ("config.json", "[]"),
     ("config.json", '{"a":'), ("tokenizer.json", '{"version": "1.0"}'), ("tokenizer.json", "")],
)  # fmt: skip
def test_a_broken_file_is_one_message(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    side = TextSide(settings(folder))
    with pytest.raises(ConfigError, match="cannot be loaded"):
        _ = side.config if name == "config.json" else side.tokenizer
