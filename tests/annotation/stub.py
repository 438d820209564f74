"""A Label Studio that misbehaves on demand: the part of its API that we use, on the loopback."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from trace.annotation import connection

KEY = "0123456789abcdef0123456789abcdef01234567"
PERSONAL = "header.payload.signature"


@dataclass
class Stub:
    """`fault(method, path, attempt)` names what goes wrong with an attempt (from 1), if anything.

    `stores` is how many tasks of an upload are stored; the others are lost with its answer.
    """

    fault: Callable[[str, str, int], str] = lambda method, path, attempt: ""
    stores: Callable[[int], int | None] = lambda upload: None
    page: int = 1000
    projects: list[dict[str, Any]] = field(default_factory=list)
    tasks: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    headers: list[dict[str, str]] = field(default_factory=list)
    uploads: list[int] = field(default_factory=list)
    tokens: int = 0
    """How many access tokens were sold."""
    worth: int = 1000
    """How many requests an access token is good for."""
    left: int = 0
    url: str = ""

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        """What the real one answers."""
        parts = [part for part in path.split("/") if part]
        match [method, *parts[1:]]:
            case ["GET", "projects"]:
                found = [p for p in self.projects if query["title"].lower() in p["title"].lower()]
                page, size = int(query["page"]), min(self.page, int(query["page_size"]))
                rest = found[(page - 1) * size :]
                return 200, {"results": rest[:size], "next": "more" if rest[size:] else None}
            case ["POST", "projects"]:
                if len(body["title"]) < 3:
                    short = {"title": ["Ensure this field has at least 3 characters."]}
                    return 400, {"detail": "Validation error", "validation_errors": short}
                made = body | {"id": len(self.projects) + 1}
                self.projects.append(made)
                self.tasks[made["id"]] = []
                return 201, made
            case ["GET", "projects", number] if int(number) in self.tasks:
                return 200, next(p for p in self.projects if p["id"] == int(number))
            case ["POST", "projects", number, "import"] if int(number) in self.tasks:
                stored = self.stores(len(self.uploads))
                self.uploads.append(len(body))
                there = self.tasks[int(number)]
                for task in body[:stored]:
                    made = {"id": len(there) + 1, "annotations": [], "drafts": []}
                    there.append(made | task)
                return (201, {"task_count": len(body)}) if stored is None else (0, None)
            case ["GET", "tasks"] if int(query["project"]) in self.tasks:
                assert query["fields"] == "all"
                assert query["resolve_uri"] == "false"
                every = self.tasks[int(query["project"])]
                page, size = int(query["page"]), min(self.page, int(query["page_size"]))
                shown = every[(page - 1) * size :][:size]
                if shown or page == 1:
                    return 200, {"tasks": shown, "total": len(every)}
        return 404, {"detail": "No Project matches the given query."}

    def right(self, authorization: str) -> bool:
        """Whether a request may pass."""
        if authorization == f"Token {KEY}":
            return True
        self.left -= 1
        return authorization == f"Bearer access{self.tokens}" and self.left >= 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    stub: Stub

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._do("GET", None)

    def do_POST(self) -> None:
        self._do("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _do(self, method: str, body: Any) -> None:
        stub, parts = self.stub, urlsplit(self.path)
        stub.headers.append({k.lower(): v for k, v in self.headers.items()})
        stub.seen[method, parts.path] += 1
        fault = stub.fault(method, parts.path, stub.seen[method, parts.path])
        if fault == "reset":
            self._hang_up()
        elif fault == "html":
            self._send(200, b"<html>Welcome to another service</html>", kind="text/html")
        elif fault == "login":
            self._send(302, b"", headers={"Location": "http://elsewhere.invalid/user/login"})
        elif fault == "echo":
            self._send(400, json.dumps({"detail": f"not you, {KEY}"}).encode())
        elif fault.isdigit():
            self._send(int(fault), b"<h1>planted</h1>", kind="text/html")
        elif parts.path == "/api/token/refresh/":
            if body == {"refresh": PERSONAL}:
                stub.tokens, stub.left = stub.tokens + 1, stub.worth
                self._json(200, {"access": f"access{stub.tokens}"})
            else:
                self._json(401, {"detail": "Token is invalid"})
        elif not stub.right(self.headers.get("Authorization", "")):
            self._json(401, {"detail": "Invalid token."})
        else:
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            status, answer = stub.answer(method, parts.path, query, body)
            if not status:
                self._hang_up()
            elif fault == "cut":
                data = json.dumps(answer).encode()
                self._send(200, data[: len(data) // 2], length=len(data))
                self._hang_up()
            else:
                self._json(status, {} if fault == "empty" else answer)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _json(self, status: int, answer: Any) -> None:
        self._send(status, json.dumps(answer).encode())

    def _send(
        self,
        status: int,
        data: bytes,
        *,
        kind: str = "application/json",
        headers: dict[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def standing(stub: Stub) -> Iterator[Stub]:
    """Runs the stub until the block ends."""
    handler = type("Handler", (_Handler,), {"stub": stub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    stub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@contextmanager
def reached(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """A stub that our client reaches: with its key, without a proxy, and with short pauses."""
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", KEY)
    monkeypatch.setattr(connection, "_PAUSE", 0.01)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with standing(Stub()) as made:
        yield made
