"""From a configuration to the provider's service; the SDKs are imported when one is asked."""

from __future__ import annotations

from trace import config
from trace.errors import ConfigError
from trace.models.cloud.azure import Azure
from trace.models.cloud.bedrock import Bedrock
from trace.models.cloud.model_armor import ModelArmor
from trace.models.cloud.service import Service


def service_of(settings: config.Model) -> Service:
    """The service that a model's configuration names.

    Raises:
        ConfigError: it is no guard of a cloud, only its engine is one.
    """
    if isinstance(settings, config.BedrockGuardrail):
        return Bedrock(settings)
    if isinstance(settings, config.AzureResource):
        return Azure(settings)
    if isinstance(settings, config.ArmorTemplate):
        return ModelArmor(settings)
    raise ConfigError(
        f"model/engine={settings.engine.name} does not run model={settings.name}: a service judges "
        "by its own guard. Choose model=bedrock_guardrails, azure_content_safety or model_armor."
    )
