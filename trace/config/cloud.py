"""The guards that stand in a provider's cloud, and the engines that ask them."""

from __future__ import annotations

import re
from typing import ClassVar

from trace.config.base import check, config
from trace.config.engines import Engine, RemoteEngine
from trace.config.models import Model

_REGION = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+")
_GUARDRAIL = re.compile(r"[a-z0-9]+|arn:aws[^:]*:bedrock:[a-z0-9-]+:\d{12}:guardrail/[a-z0-9]+")
_VERSION = re.compile(r"[1-9]\d{0,7}|DRAFT")
_TEMPLATE = re.compile(r"projects/[^/]+/locations/(?P<location>[a-z0-9-]+)/templates/[^/]+")
_ADDRESS = re.compile(r"(https://|http://(127\.0\.0\.1|localhost)\b)[^/?#@]*/?")


@config
class CloudEngine(RemoteEngine):
    """A provider's service that judges texts, asked through its official SDK: the extra `cloud`."""

    concurrency: int = 16
    timeout: float = 60.0


@config
class BedrockEngine(CloudEngine):
    """AWS Bedrock Guardrails, by boto3."""

    name: str = "bedrock"


@config
class AzureEngine(CloudEngine):
    """Azure AI Content Safety, by azure-ai-contentsafety."""

    name: str = "azure"


@config
class ModelArmorEngine(CloudEngine):
    """Google Cloud Model Armor, by google-cloud-modelarmor."""

    name: str = "model_armor"


@config
class CloudGuard(Model):
    """A provider's guard. `id` is the resource that judges; no weights are loaded."""

    runs_on: ClassVar[type[Engine]]
    family_prefix: ClassVar[str]
    """How the names of the families begin that read its answers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            isinstance(self.engine, self.runs_on),
            "model/engine",
            f"{self.engine.name} does not run this model",
            "Leave it out: this guard has an engine of its own.",
        )
        check(
            (self.guard or "").startswith(self.family_prefix),
            "model.guard",
            f"{self.guard} does not read what this service answers",
            f"Give one that begins with {self.family_prefix}, or leave it out.",
        )


@config
class BedrockGuardrail(CloudGuard):
    """A guardrail of AWS Bedrock. Credentials are those that boto3 finds."""

    runs_on = BedrockEngine
    family_prefix = "bedrock_guardrails"

    region: str | None = None
    """The AWS region that holds it, such as us-east-1."""
    version: str | None = None
    """Its version: a number, or DRAFT, which changes whenever it is edited."""

    def __post_init__(self) -> None:
        check(
            _GUARDRAIL.fullmatch(self.id or "") is not None,
            "model.id",
            f"{self.id or 'no value'} is no guardrail",
            "Give its id or its ARN: model.id=abc123.",
        )
        check(
            _REGION.fullmatch(self.region or "") is not None,
            "model.region",
            f"{self.region or 'no value'} is no region",
            "Try model.region=us-east-1.",
        )
        check(
            _VERSION.fullmatch(self.version or "") is not None,
            "model.version",
            f"{self.version or 'no value'} is no version of a guardrail",
            "Give its number, model.version=1; DRAFT changes whenever the guardrail is edited.",
        )
        super().__post_init__()


@config
class AzureResource(CloudGuard):
    """A Content Safety resource of Azure. `id` is its endpoint."""

    runs_on = AzureEngine
    family_prefix = "azure_content_safety"

    api_version: str = "2023-10-01"
    """The version of the API, which picks the classifiers."""
    api_key_env: str | None = None
    """The environment variable that holds the key of the resource."""

    def __post_init__(self) -> None:
        check(
            _ADDRESS.fullmatch(self.id or "") is not None,
            "model.id",
            f"{self.id or 'no value'} is no endpoint",
            "Try model.id=https://NAME.cognitiveservices.azure.com.",
        )
        check(
            self.api_key_env is not None and self.api_key_env.isidentifier(),
            "model.api_key_env",
            "is not the name of a variable",  # it may be the key itself, so it is not repeated
            "Put the key into the environment and give its name: "
            "model.api_key_env=CONTENT_SAFETY_KEY.",
        )
        super().__post_init__()


@config
class ArmorTemplate(CloudGuard):
    """A template of Google Cloud Model Armor. Credentials are Google's application default."""

    runs_on = ModelArmorEngine
    family_prefix = "model_armor"

    multilingual: bool = False
    """Whether texts in other languages than English are detected and judged."""

    def __post_init__(self) -> None:
        check(
            _TEMPLATE.fullmatch(self.id or "") is not None,
            "model.id",
            f"{self.id or 'no value'} is no template",
            "Try model.id=projects/PROJECT/locations/us-central1/templates/TEMPLATE.",
        )
        super().__post_init__()

    @property
    def location(self) -> str:
        """The location that holds the template; the service is asked there."""
        match = _TEMPLATE.fullmatch(self.id or "")
        assert match is not None  # checked when it was built
        return match["location"]
