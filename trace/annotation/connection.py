"""A connection to a Label Studio: the key, repeats, and its errors in our words."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from trace import config
from trace.annotation import server
from trace.annotation.folder import CREDENTIALS, default_folder
from trace.errors import ConfigError, TraceError
from trace.records import Json
from trace.tracking.secrets import REDACTED

KEY = "LABEL_STUDIO_API_KEY"
START = "python -m trace.run task=annotate annotate.action=serve"
TRIES = 3
"""How often something is read. What changes the server is sent once."""

_PAUSE = 0.5
_TIMEOUT = httpx2.Timeout(300, connect=20)
"""Seconds of silence: storing many long texts takes a while."""

_LONGEST_QUOTE = 200
_PASSING = (502, 503, 504)
_REFRESH = b"/api/token/refresh/"


class Missing(TraceError):
    """What was asked for is not there."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Asks one server. `whose` says in errors where its key comes from."""

    url: str
    key: str
    whose: str
    http: httpx2.Client

    def get(self, path: str, **query: Json) -> Json:
        """Reads JSON; a broken connection is tried again.

        Raises:
            Missing: it is not there.
            ConfigError: nothing listens, the key is refused, or the address is no Label Studio's.
            TraceError: the server fails.
        """
        for left in reversed(range(TRIES)):
            try:
                answer = self._send("GET", path, query, None)
                if answer.status_code not in _PASSING or not left:
                    return self._read(answer)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                raise self._unreached(error) from None
            except httpx2.TransportError as error:
                if not left:
                    raise self._broken(error) from None
            time.sleep(_PAUSE * (TRIES - left))
        raise AssertionError("the last try returns or raises")

    def post(self, path: str, body: Json, **query: Json) -> Json:
        """Sends JSON once.

        Raises:
            Missing, ConfigError, TraceError: as for `get`.
        """
        try:
            return self._read(self._send("POST", path, query, body))
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise self._unreached(error) from None
        except httpx2.TransportError as error:
            raise self._broken(error) from None

    def odd(self, answer: object) -> TraceError:
        """The error for an answer that is not what Label Studio answers."""
        shown = self._quoted(str(answer)) or "(nothing)"
        return ConfigError(
            f"{self.url}: answers what no Label Studio answers: {shown}. Give its "
            "address as it stands in the browser, without what follows the host: annotate.url=URL."
        )

    def _quoted(self, text: str) -> str:
        words = " ".join(text.replace(self.key, REDACTED).split())
        return words if len(words) <= _LONGEST_QUOTE else words[:_LONGEST_QUOTE] + "…"

    def _send(
        self, method: str, path: str, query: Mapping[str, Json], body: Json
    ) -> httpx2.Response:
        return self.http.request(method, path, params=dict(query), json=body)

    def _read(self, answer: httpx2.Response) -> Json:
        status = answer.status_code
        if status in (401, 403):
            raise ConfigError(f"{self.url} refuses the key ({status}). It is that of {self.whose}.")
        try:
            body = answer.json()
        except (ValueError, RecursionError):
            body = None
        if status < 300 and isinstance(body, dict | list):
            return body
        if isinstance(body, dict) and status >= 400:
            words = str(body.get("validation_errors") or body.get("detail") or body)
            said = self._quoted(words.partition(" :: ")[0])  # behind it stands the item's text
            if status == 404:
                raise Missing(f"{self.url}: {said}")
            raise TraceError(
                f"{self.url}: Label Studio refuses it ({status}): {said}. If you cannot correct "
                "that, look into its log."
            )
        if status >= 500:
            raise TraceError(
                f"{self.url}: Label Studio fails ({status}). Look into its log (server.log in the "
                "folder of a local one), then type the same command again."
            )
        raise self.odd(answer.headers.get("location") or answer.text)

    def _unreached(self, error: Exception) -> ConfigError:
        return ConfigError(
            f"{self.url}: nothing answers there ({str(error) or type(error).__name__}). Wait "
            f"if it is starting, correct annotate.url, or start one in another terminal: {START}"
        )

    def _broken(self, error: Exception) -> TraceError:
        silent = isinstance(error, httpx2.TimeoutException)
        what = f"is silent for {_TIMEOUT.read:.0f} seconds" if silent else "breaks off"
        return TraceError(
            f"{self.url}: {what} ({type(error).__name__}). Nothing is lost: type the same command "
            "again, and what has arrived is not sent twice."
        )


@contextmanager
def connected(settings: config.Annotate) -> Iterator[Connection]:
    """Connects to the server of `annotate.url`, else to the one that runs on this machine.

    Raises:
        ConfigError: no server runs here, or there is no key for the one elsewhere.
        DataError: the credentials of the local one are broken.
    """
    url, key, whose = _local(settings) if settings.url is None else _elsewhere(settings.url)
    with httpx2.Client(
        base_url=url,
        auth=_Auth(key),
        timeout=_TIMEOUT,
        follow_redirects=False,  # the key is for this host
        trust_env=settings.url is not None,  # no proxy leads to this machine
        headers={"Accept": "application/json"},
    ) as http:
        yield Connection(url, key, whose, http)


def _local(settings: config.Annotate) -> tuple[str, str, str]:
    folder = default_folder() if settings.data_dir is None else Path(settings.data_dir)
    folder = folder.expanduser().absolute()
    found = server.find(folder)
    if found is None:
        where = "" if settings.data_dir is None else f" annotate.data_dir={settings.data_dir}"
        raise ConfigError(
            f"annotate: no Label Studio runs on this machine (with its data in {folder}). Start it "
            f"in another terminal: {START}{where}"
        )
    whose = f"{folder / CREDENTIALS}; if it was changed in the browser, put it in there"
    return found.url, found.credentials.token, whose


def _elsewhere(url: str) -> tuple[str, str, str]:
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.port != 0 and not parts.query and "@" not in url
    except ValueError:  # a port above 65535
        usable = False
    if not usable:
        raise ConfigError(
            "annotate.url: no address to which requests can be sent. Give the scheme and the host "
            "alone, such as https://label.example.org; the key stands in the environment."
        )
    key = os.environ.get(KEY, "").strip()
    if not key:
        raise ConfigError(
            f"annotate.url={url}: needs a key. In Label Studio it stands under Account & Settings; "
            f"type export {KEY}=… first."
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"{KEY}: its value is no key. Copy it once more.")
    return url.rstrip("/"), key, f"the variable {KEY}: copy it once more"


class _Auth(httpx2.Auth):
    """Label Studio's keys: the legacy one is sent; a personal access token buys short-lived ones.

    The latter is a JSON Web Token, whose three parts are joined by points (RFC 7519).
    """

    requires_response_body = True

    def __init__(self, key: str) -> None:
        self._key = key
        self._personal = key.count(".") == 2
        self._access = ""

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Sends the request, once more with a new access token where the old one has expired."""
        if not self._personal:
            request.headers["Authorization"] = f"Token {self._key}"
            yield request
            return
        fresh = not self._access
        if fresh and not (yield from self._refresh(request)):
            return
        request.headers["Authorization"] = f"Bearer {self._access}"
        answer = yield request
        if answer.status_code == 401 and not fresh and (yield from self._refresh(request)):
            request.headers["Authorization"] = f"Bearer {self._access}"
            yield request

    def _refresh(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, bool]:
        """Whether a new one came; where none did, the caller gets to see why."""
        answer = yield httpx2.Request(
            "POST", request.url.copy_with(raw_path=_REFRESH), json={"refresh": self._key}
        )
        try:
            self._access = str(answer.json()["access"])
        except (ValueError, TypeError, KeyError):
            return False
        return True
