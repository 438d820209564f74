"""vLLM's own server on the same weights, asked over HTTP, against vLLM in this process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.models.vllm.help import ask, texts
from trace import config
from trace.models.open import make
from trace.models.vllm.engine import VllmModel

pytestmark = pytest.mark.slow

READY_WITHIN = 400.0
TOPICS = ["rain", "bread", "a lighthouse", "the moon", "chess", "a train", "ink", "salt"]
REQUESTS = [ask(f"Write one short sentence about {topic}.") for topic in TOPICS]


@pytest.fixture(scope="module")
def address(model: VllmModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's, on the loopback interface; it and its children end with the test."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server",
        "--model", str(model.text.source.folder), "--served-model-name", "smollm2",
        "--host", "127.0.0.1", "--port", str(port),
        "--dtype", "float32", "--max-model-len", "2048", "--max-num-seqs", "16",
        "--kv-cache-memory-bytes", str(2**30), "--enforce-eager", "--disable-uvicorn-access-log",
    ]  # fmt: skip
    log = tmp_path_factory.mktemp("server") / "log.txt"
    quiet = {"VLLM_NO_USAGE_STATS": "1", "VLLM_HOST_IP": "127.0.0.1",
             "VLLM_ENABLE_V1_MULTIPROCESSING": "1"}  # fmt: skip
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, stdout=out, stderr=out, env=os.environ | quiet, start_new_session=True
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/health", server, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_WITHIN
    while time.monotonic() < until:
        if server.poll() is not None:
            break
        try:
            if httpx2.get(url, timeout=5).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.5)
    pytest.fail(f"the server did not come up:\n{log.read_text(errors='replace')[-3000:]}")


def test_over_http_the_texts_are_the_same(model: VllmModel, address: str) -> None:
    settings = config.HostedModel(
        name="served",
        id="smollm2",
        base_url=address,
        reasoning="none",
        engine=config.OpenAIEngine(concurrency=8),
    )
    there, here = texts(make(settings.engine, settings), REQUESTS), texts(model, REQUESTS)
    for a, b in zip(here, there, strict=True):
        print(f"{'equal' if a == b else 'DIFFERENT'}: {a!r} / {b!r}")
    assert sum(a == b for a, b in zip(here, there, strict=True)) >= 7
