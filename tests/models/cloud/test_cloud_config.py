"""The files of the three guards: what they leave to the user, and what is refused by its key."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hydra import compose

from tests.conftest import ROOT
from trace import config, sweep
from trace.errors import ConfigError
from trace.judging.guards.registry import guard_of
from trace.models.runnable import Machine, verdict

config.register()

NEEDS = {
    "bedrock_guardrails": ["model.id=abc123", "model.region=us-east-1", "model.version=1"],
    "azure_content_safety": ["model.id=https://name.cognitiveservices.azure.com"],
    "model_armor": ["model.id=projects/p/locations/us-central1/templates/t"],
}


def typed(name: str, *overrides: str) -> config.Model:
    with sweep.composing(ROOT / "conf"):
        line = [f"model={name}", *NEEDS[name], *overrides]
        return config.to_typed(compose("config", line)).model


@pytest.mark.parametrize("name", NEEDS)
def test_a_file_makes_a_guard_that_its_family_reads(name: str) -> None:
    settings = typed(name)
    assert isinstance(settings, config.CloudGuard)
    assert settings.kind == "guard"
    assert guard_of(settings.guard or "")


@pytest.mark.parametrize(
    ("name", "override", "key"),
    [
        ("bedrock_guardrails", "model.id=null", "model.id"),
        ("bedrock_guardrails", "model.id=ABC/1", "model.id"),
        ("bedrock_guardrails", "model.region=null", "model.region"),
        ("bedrock_guardrails", "model.version=0", "model.version"),
        ("bedrock_guardrails", "model.guard=model_armor", "model.guard"),
        ("bedrock_guardrails", "model.guard=null", "model.guard"),
        ("bedrock_guardrails", "model/engine=azure", "model/engine"),
        ("bedrock_guardrails", "model.engine.attempts=0", "model.engine.attempts"),
        ("bedrock_guardrails", "model.engine.concurrency=0", "model.engine.concurrency"),
        ("bedrock_guardrails", "model.engine.max_requests=0", "model.engine.max_requests"),
        ("azure_content_safety", "model.id=http://name.example.org", "model.id"),
        ("azure_content_safety", "model.id=https://user:word@name.example.org", "model.id"),
        ("azure_content_safety", "model.api_key_env=null", "model.api_key_env"),
        ("azure_content_safety", "model.api_key_env=12-key", "model.api_key_env"),
        ("azure_content_safety", "model.engine.timeout=0", "model.engine.timeout"),
        ("model_armor", "model.id=projects/p/templates/t", "model.id"),
        ("model_armor", "model.revision=main", "model.revision"),
        ("model_armor", "+model.region=us-east-1", "model.region"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_key(
    name: str, override: str, key: str
) -> None:
    with pytest.raises(ConfigError, match=rf"^{key}\b") as caught:
        typed(name, override)
    assert "12-key" not in str(caught.value)
    assert "word@" not in str(caught.value).replace("user:word@", "")


def test_what_is_usual_is_said_of_this_engine_and_not_of_another() -> None:
    for override, usual in (
        ("concurrency=0", "16 is"),
        ("timeout=0", "60 is"),
        ("attempts=0", "8 is"),
    ):
        with pytest.raises(ConfigError, match=f"{usual} the default"):
            typed("bedrock_guardrails", f"model.engine.{override}")


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("bedrock_guardrails", "model.version=2"),
        ("bedrock_guardrails", "model.region=eu-west-1"),
        ("azure_content_safety", "model.api_version=2024-09-01"),
        ("azure_content_safety", "model.guard=azure_content_safety_4"),
        ("model_armor", "model.multilingual=true"),
    ],
)
def test_what_can_change_a_verdict_is_part_of_the_run(name: str, other: str) -> None:
    def found(*overrides: str) -> dict[str, Any]:
        with sweep.composing(ROOT / "conf"):
            line = [f"model={name}", *NEEDS[name], *overrides]
            return config.of_result(config.to_typed(compose("config", line)))

    assert found() == found("model.engine.concurrency=2", "model.engine.attempts=3")
    assert found() != found(other)


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [
        ("bedrock_guardrails", "boto3", "boto3"),
        ("azure_content_safety", "azure.ai.contentsafety", "azure-ai-contentsafety"),
        ("model_armor", "google.cloud.modelarmor", "google-cloud-modelarmor"),
    ],
)
def test_the_list_says_what_is_lacking(name: str, module: str, package: str) -> None:
    bare = Machine()
    assert verdict(typed(name), bare).reason == f"the package {package} is not installed"
    there = Machine(packages=frozenset({module}), environment=frozenset({"CONTENT_SAFETY_KEY"}))
    assert verdict(typed(name), there).runs
    keyless = dataclasses.replace(there, environment=frozenset())
    assert verdict(typed(name), keyless).runs == (name != "azure_content_safety")
