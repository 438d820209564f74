"""Our forward computations against transformers' own, on small random models of many shapes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from trace.errors import ConfigError
from trace.models.hf import batches, forward
from trace.models.hf.architecture import check_architecture
from trace.models.hf.likelihood import label_logprobs

SMALL: dict[str, Any] = {
    "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
    "max_position_embeddings": 512, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip
SHAPES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen3": {},
    "qwen2": {"use_sliding_window": True, "sliding_window": 7, "max_window_layers": 1},
    "mistral": {"sliding_window": 9},
    "gemma3_text": {"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"] * 2,
                    "num_hidden_layers": 4},
    "phi3": {"sliding_window": 11},
    "gpt_neox": {},
    "gpt2": {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 512},
    "gpt_oss": {"sliding_window": 6, "num_local_experts": 2, "num_experts_per_tok": 1,
                "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
}  # fmt: skip


def made(kind: str, shape: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    settings = AutoConfig.for_model(kind, **(SMALL | shape))
    out = AutoModelForCausalLM.from_config(settings, dtype=torch.float32).eval()
    for parameter in out.parameters():  # larger weights, so that tokens really depend on context
        parameter.data.mul_(3)
    return out


@pytest.fixture(scope="module", params=SHAPES)
def model(request: pytest.FixtureRequest) -> Any:
    return made(request.param, SHAPES[request.param])


def prompts(shared: int = 0) -> list[list[int]]:
    stream = torch.Generator().manual_seed(7)
    draw = lambda n: torch.randint(3, 97, (n,), generator=stream).tolist()  # noqa: E731
    head = draw(shared)
    return [head + draw(n) for n in (40, 33, 21, 20, 5, 1)]


def reference(model: Any, prompt: list[int], new: int) -> list[int]:
    ids = torch.tensor([prompt])
    with torch.inference_mode():
        out = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, do_sample=False,
            eos_token_id=None, pad_token_id=0,
        )  # fmt: skip
    return out[0, len(prompt) :].tolist()


@pytest.mark.parametrize("shared", [0, 18])
def test_greedy_tokens_equal_those_of_generate(model: Any, shared: int) -> None:
    rows, new = prompts(shared), 12
    prefix = forward.prefill(model, [rows[0][:shared]]).cache if shared else None
    planned = batches.prefill_batches([len(row) - shared for row in rows], 64)
    parts = [
        forward.prefill(model, [rows[i][shared:] for i in batch], prefix=prefix)
        for batch in planned
    ]
    order = [i for batch in planned for i in batch]
    limits = [new - i % 3 for i in order]  # rows end at different times and are dropped
    out = forward.decode(
        model, parts, new_tokens=limits, pick=None, finished=lambda row, tokens: False
    )
    for i, tokens, limit in zip(order, out, limits, strict=True):
        assert tokens == reference(model, rows[i], limit)


@pytest.mark.parametrize("shared", [0, 18])
def test_label_likelihoods_equal_one_forward_a_label(model: Any, shared: int) -> None:
    rows = prompts(shared)
    branches = [(5, 9, 14), (5, 9, 20), (7,), (8, 9)]
    prefix = forward.prefill(model, [rows[0][:shared]]).cache if shared else None
    spare = sum(len(branch) - 1 for branch in branches)
    part = forward.prefill(model, [row[shared:] for row in rows], prefix=prefix, spare=spare)
    got = label_logprobs(model, part, branches)
    for i, row in enumerate(rows):
        for b, branch in enumerate(branches):
            with torch.inference_mode():
                logits = model(torch.tensor([row + list(branch)])).logits[0].float()
            chances = torch.log_softmax(logits, -1)
            expected = sum(
                float(chances[len(row) - 1 + j, token]) for j, token in enumerate(branch)
            )
            assert float(got[i, b]) == pytest.approx(expected, abs=2e-4)


def test_rows_that_end_early_do_not_disturb_the_others(model: Any) -> None:
    rows = prompts()
    parts = [forward.prefill(model, rows)]
    stops = {0: 2, 1: 1, 2: 3, 3: 1}
    out = forward.decode(
        model,
        parts,
        new_tokens=[10] * len(rows),
        pick=None,
        finished=lambda row, tokens: len(tokens) == stops.get(row, 10),
    )
    for i, tokens in enumerate(out):
        assert tokens == reference(model, rows[i], stops.get(i, 10))


@pytest.mark.parametrize("shared", [0, 18])
def test_labels_stay_in_the_chunk_of_their_positions(shared: int) -> None:
    """Llama 4: some layers see nothing before the last multiple of eight positions."""
    shape = {
        "attention_chunk_size": 8, "num_local_experts": 2, "intermediate_size_mlp": 48,
        "num_hidden_layers": 4, "layer_types": ["chunked_attention", "full_attention"] * 2,
    }  # fmt: skip
    chunked = made("llama4_text", shape)
    test_greedy_tokens_equal_those_of_generate(chunked, shared)
    test_label_likelihoods_equal_one_forward_a_label(chunked, shared)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [("mamba", {}), ("lfm2", {"layer_types": ["conv", "full_attention"], "num_hidden_layers": 2}),
     ("rwkv", {}), ("qwen3_next", {}), ("recurrent_gemma", {}), ("minimax", {}), ("falcon_h1", {})],
)  # fmt: skip
def test_layers_that_carry_padding_on_are_refused(kind: str, shape: dict[str, Any]) -> None:
    settings = AutoConfig.for_model(kind, **shape)
    for scores in (False, True):
        with pytest.raises(ConfigError, match=r"no attention.*model/engine=vllm"):
            check_architecture(settings, scores=scores)


def test_a_model_that_takes_no_positions_writes_and_is_not_scored() -> None:
    for kind, shape in {"mpt": {}, "bloom": {}, "falcon": {"alibi": True}}.items():
        settings = AutoConfig.for_model(kind, **shape)
        check_architecture(settings, scores=False)
        with pytest.raises(ConfigError, match=r"protocol\.answer=generate"):
            check_architecture(settings, scores=True)


def test_every_architecture_that_is_tested_is_let_through(model: Any) -> None:
    check_architecture(model.config, scores=True)
