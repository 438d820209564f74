"""Two thousand requests to a server of which nearly everything goes wrong that can."""

from __future__ import annotations

import hashlib
import itertools
import math
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.models.hosted.help import ask, right, settings
from tests.models.hosted.server import Server, serving
from trace.models.complete import complete
from trace.models.hosted.engine import OpenAIModel
from trace.models.log import CompletionLog
from trace.records import Completion

KINDS = ("429", "500", "502", "reset", "hang", "cut", "half", "html", "empty", "null", "drip")
RATE = 0.3
COUNT = 2000


def planted(prompt: str, attempt: int) -> str:
    """The same for every run; from the fifth attempt on a request is left in peace."""
    drawn = int(hashlib.sha256(f"{prompt} {attempt}".encode()).hexdigest()[:8], 16) / 16**8
    return KINDS[int(drawn / RATE * len(KINDS))] if drawn < RATE and attempt < 5 else ""


class Weather:
    """Beside it two storms of half a second, in which everybody is turned away."""

    def __init__(self) -> None:
        self.arrivals = itertools.count()
        self.until = -math.inf
        self.kind = ""

    def __call__(self, prompt: str, attempt: int) -> str:
        now = time.monotonic()
        if kind := {500: "429 after", 1500: "429"}.get(next(self.arrivals)):
            self.kind, self.until = kind, now + 0.5
        return self.kind if now < self.until else planted(prompt, attempt)


def run(server: Server, folder: Path) -> tuple[list[Completion], list[Completion], float]:
    told: list[Completion] = []
    model = OpenAIModel(settings(server.url))
    began = time.monotonic()
    with CompletionLog(folder) as log:
        made = complete(model, ask(COUNT), log, told.append)
    return made, told, time.monotonic() - began


@pytest.mark.slow
def test_two_thousand_requests_of_which_a_third_goes_wrong(tmp_path: Path) -> None:
    requests = ask(COUNT)
    with serving(Server(latency=0.2)) as server:
        *_, calm = run(server, tmp_path / "calm")
    wild = Server(latency=0.2, fault=Weather())
    with serving(wild) as server:
        made, told, seconds = run(server, tmp_path / "wild")
    print(f"\n{calm:.1f} s without faults, {seconds:.1f} s with them: {dict(wild.faults)}")
    assert sum(n for fault, n in wild.faults.items() if fault) >= RATE * COUNT
    assert {fault.partition(" ")[0] for fault in wild.faults} == {"", *KINDS}
    assert [c.text for c in made] == [right(request) for request in requests]
    assert {c.finish for c in made} == {"stop"}
    assert set(Counter(c.key for c in told).values()) == {1}
    assert len(told) == COUNT
    lines = [
        line for path in (tmp_path / "wild").iterdir() for line in path.read_text().splitlines()
    ]
    assert len(lines) == COUNT
    with CompletionLog(tmp_path / "wild") as log:
        assert len(log.read([c.key for c in made])) == COUNT
    assert seconds <= 4 * calm
