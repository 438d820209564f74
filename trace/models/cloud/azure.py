"""Azure AI Content Safety, by azure-ai-contentsafety.

Source: the REST reference of text:analyze, and the SDK's own models.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from trace import config
from trace.errors import ConfigError
from trace.models.cloud.fault import of_status, unknown
from trace.models.cloud.service import Judgement, Texts, missing
from trace.models.hosted.fault import Fault
from trace.records import Finish, Json
from trace.tracking.secrets import REDACTED

LEVELS = "EightSeverityLevels"
"""Severities from 0 to 7. The other scale, of four levels, is these rounded down to even ones."""

ADVICE = {
    401: "Set the variable of model.api_key_env to a key of the resource of model.id",
    403: "Check the network rules and the plan of the resource of model.id",
    404: "Correct model.id or model.api_version",
}


class Azure:
    """`analyze_text` of one resource, without blocklists.

    `longest` is what the reference of AnalyzeTextOptions says.
    """

    longest = 10_000

    def __init__(self, settings: config.AzureResource) -> None:
        self.settings = settings
        self.identity: Mapping[str, Json] = {
            "engine": settings.engine.name,
            "id": (settings.id or "").rstrip("/"),
            "api_version": settings.api_version,
            "levels": LEVELS,
        }

    @property
    def version(self) -> str:
        """The SDK and its version."""
        from importlib.metadata import version

        return f"azure-ai-contentsafety {version('azure-ai-contentsafety')}"

    def prepare(self) -> None:
        """Looks for the key in the environment.

        Raises:
            ConfigError: the SDK is not installed, or the variable is not set.
        """
        _ = self.client

    @property
    def key(self) -> str:
        """The key, from the environment; empty without one."""
        return os.environ.get(self.settings.api_key_env or "", "").strip()

    @cached_property
    def client(self) -> Any:
        """The SDK's client, whose own retries are off: who retries has to count."""
        try:
            from azure.ai.contentsafety import ContentSafetyClient
            from azure.core.credentials import AzureKeyCredential
        except ImportError as error:
            missing("azure", "azure-ai-contentsafety", error)
        if not (self.key and self.key.isascii() and self.key.isprintable()):
            name = self.settings.api_key_env
            raise ConfigError(
                f"model.api_key_env={name}: the environment holds no key there. Type "
                f"export {name}=… first."
            )
        engine = self.settings.engine
        assert isinstance(engine, config.AzureEngine)
        return ContentSafetyClient(
            self.identity["id"],
            AzureKeyCredential(self.key),
            api_version=self.settings.api_version,
            retry_total=0,
            connection_timeout=engine.timeout,
            read_timeout=engine.timeout,
        )

    def judge(self, texts: Texts) -> Judgement | Fault:
        """One call; a response is sent alone, since the service takes no pairs."""
        from azure.ai.contentsafety.models import AnalyzeTextOptions

        reply = self.client.analyze_text(AnalyzeTextOptions(text=texts.judged, output_type=LEVELS))
        found = reply.as_dict().get("categoriesAnalysis")
        if not isinstance(found, list):
            return Fault(kind="malformed", text="a reply without categoriesAnalysis", billed=True)
        return Judgement(said={"categoriesAnalysis": found})

    def fault(self, error: Exception) -> Fault | Finish:
        """What the SDK raises: an error with a status, or of the way there."""
        from azure.core.exceptions import (
            DecodeError,
            HttpResponseError,
            ServiceRequestError,
            ServiceResponseError,
        )

        if isinstance(error, DecodeError):
            return self._hidden(unknown(error))
        if isinstance(error, HttpResponseError):
            told = error.error
            return self._hidden(
                of_status(
                    error.status_code,
                    (told.code if told else None) or "",
                    (told.message if told else None) or error.reason or "",
                    ADVICE,
                    getattr(error.response, "headers", None),
                )
            )
        if isinstance(error, ServiceRequestError):  # it was never sent
            return self._hidden(replace(unknown(error), kind="failed"))
        if isinstance(error, ServiceResponseError):
            return self._hidden(replace(unknown(error), kind="failed", billed=True))
        return self._hidden(unknown(error))

    def _hidden(self, fault: Fault | Finish) -> Fault | Finish:
        """The same without the key, should a message quote it."""
        if not isinstance(fault, Fault) or not self.key:
            return fault
        return replace(fault, text=fault.text.replace(self.key, REDACTED))
