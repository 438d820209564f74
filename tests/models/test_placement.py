from __future__ import annotations

import pytest

from trace.errors import ConfigError
from trace.models.hf.placement import device


def test_a_device_is_one_that_keeps_values() -> None:
    assert device("cpu").type == "cpu"
    for name in ("meta", "nosuch", "cuda:99"):
        with pytest.raises(ConfigError, match=f"model.engine.device={name}: cannot be used here"):
            device(name)
