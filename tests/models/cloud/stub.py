"""A provider's server on the loopback that answers, or fails, as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, Any, dict[str, str]]
"""Status, body (JSON, or bytes as they are), headers."""


@dataclass
class Stub:
    """`reply(body, attempt)`: what is answered to the nth request (from 1) with the same body."""

    reply: Callable[[dict[str, Any], int], Reply | None]
    """None cuts the connection without a word."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Reply | None:
        with self.lock:
            attempt = self.bodies.count(body) + 1
            self.bodies.append(body)
            self.paths.append(path)
            self.headers.append(headers)
        return self.reply(body, attempt)

    def __post_init__(self) -> None:
        self.lock = threading.Lock()


@contextmanager
def serving(stub: Stub) -> Iterator[Stub]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            found = stub.answer(self.path, headers, body)
            if found is None:
                self.close_connection = True
                return
            status, content, extra = found
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in ({"Content-Type": "application/json"} | extra).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            with suppress(ConnectionError):  # it may have given up
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield stub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
