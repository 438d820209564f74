"""What a guard with a prompt of its own cannot be asked."""

from __future__ import annotations

import pytest
from hydra import compose

from tests.conftest import ROOT
from trace import config, sweep
from trace.errors import UnsupportedError
from trace.tasks.guarding import Guarding

config.register()


def asked(variant: str) -> config.Root:
    words = ["model=mock", "model.rates={default: 1}", "model.guard=llama_guard_3",
             "model.kind=guard", "protocol=binary", f"protocol.variant={variant}"]  # fmt: skip
    with sweep.composing(ROOT / "conf"):
        return config.to_typed(compose("config", words))


def test_our_wordings_are_not_those_of_a_guard() -> None:
    plain = asked("plain")
    Guarding(plain.model).check(plain)
    for variant in ("reversed", "reworded_2"):
        settings = asked(variant)
        with pytest.raises(UnsupportedError, match=rf"protocol\.variant={variant} is left out"):
            Guarding(settings.model).check(settings)
