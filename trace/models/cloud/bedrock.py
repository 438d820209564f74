"""AWS Bedrock Guardrails, by boto3.

Source: the API reference of Amazon Bedrock, ApplyGuardrail, and botocore's own service model.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from trace import config
from trace.errors import ConfigError
from trace.models.cloud.fault import of_status, unknown
from trace.models.cloud.service import Judgement, Texts, missing
from trace.models.hosted.fault import Fault
from trace.records import Finish, Json

BEARER = "AWS_BEARER_TOKEN_BEDROCK"
"""The variable of a Bedrock API key, which stands for credentials."""

JUDGING = ("topicPolicy", "contentPolicy")
"""The policies of an assessment that are kept whole. The others quote the text itself (words,
personal data): what they did is kept, not what they found."""

ADVICE = {
    401: "Sign in to AWS anew",
    403: "Use credentials that are valid and allow bedrock:ApplyGuardrail",
    404: "Correct model.id, model.version or model.region",
}


class Bedrock:
    """`apply_guardrail` of one guardrail. All that it found is asked for, blocked or not."""

    longest = None

    def __init__(self, settings: config.BedrockGuardrail) -> None:
        self.settings = settings
        self.identity: Mapping[str, Json] = {
            "engine": settings.engine.name,
            "id": settings.id,
            "version": settings.version,
            "region": settings.region,
            "scope": "FULL",
        }

    @property
    def version(self) -> str:
        """The SDK and its version."""
        import boto3

        return f"boto3 {boto3.__version__}"

    def prepare(self) -> None:
        """Looks where boto3 looks for credentials: environment, profile, role of the machine.

        Raises:
            ConfigError: boto3 is not installed, or finds none.
        """
        _ = self.client

    @cached_property
    def client(self) -> Any:
        """The SDK's client, whose own retries are off: who retries has to count."""
        try:
            import boto3
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError
        except ImportError as error:
            missing("bedrock", "boto3", error)
        engine = self.settings.engine
        assert isinstance(engine, config.BedrockEngine)
        try:
            session = boto3.Session(region_name=self.settings.region)
            if not os.environ.get(BEARER) and session.get_credentials() is None:
                raise ConfigError(
                    "model/engine=bedrock: no credentials for AWS were found. Set "
                    f"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or {BEARER}."
                )
            return session.client(
                "bedrock-runtime",
                config=Config(
                    retries={"total_max_attempts": 1, "mode": "standard"},
                    connect_timeout=engine.timeout,
                    read_timeout=engine.timeout,
                    max_pool_connections=engine.concurrency,
                ),
            )
        except BotoCoreError as error:
            raise ConfigError(
                f"model/engine=bedrock: boto3 cannot begin ({error}). Check the environment "
                "variables AWS_… and the files in ~/.aws."
            ) from error

    def judge(self, texts: Texts) -> Judgement | Fault:
        """One call; a response is sent alone, since the service takes no pairs."""
        reply = self.client.apply_guardrail(
            guardrailIdentifier=self.settings.id,
            guardrailVersion=self.settings.version,
            source="INPUT" if texts.response is None else "OUTPUT",
            content=[{"text": {"text": texts.judged}}],
            outputScope="FULL",
        )
        if "action" not in reply or "assessments" not in reply or "usage" not in reply:
            return Fault(kind="malformed", text="a reply without a judgement", billed=True)
        said = {
            name: reply[name]
            for name in ("action", "actionReason", "guardrailCoverage", "usage")
            if name in reply
        }
        said["assessments"] = [
            {name: assessment[name] for name in JUDGING if name in assessment}
            for assessment in reply["assessments"]
        ]
        said["others"] = _others(reply["assessments"])
        if covered := partly(said):
            return Fault(kind="malformed", text=covered, billed=True)
        return Judgement(said=said)

    def fault(self, error: Exception) -> Fault | Finish:
        """What boto3 raises: its own error of a status, or of the way there."""
        from botocore.exceptions import (
            ClientError,
            ConnectionError,
            HTTPClientError,
            NoCredentialsError,
            ParamValidationError,
            PartialCredentialsError,
            TokenRetrievalError,
        )

        if isinstance(error, ClientError):
            told, meta = error.response.get("Error", {}), error.response.get("ResponseMetadata", {})
            return of_status(
                meta.get("HTTPStatusCode"),
                told.get("Code", ""),
                told.get("Message", ""),
                ADVICE,
                meta.get("HTTPHeaders"),
            )
        if isinstance(error, NoCredentialsError | PartialCredentialsError | TokenRetrievalError):
            return Fault(kind="fatal", text=f"{unknown(error).text}. {ADVICE[401]}")
        if isinstance(error, ParamValidationError):
            return Fault(kind="refused", text=unknown(error).text)
        if isinstance(error, HTTPClientError):
            return Fault(kind="failed", text=unknown(error).text, billed=True)
        if isinstance(error, ConnectionError):  # it was never sent
            return Fault(kind="failed", text=unknown(error).text)
        return unknown(error)


def partly(said: Mapping[str, Json]) -> str:
    """Says so if only a part of the text was judged; else empty."""
    covered = (said.get("guardrailCoverage") or {}).get("textCharacters") or {}
    guarded, total = covered.get("guarded"), covered.get("total")
    if guarded is None or total is None or guarded >= total:
        return ""
    return f"only {guarded} of {total} characters were judged"


def _others(assessments: Json) -> list[str]:
    """What the policies that quote the text did, as `policy ACTION`, each once."""
    return sorted(
        {
            f"{policy} {entry['action']}"
            for assessment in assessments
            for policy, found in assessment.items()
            if policy.endswith("Policy") and policy not in JUDGING
            for entries in found.values()
            if isinstance(entries, list)
            for entry in entries
            if entry.get("action", "NONE") != "NONE"
        }
    )
