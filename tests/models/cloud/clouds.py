"""The three services before a stub server, each through its own SDK and its own message types."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from trace import config
from trace.judging.guards.base import Conversation
from trace.judging.guards.registry import guard_of
from trace.models.cloud.engine import CloudModel
from trace.models.cloud.providers import service_of
from trace.records import Completion, Request, Verdict

pytest.importorskip("boto3")
pytest.importorskip("azure.ai.contentsafety")
pytest.importorskip("google.cloud.modelarmor")

TEMPLATE = "projects/p/locations/us-central1/templates/t"
SECRETS = {
    "AWS_ACCESS_KEY_ID": "AKPLANTEDPLANTED",
    "AWS_SECRET_ACCESS_KEY": "planted-secret-of-aws",
    "CONTENT_SAFETY_KEY": "planted-key-of-azure",
}
ENVIRONMENT = SECRETS | {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "GOOGLE_APPLICATION_CREDENTIALS": "",
    "CLOUDSDK_CONFIG": os.devnull,
    "NO_GCE_CHECK": "true",
}
"""Nothing of the machine is looked at, and no metadata server is asked."""


def engine_of(kind: type[config.CloudEngine], given: dict[str, Any]) -> config.CloudEngine:
    return kind(**({"timeout": 1.0, "attempts": 3} | given))


def bedrock(url: str = "", **engine: Any) -> CloudModel:
    if url:
        os.environ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] = url  # the SDK's own; undone by `cloudy`
    settings = config.BedrockGuardrail(
        name="bedrock", kind="guard", guard="bedrock_guardrails",
        id="abc123", region="us-east-1", version="1",
        engine=engine_of(config.BedrockEngine, engine),
    )  # fmt: skip
    return CloudModel(settings, service_of(settings))


def azure(url: str = "https://name.cognitiveservices.azure.com", **engine: Any) -> CloudModel:
    settings = config.AzureResource(
        name="azure", kind="guard", guard="azure_content_safety",
        id=url, api_key_env="CONTENT_SAFETY_KEY",
        engine=engine_of(config.AzureEngine, engine),
    )  # fmt: skip
    return CloudModel(settings, service_of(settings))


def model_armor(url: str = "", **engine: Any) -> CloudModel:
    settings = config.ArmorTemplate(
        name="armor", kind="guard", guard="model_armor", id=TEMPLATE,
        engine=engine_of(config.ModelArmorEngine, engine),
    )  # fmt: skip
    model = CloudModel(settings, service_of(settings))
    if url:
        from google.auth.credentials import AnonymousCredentials
        from google.cloud.modelarmor_v1 import ModelArmorClient
        from google.cloud.modelarmor_v1.services.model_armor import transports

        transport = transports.ModelArmorRestTransport(
            host=url.removeprefix("http://"),
            credentials=AnonymousCredentials(),
            url_scheme="http",
        )
        model.service.client = ModelArmorClient(transport=transport)  # type: ignore[attr-defined]
    return model


USAGE = dict.fromkeys(
    ("topicPolicyUnits", "contentPolicyUnits", "wordPolicyUnits", "sensitiveInformationPolicyUnits",
     "sensitiveInformationPolicyFreeUnits", "contextualGroundingPolicyUnits"), 1
)  # fmt: skip


def bedrock_reply(unsafe: bool = False, **changed: Any) -> dict[str, Any]:
    violence = {"type": "VIOLENCE", "confidence": "HIGH" if unsafe else "LOW",
                "filterStrength": "MEDIUM", "action": "BLOCKED" if unsafe else "NONE",
                "detected": unsafe}  # fmt: skip
    return {
        "usage": USAGE,
        "action": "GUARDRAIL_INTERVENED" if unsafe else "NONE",
        "outputs": [],
        "assessments": [{"contentPolicy": {"filters": [violence]}}],
        "guardrailCoverage": {"textCharacters": {"guarded": 5, "total": 5}},
    } | changed


def azure_reply(unsafe: bool = False, **severities: int) -> dict[str, Any]:
    from azure.ai.contentsafety.models import AnalyzeTextResult, TextCategoriesAnalysis

    found = {"Hate": 0, "SelfHarm": 0, "Sexual": 1, "Violence": 5 if unsafe else 0} | severities
    analysis = [TextCategoriesAnalysis(category=c, severity=s) for c, s in found.items()]
    return AnalyzeTextResult(categories_analysis=analysis, blocklists_match=[]).as_dict()


def armor_reply(
    unsafe: bool = False, *, whole: str = "SUCCESS", response: bool = False, **filters: Any
) -> dict[str, Any]:
    import json

    from google.cloud.modelarmor_v1 import types

    state = "MATCH_FOUND" if unsafe else "NO_MATCH_FOUND"
    rai = {"execution_state": "EXECUTION_SUCCESS", "match_state": state,
           "rai_filter_type_results": {
               "dangerous": {"confidence_level": "HIGH", "match_state": state},
               "harassment": {"match_state": "NO_MATCH_FOUND"}}}  # fmt: skip
    result = types.SanitizationResult(
        filter_match_state=state,
        invocation_result=whole,
        filter_results={"rai": {"rai_filter_result": rai}} | filters,
    )
    kind = types.SanitizeModelResponseResponse if response else types.SanitizeUserPromptResponse
    found: dict[str, Any] = json.loads(kind.to_json(kind(sanitization_result=result)))
    return found


@dataclass(frozen=True)
class Cloud:
    """A service: how it is reached, what it answers, and how it says no."""

    family: str
    model: Callable[..., CloudModel]
    reply: Callable[..., dict[str, Any]]
    error: Callable[[int, str, str], tuple[int, Any, dict[str, str]]]
    """status, code, message -> a reply in the service's own form."""

    def request(self, text: str, response: str | None = None) -> Request:
        (asked,) = guard_of(self.family).questions(Conversation(user=text, assistant=response))
        return Request(messages=asked.messages, sampling=Request().sampling)

    def read(self, completion: Completion) -> Verdict:
        return guard_of(self.family).read([completion], Conversation(user="x"), "strict")


def _aws(status: int, code: str, message: str) -> tuple[int, Any, dict[str, str]]:
    return status, {"message": message}, {"x-amzn-errortype": code}


def _rest(status: int, code: str, message: str) -> tuple[int, Any, dict[str, str]]:
    return status, {"error": {"code": code, "message": message}}, {}


CLOUDS: Mapping[str, Cloud] = {
    "bedrock": Cloud("bedrock_guardrails", bedrock, bedrock_reply, _aws),
    "azure": Cloud("azure_content_safety", azure, azure_reply, _rest),
    "model_armor": Cloud("model_armor", model_armor, armor_reply, _rest),
}


def flat(batches: Iterable[list[Completion]]) -> list[Completion]:
    return [completion for batch in batches for completion in batch]
