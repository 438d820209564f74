"""Tiny models and judged answers for the tests of the activations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from trace import config
from trace.interp.labelled import Labelled
from trace.models.hf.prompts import WORD_JOINER
from trace.records import Completion, Request

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
USER, ASSISTANT, END = 0, 1, 2

SIZES = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 6, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 256,
    "vocab_size": 128, "pad_token_id": 3, "bos_token_id": None, "eos_token_id": END,
}  # fmt: skip
GPT2 = {
    "n_embd": 32, "n_layer": 6, "n_head": 4, "n_positions": 256, "vocab_size": 128,
    "bos_token_id": None, "eos_token_id": END,
}  # fmt: skip
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": SIZES,
    "qwen3": SIZES,
    "mistral": SIZES | {"sliding_window": 8},
    "gemma3_text": SIZES | {"sliding_window": 8},
    "phi3": SIZES,
    "gpt_neox": SIZES,
    "gpt2": GPT2,
    "bloom": {"hidden_size": 32, "n_layer": 6, "n_head": 4, "vocab_size": 128},
}


def tiny(kind: str, **changes: Any) -> Any:
    """A model of random weights, large enough to tell the layers apart."""
    torch.manual_seed(0)
    made = AutoModelForCausalLM.from_config(
        AutoConfig.for_model(kind, **ARCHITECTURES[kind] | changes)
    ).eval()
    for weight in made.parameters():
        if weight.ndim > 1:
            torch.nn.init.normal_(weight, std=0.2)
    return made


def tokenizer(template: str | None = TEMPLATE) -> Any:
    """One token a character, and a few control tokens."""
    control = ["<|user|>", "<|assistant|>", "<|end|>", "<|pad|>", "[unk]"]
    words = [*control, *map(chr, range(32, 127)), "\n", WORD_JOINER]
    raw = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[unk]"))
    raw.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    made = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        unk_token="[unk]",
        pad_token="<|pad|>",
        eos_token="<|end|>",
        additional_special_tokens=control[:3],
    )
    made.chat_template = template
    return made


def stored(folder: Path, kind: str = "llama", **changes: Any) -> config.Model:
    """A tiny model with its tokenizer, on the disk."""
    tiny(kind, **changes).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return config.Model(
        name="tiny",
        id=str(folder),
        reasoning="none",
        engine=config.HfEngine(dtype="float32", device="cpu", prefill_tokens=64),
    )


def answered(number: int, prompt: str, answer: str, **changes: Any) -> Labelled:
    return Labelled(
        id=f"s{number}",
        group=f"g{number}",
        request=Request(messages=({"role": "user", "content": prompt},)),
        response=Completion(key="", text=answer, **changes),
        positive=bool(number % 2),
    )


def conversations(count: int = 12) -> list[Labelled]:
    """Of many lengths."""
    return [
        answered(i, "why " * (1 + i * 5 % 7) + "?", "as " * (1 + i * 3 % 5) + str(i))
        for i in range(count)
    ]
