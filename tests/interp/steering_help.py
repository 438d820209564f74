"""What tests of steered answers ask, and how it is answered by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from tests.interp.activations_help import END, tokenizer
from trace import config
from trace.interp.activations.layers import decoder_layers
from trace.interp.steering.direction import Direction
from trace.interp.steering.generate import steered
from trace.models.hf import prompts
from trace.records import Completion, Push, Request, Sampling

LAYER = 2
ALPHAS = (-2.0, 0.0, 0.5, 2.0)
CPU = config.Trainer(accelerator="cpu")
HEAD = "Tell me shortly " * 2


def direction(seed: int = 5) -> Direction:
    values = torch.randn(32, generator=torch.Generator().manual_seed(seed))
    return Direction(values=values, layer=LAYER, name="difference", meta={})


def grid(
    tokens: Any, prompts: int = 5, alphas: Sequence[float] = ALPHAS, new: int = 7
) -> list[Request]:
    """Prompt by prompt, each at all alphas; the prompts have different lengths."""
    push = Push(vector=direction().sha256, layer=LAYER, alpha=0.0, tokens=tokens)
    return [
        Request(
            messages=({"role": "user", "content": HEAD + "why " * (1 + i * 2 % 5)},),
            sampling=Sampling(max_new_tokens=new + i % 2),
            push=replace(push, alpha=alpha),
        )
        for i in range(prompts)
        for alpha in alphas
    ]


def answers(model: config.Model, requests: Sequence[Request], folder: Path) -> list[Completion]:
    return steered(model, requests, [direction()], trainer=CPU, output_dir=folder)[0]


def written_by_hand(lm: Any, request: Request) -> str:
    """A whole forward a token, without a cache, and a hook of its own."""
    push, text = request.push, tokenizer()
    assert push is not None
    ids = list(prompts.encode(text, request).ids)
    start = 0 if push.tokens == "all" else len(ids) - 1
    new: list[int] = []

    def hook(module: Any, args: Any, output: Any) -> Any:
        hidden = output[0] if isinstance(output, tuple) else output
        moved = hidden.clone()
        moved[0, start:] += push.alpha * direction().values
        return (moved, *output[1:]) if isinstance(output, tuple) else moved

    handle = decoder_layers(lm)[LAYER].register_forward_hook(hook)
    with torch.inference_mode():
        while len(new) < request.sampling.max_new_tokens and new[-1:] != [END]:
            new.append(int(lm(input_ids=torch.tensor([ids + new])).logits[0, -1].argmax()))
    handle.remove()
    return text.decode(new, skip_special_tokens=True)
