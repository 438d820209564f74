"""Requests on their way: what an interruption leaves."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, hear_interrupts
from tests.models.hosted.help import ask, drain
from tests.models.hosted.server import Server, serving
from trace.models.hosted.budget import Budget
from trace.models.hosted.dispatch import Dispatch, Job
from trace.models.hosted.fault import Fault
from trace.models.hosted.pace import Pace
from trace.models.hosted.reply import Reply, Tokens
from trace.models.hosted.snapshot import Snapshot
from trace.records import Completion

NOTHING = Tokens(prompt=0, completion=0)


@pytest.fixture
def _heard() -> Iterator[None]:
    """A suite in the background ignores SIGINT, and so would its tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heard")
def test_an_interruption_hands_out_what_had_arrived_and_drops_the_rest() -> None:
    """The last of four answers while the signal comes; a fifth is under way and never answers."""
    dropped = []

    async def send(job: Job) -> Reply | Fault:
        if job.key == "4":
            try:
                await asyncio.Event().wait()
            finally:
                dropped.append(job.key)
        if job.key == "3":
            signal.raise_signal(signal.SIGINT)
        made = Completion(key=job.key, finish="stop", text="x")
        return Reply(completion=made, tokens=NOTHING)

    jobs = [Job(request=r, key=str(i), fields={}, worst=NOTHING) for i, r in enumerate(ask(20))]
    dispatch = Dispatch(
        jobs,
        send,
        place="here",
        pace=Pace(most=5, limit=5),
        budget=Budget(price=None, max_cost_usd=None, max_requests=None),
        snapshot=Snapshot("", ()),
        attempts=1,
        answered_before=False,
    )
    came: list[Completion] = []
    with asyncio.Runner() as runner, pytest.raises(KeyboardInterrupt):
        drain(dispatch.batches(runner), came)
    assert [completion.key for completion in came] == ["0", "1", "2", "3"]
    assert dropped == ["4"]
    assert dispatch.budget.usage.attempts == 5, "nothing was begun afterwards"


ASKING = """
import signal, sys
from collections.abc import Iterator
from pathlib import Path
from tests.models.hosted.help import ask, settings
from trace.models.complete import complete
from trace.models.hosted.engine import OpenAIModel
from trace.models.hosted.fault import address
from trace.models.log import CompletionLog
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, interrupt)  # as trace.run does
with CompletionLog(Path(sys.argv[2])) as log:
    complete(OpenAIModel(settings(sys.argv[1], timeout=30.0)), ask(200), log,
             lambda completion: print("done", flush=True))
"""


def logged(folder: Path) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in folder.glob("*.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_what_came_and_the_rest_is_asked(
    tmp_path: Path, sent: signal.Signals
) -> None:
    command = [sys.executable, "-c", ASKING]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with serving(Server(latency=0.1)) as server:
        place = [server.url, str(tmp_path)]
        process = subprocess.Popen(
            [*command, *place],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=hear_interrupts,
        )
        assert process.stdout is not None
        for _ in range(40):
            assert process.stdout.readline() == b"done\n"
        process.send_signal(sent)
        _, errors = process.communicate(timeout=30)
        assert process.returncode != 0
        assert b"KeyboardInterrupt" in errors
        assert b"never retrieved" not in errors
        kept, answered = logged(tmp_path), server.answered.total()
        assert 40 <= kept < 200
        assert answered - kept <= 64, "more was lost than can have been under way"
        server.answered.clear()
        ran = subprocess.run([*command, *place], cwd=ROOT, env=environment, check=True, timeout=60,
                             stdout=subprocess.PIPE)  # fmt: skip
        assert server.answered.total() == 200 - kept
        assert ran.stdout.count(b"done") == 200
    assert logged(tmp_path) == 200
