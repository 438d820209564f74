"""Random numbers in the place of a model's weights: the control of a probe."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from trace import config
from trace.models.hf.engine import HfModel


def smollm2(*, random: bool) -> HfModel:
    engine = config.HfEngine(dtype="float32", device="cpu", random_weights=random)
    return HfModel(config.Model(name="smollm2", asset="smollm2", reasoning="none", engine=engine))


@pytest.mark.slow
def test_they_are_no_trained_ones_and_the_same_every_time() -> None:
    before = torch.random.get_rng_state()
    one, other = (smollm2(random=True).model for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), before)
    trained = smollm2(random=False).model
    for name, weights in one.state_dict().items():
        assert torch.equal(weights, other.state_dict()[name])
        assert weights.shape == trained.state_dict()[name].shape
    place = "model.layers.3.mlp.up_proj.weight"
    assert not torch.allclose(one.state_dict()[place], trained.state_dict()[place])


@pytest.mark.slow
def test_they_have_keys_of_their_own_and_change_none_of_trained_ones() -> None:
    trained, random = smollm2(random=False), smollm2(random=True)
    assert "random_weights" not in trained.identity
    assert random.identity == {**trained.identity, "random_weights": True}
    assert replace(trained.engine, random_weights=True) == random.engine
