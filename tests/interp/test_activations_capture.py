"""Which layers are read, and that what the hooks see is the residual stream."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoConfig, AutoModelForCausalLM

from tests.interp.activations_help import ARCHITECTURES, tiny
from trace import config
from trace.errors import AssetError, ConfigError
from trace.interp.activations.capture import captured
from trace.interp.activations.layers import chosen_layers, decoder_layers
from trace.interp.activations.reader import read_rows
from trace.interp.activations.tokens import Row
from trace.models.hf.engine import HfModel


def whole(hidden: torch.Tensor) -> torch.Tensor:
    return hidden.clone()


def hooks(model: Any) -> int:
    return sum(len(module._forward_hooks) for module in model.modules())


def agrees(model: Any, ids: torch.Tensor) -> None:
    """Hidden state L+1 is what came out of layer L; behind the last the final norm stands."""
    stack = decoder_layers(model)
    before = hooks(model)
    with torch.inference_mode(), captured(model, range(len(stack)), whole) as seen:
        model(input_ids=ids, use_cache=False)
    assert hooks(model) == before
    with torch.inference_mode():
        expected = model(input_ids=ids, output_hidden_states=True, use_cache=False).hidden_states
    assert len(expected) == len(stack) + 1
    for number in range(len(stack) - 1):
        assert torch.equal(seen[number], expected[number + 1]), number
        assert not torch.equal(seen[number], expected[number]), number
    last = len(stack) - 1
    assert not torch.allclose(seen[last], expected[last + 1])


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_the_hooks_see_the_residual_stream(kind: str) -> None:
    ids = torch.randint(5, 100, (3, 17), generator=torch.Generator().manual_seed(1))
    agrees(tiny(kind), ids)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smollm2", "gemma3_270m"])
def test_the_hooks_see_the_residual_stream_of_real_models(name: str) -> None:
    settings = config.Model(name=name, asset=name, engine=config.HfEngine(dtype="float32"))
    try:
        model = HfModel(settings).model
    except AssetError as error:
        pytest.skip(str(error))
    agrees(model, torch.randint(5, 40_000, (2, 12), generator=torch.Generator().manual_seed(1)))


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_a_row_reads_the_same_alone_and_among_longer_ones(kind: str) -> None:
    made = torch.Generator().manual_seed(2)
    rows = [
        Row(
            id=str(n),
            ids=tuple(torch.randint(5, 100, (n,), generator=made).tolist()),
            start=start,
            stop=n,
        )
        for n, start in [(31, 30), (9, 3), (20, 19), (1, 0)]
    ]
    model, layers = tiny(kind), (0, 3, 5)
    together = read_rows(model, rows, layers)
    assert together.shape == (4, 3, 32)
    assert together.dtype == torch.float32
    for row, expected in zip(rows, together, strict=True):
        with torch.inference_mode(), captured(model, layers, whole) as seen:
            model(input_ids=torch.tensor([row.ids]), use_cache=False)
        by_hand = torch.stack([seen[n][0, row.start : row.stop].mean(0) for n in layers])
        torch.testing.assert_close(expected, by_hand, rtol=1e-4, atol=1e-4)


def test_low_precision_is_averaged_in_float32() -> None:
    model = tiny("llama").to(torch.bfloat16)
    row = Row(id="a", ids=tuple(range(5, 60)), start=4, stop=55)
    with torch.inference_mode(), captured(model, [2], whole) as seen:
        model(input_ids=torch.tensor([row.ids]), use_cache=False)
    expected = seen[2][0, 4:].double().mean(0)
    got = read_rows(model, [row], [2])[0, 0]
    assert (got - expected).abs().max() < 1e-6 * expected.abs().max()


def test_the_hooks_come_behind_those_that_push() -> None:
    model = tiny("qwen3")
    ids = torch.arange(5, 15)[None]
    with torch.inference_mode(), captured(model, [3], whole) as seen:
        model(input_ids=ids, use_cache=False)
    push = decoder_layers(model)[3].register_forward_hook(lambda m, a, out: out + 2.5)
    with torch.inference_mode(), captured(model, [3, 4], whole) as pushed:
        model(input_ids=ids, use_cache=False)
    push.remove()
    assert torch.equal(pushed[3], seen[3] + 2.5)


def test_the_model_is_as_before_whatever_happens() -> None:
    model = tiny("llama")
    before = hooks(model)
    with pytest.raises(KeyboardInterrupt), captured(model, [0, 5], whole):
        raise KeyboardInterrupt
    with pytest.raises(IndexError), captured(model, [0, 99], whole):
        pass
    assert hooks(model) == before


def run(model: Any, layers: list[int], times: int = 1) -> None:
    with torch.inference_mode(), captured(model, layers, whole):
        for _ in range(times):
            model(input_ids=torch.arange(5, 15)[None], use_cache=False)


def test_layers_that_call_no_hooks_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("llama")
    layer = decoder_layers(model)[4]
    compiled = type(
        "Compiled", (type(layer),), {"__call__": lambda self, *a, **k: layer.forward(*a, **k)}
    )
    monkeypatch.setattr(layer, "__class__", compiled)
    with pytest.raises(ConfigError, match="layer 4 of LlamaForCausalLM was seen 0 times"):
        run(model, [3, 4])


def test_two_forwards_are_one_too_many() -> None:
    with pytest.raises(ConfigError, match="layer 1 of GPT2LMHeadModel was seen 2 times"):
        run(tiny("gpt2"), [1], times=2)


def test_several_streams_side_by_side_are_refused() -> None:
    model = tiny("llama")
    decoder_layers(model)[2].register_forward_hook(lambda m, a, out: out[None])
    with pytest.raises(ConfigError, match="layer 2 returns 4 dimensions"):
        run(model, [2])


class Experts(torch.nn.Module):
    """Four layers of four experts each."""

    def __init__(self, layers: int = 4) -> None:
        super().__init__()
        described = SimpleNamespace(num_hidden_layers=layers)
        self.config = SimpleNamespace(get_text_config=lambda: described)
        fours = [torch.nn.ModuleList(torch.nn.Identity() for _ in range(4)) for _ in range(4)]
        self.stack = torch.nn.ModuleList(fours)


def seeing(towers: int) -> Any:
    """A Gemma 3 that looks at pictures through `towers` layers and writes with six."""
    vision = {"num_hidden_layers": towers, "hidden_size": 16, "intermediate_size": 16,
              "num_attention_heads": 2, "image_size": 28, "patch_size": 14}  # fmt: skip
    described = AutoConfig.for_model(
        "gemma3", text_config=ARCHITECTURES["gemma3_text"], vision_config=vision,
        mm_tokens_per_image=1,
    )  # fmt: skip
    return AutoModelForCausalLM.from_config(described)


def test_the_decoder_is_told_from_its_own_experts() -> None:
    model = Experts()
    assert decoder_layers(model) is model.stack


def test_the_decoder_is_told_from_what_sees() -> None:
    model = seeing(towers=8)
    assert decoder_layers(model) is model.model.language_model.layers


def test_two_stacks_of_one_length_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"several stacks of 6 layers \(model\.[\w.]+, model\."):
        decoder_layers(seeing(towers=6))


def test_a_model_without_decoder_layers_is_refused() -> None:
    with pytest.raises(ConfigError, match="Experts has no list of 5 decoder layers"):
        decoder_layers(Experts(layers=5))


@pytest.mark.parametrize(
    ("count", "wanted", "expected"),
    [
        (80, "every_4th", (*range(0, 80, 4), 79)),
        (16, "every_4th", (0, 4, 8, 12, 15)),
        (5, "every_4th", (0, 4)),
        (1, "every_4th", (0,)),
        (3, "all", (0, 1, 2)),
        (30, [17, 3, 17], (3, 17, 29)),
        (30, [29], (29,)),
    ],
)
def test_the_last_layer_is_always_read(count: int, wanted: Any, expected: tuple[int, ...]) -> None:
    assert chosen_layers(count, wanted) == expected


@given(st.integers(1, 100), st.lists(st.integers(-3, 103), min_size=1, max_size=6))
def test_layers_are_ascending_and_there_or_refused(count: int, wanted: list[int]) -> None:
    if all(0 <= number < count for number in wanted):
        made = chosen_layers(count, wanted)
        assert set(made) == {*wanted, count - 1}
        assert list(made) == sorted(set(made))
    else:
        with pytest.raises(ConfigError, match=r"^probe\.layers: the model has no layer -?\d+; "):
            chosen_layers(count, wanted)
