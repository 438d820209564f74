"""One attempt: the official client sends a request, and whatever comes is told apart."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import openai
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Omit, Timeout

from trace import config
from trace.errors import ConfigError
from trace.models.hosted.fault import Fault, address, of_status
from trace.models.hosted.reply import Reply, beginning, engine_of, read_reply
from trace.records import Completion, Json, Request
from trace.tracking.secrets import REDACTED

TO_REACH = "Start the server, or correct model.base_url"
AN_API = "Is model.base_url the address of an API? It often ends in /v1"
CONNECT = 20.0
"""Seconds in which a connection has to come about; an answer may take far longer."""


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


def check_address(base_url: str) -> None:
    """Finds out whether requests can be sent to an address at all; nobody is asked.

    Raises:
        ConfigError: it names no host or port, or has a query, behind which no path can stand.
    """
    try:
        parts = urlsplit(base_url)
        whole = bool(parts.hostname) and parts.port != 0 and not parts.query
    except ValueError:  # a port above 65535, a bracket that stays open
        whole = False
    if not whole:
        raise ConfigError(
            f"model.base_url={address(base_url)}: no request can be sent there. Give the scheme, "
            "the host and the path, without a query: model.base_url=http://127.0.0.1:8000/v1."
        )


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
            timeout=Timeout(self.timeout, connect=min(self.timeout, CONNECT)),
            http_client=DefaultAsyncHttpxClient(follow_redirects=False),
        )
        self._headers = {} if self._key else {"Authorization": Omit()}
        if not (self._client.base_url.host or "").endswith("openai.com"):
            # The client reads both from the environment, and would tell them to any server.
            self._headers |= {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}

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
                    extra_headers=self._headers,
                )
        except openai.APIStatusError as error:
            return self._refusal(error, key)
        except (TimeoutError, openai.APITimeoutError) as error:
            if type(error.__cause__).__name__ == "ConnectTimeout":
                return Fault(kind="unreached", text=f"no connection. {TO_REACH}")
            text = f"no reply within model.engine.timeout={self.timeout:g} seconds"
            return Fault(kind="silent", text=text, billed=True)
        except openai.APIConnectionError as error:
            cause = error.__cause__
            text = f"{type(cause).__name__}: {cause}" if cause else str(error)
            if type(cause).__name__ in ("ConnectError", "ProxyError"):
                return Fault(kind="unreached", text=f"{text}. {TO_REACH}")
            return Fault(kind="failed", text=text, billed=True)
        try:
            body = json.loads(reply.content)  # JSON is UTF-8, whatever a header calls it
        except (ValueError, RecursionError) as error:
            page = reply.content.decode("utf-8", "replace")
            advice = "" if page.startswith("{") else f". {AN_API}"
            text = f"not JSON ({error}): {beginning(page)}{advice}"
            return self._hidden(Fault(kind="malformed", text=text, billed=True))
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
