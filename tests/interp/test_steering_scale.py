"""How long a push is: against a norm taken by hand, in both units, up to the largest number."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.interp.activations_help import answered, conversations, stored
from trace import config
from trace.errors import ConfigError
from trace.interp.activations.tokens import row_of
from trace.interp.steering import scale
from trace.interp.steering.direction import Direction
from trace.models.hf.engine import HfModel

LAYER = 2


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> config.Model:
    return stored(tmp_path_factory.mktemp("model"))


def vector(values: list[float]) -> Direction:
    return Direction(values=torch.tensor(values), layer=LAYER, name="difference", meta={})


def test_the_median_counts_every_token_but_the_first_of_each(model: config.Model) -> None:
    """Against transformers' own hidden states, one answer at a time and without padding."""
    items = [*conversations(7), answered(99, "and?", "")]  # an empty answer: its prompt counts
    side = HfModel(model)
    lengths: list[float] = []
    for one in items:
        position = "response_last" if one.response.text else "prompt_end"
        ids = torch.tensor([row_of(side.text, one, position).ids])
        with torch.inference_mode():
            states = side.model(input_ids=ids, output_hidden_states=True).hidden_states
        lengths += states[LAYER + 1][0, 1:].norm(dim=-1).tolist()
    got = scale.median_norm(model, items, LAYER)
    assert got == pytest.approx(float(np.median(lengths)), rel=1e-5)


def test_the_units() -> None:
    v = vector([3.0, 4.0])
    assert scale.strength(-2.0, "raw", v, 50.0) == -2.0
    times = scale.strength(-2.0, "median_norm", v, 50.0)
    assert times == -20.0  # 20 times a vector of length 5 is twice as long as the stream
    assert scale.ratio(times, v, 50.0) == 2.0
    assert scale.ratio(6.0, v, 50.0) == pytest.approx(0.6)
    assert scale.strength(0.0, "median_norm", v, 50.0) == 0.0


def test_a_push_that_overflows_is_refused() -> None:
    v = vector([-4.0, 1.0])
    scale.check_fits(16000.0, v, "float16")  # 64,000 of 65,504
    scale.check_fits(17000.0, v, "bfloat16")
    with pytest.raises(ConfigError, match=r"steering\.alpha.*68000.*float16 ends at 65504"):
        scale.check_fits(-17000.0, v, "float16")
