"""One attempt: the official client sends a request, and whatever comes is told apart."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace

import openai
from openai import AsyncOpenAI, Omit

from trace import config
from trace.errors import ConfigError
from trace.models.hosted.fault import Fault, of_status
from trace.models.hosted.reply import Reply, engine_of, read_reply
from trace.records import Completion, Json, Request
from trace.tracking.secrets import REDACTED


def credential(settings: config.HostedModel) -> str:
    """The key, from the environment; empty where the server needs none.

    Raises:
        ConfigError: the variable is not set, or cannot be sent in a header.
    """
    name = settings.api_key_env
    if name is None:
        return ""
    value = os.environ.get(name, "").strip()
    if not value:
        raise ConfigError(
            f"model.api_key_env={name}: the environment has no such variable. Type "
            f"export {name}=… first, or leave the key out if the server needs none."
        )
    if not (value.isascii() and value.isprintable()):
        raise ConfigError(f"model.api_key_env={name}: its value is no key. Copy it once more.")
    return value


class Client:
    """Sends single attempts. Its own retries are off: who retries has to count."""

    def __init__(self, settings: config.HostedModel) -> None:
        assert isinstance(settings.engine, config.OpenAIEngine)
        self.settings = settings
        self.timeout = settings.engine.timeout
        self._key = credential(settings)
        self._client = AsyncOpenAI(
            base_url=settings.base_url,
            api_key=self._key or "none",
            max_retries=0,
            timeout=self.timeout,
        )

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    async def send(self, request: Request, key: str, fields: Mapping[str, Json]) -> Reply | Fault:
        """Sends the request once, and reads what comes within the time-out, never raising for it.

        The client's own time-out starts anew with every byte; this one holds for the whole reply.
        """
        began = time.monotonic()
        rest = {k: v for k, v in fields.items() if k not in ("model", "messages")}
        try:
            async with asyncio.timeout(self.timeout):
                reply = await self._client.chat.completions.with_raw_response.create(
                    model=fields["model"],
                    messages=fields["messages"],
                    extra_body=rest,
                    extra_headers=None if self._key else {"Authorization": Omit()},
                )
            body = json.loads(reply.text)
        except openai.APIStatusError as error:
            return self._refusal(error, key)
        except (TimeoutError, openai.APITimeoutError):
            text = f"no reply within model.engine.timeout={self.timeout:g} seconds"
            return Fault(kind="failed", text=text, billed=True)
        except openai.APIConnectionError as error:
            cause = error.__cause__
            unsent = type(cause).__name__ in ("ConnectError", "ConnectTimeout")
            text = f"{type(cause).__name__}: {cause}" if cause else str(error)
            return Fault(kind="failed", text=text, billed=not unsent)
        except (ValueError, RecursionError) as error:
            return Fault(kind="malformed", text=f"not JSON ({error})", billed=True)
        seconds = round(time.monotonic() - began, 4)
        reply_or_fault = read_reply(body, self.settings, request, key, seconds)
        return self._hidden(reply_or_fault) if isinstance(reply_or_fault, Fault) else reply_or_fault

    def _refusal(self, error: openai.APIStatusError, key: str) -> Reply | Fault:
        found = of_status(error.status_code, error.body, error.response.headers)
        if isinstance(found, Fault):
            return self._hidden(found)
        made = Completion(key=key, finish=found, engine=engine_of({}))
        return Reply(completion=made, tokens=None)

    def _hidden(self, fault: Fault) -> Fault:
        """The fault with the key taken out: some servers quote it in their errors."""
        if not self._key:
            return fault
        return replace(fault, text=fault.text.replace(self._key, REDACTED))
