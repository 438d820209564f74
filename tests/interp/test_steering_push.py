"""The hook that adds vectors: exact, removed whatever happens, and loud where it cannot work."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.interp.activations_help import tiny
from trace.errors import ConfigError
from trace.interp.activations.capture import captured
from trace.interp.activations.layers import decoder_layers
from trace.interp.steering.push import Pushing, pushed

KINDS = ["llama", "qwen3", "gemma3_text", "gpt2", "bloom"]  # the last two return tuples
LAYER = 2


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest) -> Any:
    return tiny(request.param)


def ids(rows: int = 3, width: int = 9) -> torch.Tensor:
    stream = torch.Generator().manual_seed(3)
    return torch.randint(5, 120, (rows, width), generator=stream)


def vector(seed: int = 5) -> torch.Tensor:
    return torch.randn(32, generator=torch.Generator().manual_seed(seed))


def stream(model: Any, tokens: torch.Tensor, layer: int) -> torch.Tensor:
    with torch.inference_mode(), captured(model, [layer], lambda hidden: hidden.clone()) as seen:
        model(input_ids=tokens)
    return seen[layer]


def logits(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        out: torch.Tensor = model(input_ids=tokens).logits
    return out


def interrupted(model: Any) -> None:
    logits(model, ids())
    raise KeyboardInterrupt


def test_what_is_added_behind_the_layer_is_alpha_times_the_vector(model: Any) -> None:
    alphas, v = [-2.0, 0.0, 1.5], vector()
    plain = stream(model, ids(), LAYER)
    with pushed(model, LAYER, v, alphas, "all"):
        moved = stream(model, ids(), LAYER)
    with pushed(model, LAYER, v, alphas, "generated"):
        last = stream(model, ids(), LAYER)
    expected = torch.tensor(alphas)[:, None, None] * v
    torch.testing.assert_close(moved - plain, expected.expand_as(plain), atol=1e-4, rtol=0)
    torch.testing.assert_close((last - plain)[:, -1], expected[:, 0], atol=1e-4, rtol=0)
    assert torch.equal(last[:, :-1], plain[:, :-1])


@pytest.mark.parametrize("tokens", ["all", "generated"])
def test_a_row_at_zero_is_bitwise_the_unpushed_one(model: Any, tokens: Any) -> None:
    plain = logits(model, ids())
    with pushed(model, LAYER, vector(), [4.0, 0.0, -4.0], tokens):
        moved = logits(model, ids())
    assert moved[1].numpy().tobytes() == plain[1].numpy().tobytes()
    assert not torch.equal(moved[0], plain[0])
    assert not torch.equal(moved[2], plain[2])


def test_adding_nothing_keeps_the_sign_of_zero_and_an_infinite_vector_out() -> None:
    hidden = torch.tensor([[[0.0, -0.0, 1.0, -5e-45]]])
    model = _OneLayer(hidden)
    vectors = torch.tensor([1.0, -1.0, torch.inf, torch.nan])
    with pushed(model, 0, vectors, [0.0], "all"):
        out = model.stack[0](hidden)
    assert out.numpy().tobytes() == hidden.numpy().tobytes()


def test_the_model_is_as_before_after_an_error(model: Any) -> None:
    plain = logits(model, ids())
    layer = decoder_layers(model)[LAYER]
    before = dict(layer._forward_hooks)
    with pytest.raises(KeyboardInterrupt), pushed(model, LAYER, vector(), [1.0] * 3, "all"):
        interrupted(model)
    assert dict(layer._forward_hooks) == before
    assert torch.equal(logits(model, ids()), plain)


def test_cached_generation_with_padding_on_the_left(model: Any) -> None:
    """Transformers' own generation of a padded batch, against each prompt alone."""
    if model.config.model_type == "bloom":
        pytest.skip("its positions come from the mask in another way")
    rows, alphas = [ids()[0].tolist(), ids()[1, :4].tolist()], [3.0, -3.0]
    padded = torch.tensor([rows[0], [0] * 5 + rows[1]])
    mask = torch.tensor([[1] * 9, [0] * 5 + [1] * 4])
    options: Any = {
        "max_new_tokens": 6, "do_sample": False, "eos_token_id": None, "pad_token_id": 0
    }  # fmt: skip
    with torch.inference_mode(), pushed(model, LAYER, vector(), alphas, "generated"):
        both = model.generate(padded, attention_mask=mask, **options)[:, 9:]
    for row, alpha, together in zip(rows, alphas, both, strict=True):
        with torch.inference_mode(), pushed(model, LAYER, vector(), [alpha], "generated"):
            alone = model.generate(torch.tensor([row]), **options)[0, len(row) :]
        assert together.tolist() == alone.tolist()


def test_rows_are_followed_when_others_are_dropped() -> None:
    additions = torch.arange(4.0)[:, None].expand(4, 2)
    pushing = Pushing(additions, "generated")
    hidden = torch.zeros(2, 3, 2)
    pushing.aim([3, 1], [0, 2])
    out = pushing.hook(torch.nn.Identity(), (), hidden)
    assert out[:, :, 0].tolist() == [[3, 0, 0], [0, 0, 1]]
    pushing.aim([1], None)
    assert pushing.hook(torch.nn.Identity(), (), hidden[:1])[0, :, 0].tolist() == [0, 0, 1]
    pushing.aim((), None)
    assert pushing.hook(torch.nn.Identity(), (), hidden) is hidden


def test_a_layer_that_does_not_exist_is_named(model: Any) -> None:
    for layer in (6, -1):
        with (
            pytest.raises(ConfigError, match=rf"steering\.layer={layer}.*0 to 5"),
            pushed(model, layer, vector(), [1.0], "all"),
        ):
            pass


def test_a_hook_that_never_fires_is_an_error(model: Any) -> None:
    with (
        pytest.raises(ConfigError, match="nothing was pushed"),
        pushed(model, LAYER, vector(), [1.0] * 3, "all"),
    ):
        pass


def test_another_width_or_number_of_rows_is_refused(model: Any) -> None:
    for values, times in ((torch.ones(31), [1.0] * 3), (vector(), [1.0])):
        with (
            pytest.raises(ConfigError, match=r"steering\.vector"),
            pushed(model, LAYER, values, times, "all"),
        ):
            logits(model, ids())


def test_several_streams_side_by_side_are_refused() -> None:
    model = _OneLayer(torch.zeros(2, 1, 3, 4))
    with (
        pytest.raises(ConfigError, match="4 dimensions"),
        pushed(model, 0, torch.ones(4), [1.0], "all"),
    ):
        model.stack[0](torch.zeros(2, 1, 3, 4))


class _OneLayer(torch.nn.Module):
    """What `decoder_layers` takes for a model, whose layer returns what it is given."""

    def __init__(self, hidden: torch.Tensor) -> None:
        super().__init__()
        self.stack = torch.nn.ModuleList([torch.nn.Identity()])
        self.device = hidden.device
        self.config = self

    def get_text_config(self) -> Any:
        return self

    @property
    def num_hidden_layers(self) -> int:
        return 1
