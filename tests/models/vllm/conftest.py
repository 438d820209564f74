"""The real SmolLM2 under vLLM; what needs it is skipped where vLLM is not installed."""

from __future__ import annotations

import pytest

from tests.models.vllm.help import settings
from trace.errors import AssetError
from trace.models.vllm import load
from trace.models.vllm.engine import VllmModel


@pytest.fixture(scope="session")
def vllm_here() -> None:
    if not load.installed():
        pytest.skip("vllm is not installed: make test-vllm")


@pytest.fixture(scope="session")
def model(vllm_here: None) -> VllmModel:
    """The loaded model; one a session, since loading takes most of the time."""
    made = VllmModel(settings())
    try:
        assert made.llm
    except AssetError as error:
        pytest.skip(str(error))
    return made
