"""A server that misbehaves on demand: chat completions on the loopback, in a thread of its own."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

NAME = "snap-2026-01-01"
HANG = 5.0
"""Seconds after which a hanging connection is closed, so that no test can hang for long."""


def verdict_of(prompt: str) -> str:
    """What this server answers to a prompt, and to no other."""
    word = hashlib.sha256(prompt.encode()).hexdigest()[:12]
    return json.dumps({"verdict": "Safe" if int(word, 16) % 2 else "Unsafe", "reasoning": word})


@dataclass
class Server:
    """`fault(prompt, attempt)` names what goes wrong with an attempt (from 1); empty is nothing."""

    fault: Callable[[str, int], str] = lambda prompt, attempt: ""
    latency: float = 0.0
    work: float = 0.0
    """Seconds of a single request; those under way at the same time slow each other down."""
    key: str = ""
    model: str = NAME
    fingerprint: str | None = None
    kind: str = "application/json"
    redirect: str = ""
    """Where everybody is sent instead of being answered."""
    change: Callable[[dict[str, Any]], Any] = lambda body: body
    """What is done to a right body before it is sent."""
    seen: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    now: int = 0
    most: int = 0
    url: str = ""

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._writers: set[asyncio.StreamWriter] = set()

    async def die(self, seconds: float) -> None:
        """Drops every connection, and comes back on the same port."""
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(seconds)
        await self.start(self.port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._one(reader, writer):
                pass
        self._writers.discard(writer)
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:])}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        prompt = body["messages"][-1]["content"]
        self.seen[prompt] += 1
        self.bodies.append(body)
        self.headers.append(headers)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.latency)
            await self._toil(reader)
            fault = self.fault(prompt, self.seen[prompt])
            if self.key and headers.get("authorization") != f"Bearer {self.key}":
                fault = "401"
            self.faults[fault] += 1
            return await self._reply(writer, prompt, fault)
        finally:
            self.now -= 1

    async def _toil(self, reader: asyncio.StreamReader) -> None:
        done = 0.0
        while done < self.work and not reader.at_eof():  # whoever asked may have given up
            await asyncio.sleep(0.01)
            done += 0.01 / self.now

    async def _reply(self, writer: asyncio.StreamWriter, prompt: str, fault: str) -> bool:
        if self.redirect:
            await send(writer, {}, status=307, headers={"Location": self.redirect})
            return True
        if fault.startswith(("4", "5")):
            status, _, rest = fault.partition(" ")
            error = {"error": {"message": f"planted {rest}", "code": rest or None}}
            asked = {"after": "1", "date": http_date(1.0), "hours": "7200"}.get(rest)
            headers = {"Retry-After": asked} if asked else {}
            await send(writer, error, status=int(status), headers=headers)
            return True
        if fault == "hang":
            await asyncio.sleep(HANG)
            return False
        right = self.change(self._right(prompt))
        data = json.dumps(right).encode()
        if fault in ("reset", "cut"):
            await send(writer, data[: len(data) // 2], length=len(data))
            if fault == "reset":
                writer.transport.abort()
            return False
        if fault == "half":
            await send(writer, data[: len(data) // 2])
        elif fault == "html":
            await send(writer, b"<html>Bad gateway</html>", kind="text/html")
        elif fault == "empty":
            await send(writer, right | {"choices": []})
        elif fault == "null":
            choice = {"index": 0, "finish_reason": "stop", "message": {"content": None}}
            await send(writer, right | {"choices": [choice]})
        elif fault == "stray":
            await send(writer, right | {"model": "other-2025-01-01"})
        elif fault == "drip":
            await send(writer, data[:1], length=len(data))
            for byte in data[1 : int(HANG / 0.1)]:  # ten bytes a second: never silent, never done
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.1)
            return False
        elif fault == "slow":
            await send(writer, data[:1], length=len(data))
            for start in range(1, len(data), 64):
                await asyncio.sleep(0.02)
                writer.write(data[start : start + 64])
            self.answered[prompt] += 1
        else:
            assert fault == "", fault
            await send(writer, right, kind=self.kind)
            self.answered[prompt] += 1
        return True

    def _right(self, prompt: str) -> dict[str, Any]:
        message = {"role": "assistant", "content": verdict_of(prompt)}
        return {
            "id": "1",
            "object": "chat.completion",
            "model": self.model,
            "system_fingerprint": self.fingerprint,
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }


def http_date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


async def send(
    writer: asyncio.StreamWriter,
    body: dict[str, Any] | bytes,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    length: int | None = None,
    kind: str = "application/json",
) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [
        f"HTTP/1.1 {status} planted",
        f"Content-Type: {kind}",
        f"Content-Length: {len(data) if length is None else length}",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode() + data)
    await writer.drain()


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Runs the server until the block ends."""
    loop = asyncio.new_event_loop()
    loop.run_until_complete(server.start())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server.loop = loop  # type: ignore[attr-defined]
    try:
        yield server
    finally:

        async def stop() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            loop.stop()

        asyncio.run_coroutine_threadsafe(stop(), loop)
        thread.join(10)
        loop.close()
