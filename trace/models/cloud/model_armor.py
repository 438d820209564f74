"""Google Cloud Model Armor, by google-cloud-modelarmor.

Source: the API reference of Model Armor v1, and the SDK's own message types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from trace import config
from trace.errors import ConfigError
from trace.models.cloud.fault import of_status, too_long, unknown
from trace.models.cloud.service import Judgement, Texts, missing
from trace.models.hosted.fault import Fault
from trace.records import Finish, Json

JUDGING = ("rai", "pi_and_jailbreak", "csam")
"""The filters that are kept whole. The others quote the text itself (personal data, addresses)."""

ADVICE = {
    401: "Sign in anew: gcloud auth application-default login",
    403: "Give the account the role roles/modelarmor.user, and enable the API in the project",
    404: "Correct model.id",
}

_ADDRESS = re.compile(r"^POST \S+: ")
"""What the SDK puts before the service's own words."""


class ModelArmor:
    """`sanitize_user_prompt` and `sanitize_model_response` of one template."""

    longest = None

    def __init__(self, settings: config.ArmorTemplate) -> None:
        self.settings = settings
        self.identity: Mapping[str, Json] = {
            "engine": settings.engine.name,
            "id": settings.id,
            "multilingual": settings.multilingual,
        }

    @property
    def version(self) -> str:
        """The SDK and its version."""
        from google.cloud.modelarmor import __version__

        return f"google-cloud-modelarmor {__version__}"

    def prepare(self) -> None:
        """Looks where Google's libraries look for application default credentials.

        Raises:
            ConfigError: the SDK is not installed, or finds none.
        """
        _ = self.client

    @cached_property
    def client(self) -> Any:
        """The SDK's client for the template's location, over REST."""
        try:
            from google.api_core.client_options import ClientOptions
            from google.auth.exceptions import GoogleAuthError
            from google.cloud.modelarmor_v1 import ModelArmorClient
        except ImportError as error:
            missing("model_armor", "google-cloud-modelarmor", error)
        endpoint = f"modelarmor.{self.settings.location}.rep.googleapis.com"
        try:
            return ModelArmorClient(
                transport="rest", client_options=ClientOptions(api_endpoint=endpoint)
            )
        except GoogleAuthError as error:
            raise ConfigError(
                "model/engine=model_armor: no credentials for Google Cloud were found. Type "
                "gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS."
            ) from error

    def judge(self, texts: Texts) -> Judgement | Fault:
        """One call, without the SDK's retries; the prompt of a response goes with it."""
        from google.cloud.modelarmor_v1 import types

        engine = self.settings.engine
        assert isinstance(engine, config.ModelArmorEngine)
        once = {"retry": None, "timeout": engine.timeout}
        languages = types.MultiLanguageDetectionMetadata(
            enable_multi_language_detection=self.settings.multilingual
        )
        if texts.response is None:
            reply = self.client.sanitize_user_prompt(
                types.SanitizeUserPromptRequest(
                    name=self.settings.id,
                    user_prompt_data=types.DataItem(text=texts.prompt),
                    multi_language_detection_metadata=languages,
                ),
                **once,
            )
        else:
            reply = self.client.sanitize_model_response(
                types.SanitizeModelResponseRequest(
                    name=self.settings.id,
                    model_response_data=types.DataItem(text=texts.response),
                    user_prompt=texts.prompt,
                    multi_language_detection_metadata=languages,
                ),
                **once,
            )
        whole = type(reply).to_dict(reply, use_integers_for_enums=False).get("sanitization_result")
        if not whole:
            return Fault(kind="malformed", text="a reply without a result", billed=True)
        said = {name: whole.get(name) for name in ("filter_match_state", "invocation_result")}
        results = whole.get("filter_results") or {}
        said["filter_results"] = {n: results[n] for n in JUDGING if n in results}
        said["others"] = sorted(n for n in results if n not in JUDGING)
        return _whole(said, results)

    def fault(self, error: Exception) -> Fault | Finish:
        """What the SDK raises: an error with a status, of signing in, or of the way there."""
        from google.api_core.exceptions import GoogleAPICallError
        from google.auth.exceptions import GoogleAuthError, TransportError
        from requests.exceptions import RequestException

        if isinstance(error, GoogleAPICallError):
            headers = getattr(error.response, "headers", None)
            status = None if error.code is None else int(error.code)
            words = _ADDRESS.sub("", error.message or "")
            return of_status(status, "", words, ADVICE, headers)
        if isinstance(error, TransportError | RequestException) or (
            isinstance(error, GoogleAuthError) and error.retryable
        ):
            return replace(unknown(error), kind="failed", billed=True)
        if isinstance(error, GoogleAuthError):
            return Fault(kind="fatal", text=f"{unknown(error).text}. {ADVICE[401]}")
        return unknown(error)


def _whole(said: Json, results: Mapping[str, Json]) -> Judgement | Fault:
    """The judgement, if every filter was run; what was left out may have been the finding."""
    left_out = dict(_left_out(results))
    if said["invocation_result"] == "SUCCESS" and not left_out:
        return Judgement(said=said)
    why = "; ".join(f"{name}: {words}" for name, words in left_out.items())
    if too_long(why):
        return Judgement(said=said, finish="too_long")
    text = f"invocation_result {said['invocation_result']}" + (f" ({why})" if why else "")
    return Fault(kind="malformed", text=text, billed=True)


def _left_out(results: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """The filters that were not run, and the service's words about it."""
    for name, result in results.items():
        for found in result.values():
            for one in (found, *(v for v in found.values() if isinstance(v, dict))):
                if one.get("execution_state", "EXECUTION_SUCCESS") != "EXECUTION_SUCCESS":
                    words = [item.get("message", "") for item in one.get("message_items") or []]
                    yield name, " ".join([one["execution_state"], *words]).strip()
