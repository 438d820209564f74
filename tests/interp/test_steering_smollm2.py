"""The real SmolLM2 in float32: the grid in one batch against transformers' own generation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from trace import config
from trace.errors import AssetError
from trace.interp.activations.layers import decoder_layers
from trace.interp.steering.direction import Direction
from trace.interp.steering.generate import steered
from trace.interp.steering.padded import opened
from trace.models.hf import prompts
from trace.models.hf.engine import HfModel
from trace.records import Push, Request, Sampling

pytestmark = pytest.mark.slow

LAYER = 15
SETTINGS = config.Model(
    name="smollm2", asset="smollm2", reasoning="none", engine=config.HfEngine(dtype="float32")
)


@pytest.fixture(scope="module")
def model() -> HfModel:
    made = opened(SETTINGS)
    try:
        assert made.text.tokenizer is not None
    except AssetError as error:
        pytest.skip(str(error))
    return made


def reference(model: HfModel, request: Request, vector: Direction) -> str:
    """One prompt at one alpha, by `generate`, with a plain hook that adds to all tokens."""
    push = request.push
    assert push is not None

    def hook(module: Any, args: Any, output: torch.Tensor) -> torch.Tensor:
        where = slice(None) if push.tokens == "all" else slice(-1, None)
        moved = output.clone()
        moved[:, where] += push.alpha * vector.values
        return moved

    ids = torch.tensor([prompts.encode(model.text.tokenizer, request).ids])
    handle = decoder_layers(model.model)[LAYER].register_forward_hook(hook)
    with torch.inference_mode():
        out = model.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=request.sampling.max_new_tokens,
            do_sample=False,
        )
    handle.remove()
    text: str = model.text.tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
    return text


@pytest.mark.parametrize("tokens", ["all", "generated"])
def test_the_grid_equals_one_alpha_and_prompt_at_a_time(
    model: HfModel, tokens: Any, tmp_path: Path
) -> None:
    drawn = torch.randn(576, generator=torch.Generator().manual_seed(0))
    vector = Direction(values=drawn, layer=LAYER, name="random", meta={})
    requests = [
        Request(
            messages=({"role": "user", "content": text},),
            sampling=Sampling(max_new_tokens=8),
            push=Push(vector=vector.sha256, layer=LAYER, alpha=alpha, tokens=tokens),
        )
        for text in ("Name a fruit.", "What should I read on a long train journey to the sea?")
        for alpha in (-4.0, 0.0, 4.0)
    ]
    made, _ = steered(
        SETTINGS,
        requests,
        [vector],
        trainer=config.Trainer(accelerator="cpu"),
        output_dir=tmp_path,
    )
    assert [one.text for one in made] == [reference(model, r, vector) for r in requests]
    assert {one.batch_rows for one in made} == {6}
    assert len({one.text for one in made}) > 4
