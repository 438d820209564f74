from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def cloudy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted credentials, and none of this machine's; the SDKs look at nothing else."""
    from tests.models.cloud.clouds import ENVIRONMENT

    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://127.0.0.1:1")
