"""Requests on their way: begun as the pace allows, tried again, and each answered once."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from trace.errors import TraceError
from trace.models.hosted.budget import Budget
from trace.models.hosted.fault import Fault
from trace.models.hosted.pace import Outcome, Pace, backoff
from trace.models.hosted.reply import Reply, Tokens
from trace.models.hosted.snapshot import Snapshot
from trace.records import Completion, Json, Request

LONGEST_REST = 600.0
"""Seconds that a server may ask us to wait; for more the run stops, and can be taken up later."""

WORTH_SAYING = 5.0
"""Seconds of rest of which the user is told why nothing happens."""

IN_A_ROW = 8
"""Requests given up one after the other, none answered between: the server is taken for down."""

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Job:
    """A request on its way."""

    request: Request
    key: str
    fields: Mapping[str, Json]
    worst: Tokens
    attempts: int = 0


class Dispatch:
    """Sends jobs and collects their completions. One coroutine owns all of its state.

    Every job ends in exactly one completion, or the run stops with an error that says why. Jobs
    that are tried again go first, once their time has come.
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        send: Callable[[Job], Awaitable[Reply | Fault]],
        *,
        place: str,
        pace: Pace,
        budget: Budget,
        snapshot: Snapshot,
        attempts: int,
        answered_before: bool,
    ) -> None:
        self.pace = pace
        self.budget = budget
        self._send = send
        self._place = place
        self._snapshot = snapshot
        self._attempts = attempts
        self._fresh = deque(jobs)
        self._again: list[tuple[float, int, Job]] = []
        self._number = itertools.count()
        self._tasks: dict[asyncio.Task[Reply | Fault], Job] = {}
        self._stop: TraceError | None = None
        self._answered = answered_before
        self._given_up = 0
        self._refused = 0
        self._nothing = 0
        self._silence = False

    def batches(self, runner: asyncio.Runner) -> Iterator[list[Completion]]:
        """Yields what `next` brings. The loop runs only while the next batch is waited for.

        On Ctrl-C what had arrived is yielded before the interruption goes on. However it ends,
        attempts under way are dropped.
        """
        try:
            while made := runner.run(self.next()):
                yield made
        except KeyboardInterrupt:
            if made := self.harvest():
                yield made
            raise
        finally:
            runner.run(self.close())

    async def next(self) -> list[Completion]:
        """The completions that have come since; at least one, or none once all jobs have ended.

        Raises:
            TraceError: the run stopped. Everything that came was returned before.
        """
        while True:
            self._begin()
            if not self._tasks:
                if self._stop:
                    raise self._stop
                if not self._fresh and not self._again:
                    return []
            pause = self._pause()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(pause or 0.0)
            if made := self.harvest():
                return made

    def harvest(self) -> list[Completion]:
        """The completions of all attempts that have ended, without waiting for any."""
        ended = [task for task in self._tasks if task.done()]
        made = []
        for task in ended:
            job = self._tasks.pop(task)
            if task.cancelled() or isinstance(task.exception(), KeyboardInterrupt):
                continue  # the run was interrupted
            if completion := self._outcome(job, task.result()):
                made.append(completion)
        return made

    async def close(self) -> None:
        """Drops the attempts that are under way, and begins no other."""
        self._fresh.clear()  # a signal may have left `next` waiting, and it would go on
        self._again.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self) -> None:
        while not self._stop and self.pace.wait(now := time.monotonic()) == 0:
            job = self._ready(now)
            if job is None:
                return
            if refusal := self.budget.refusal(job.worst):
                if not self._tasks:  # those under way may turn out cheaper than was reserved
                    self._stop = TraceError(f"{refusal}; what was answered is kept.")
                return
            if self._again and job is self._again[0][2]:
                heapq.heappop(self._again)
            else:
                self._fresh.popleft()
            job.attempts += 1
            self.pace = self.pace.begun()
            self.budget.begin(job.worst)
            self._tasks[asyncio.ensure_future(self._send(job))] = job

    def _ready(self, now: float) -> Job | None:
        if self._again and self._again[0][0] <= now:
            return self._again[0][2]
        return self._fresh[0] if self._fresh else None

    def _pause(self) -> float | None:
        """Seconds until something can begin; None where an attempt has to end first."""
        now = time.monotonic()
        wait = self.pace.wait(now)
        if self._stop or wait is None:
            return None
        if not self._fresh and self._again:
            return max(wait, self._again[0][0] - now)
        # With a job at hand and nothing to wait for, it is the budget that holds it back.
        return wait or None

    def _outcome(self, job: Job, outcome: Reply | Fault) -> Completion | None:
        if isinstance(outcome, Reply):
            made = outcome.completion
            self.budget.answered(job.worst, outcome.tokens, made.engine)
            stray = self._snapshot.stray(made)
            self._ended("answered")
            if stray is None:
                self._answered, self._given_up = True, 0
                return made
            if self._snapshot.strays >= IN_A_ROW or job.attempts >= self._attempts:
                self._stop = self._stop or stray
            else:
                self._try_again(job)
            return None
        self.budget.failed(job.worst, billed=outcome.billed)
        return self._fault(job, outcome)

    def _fault(self, job: Job, fault: Fault) -> Completion | None:
        rest = fault.retry_after
        if rest is not None and rest > LONGEST_REST:
            self._stop_run(f"the server asks to wait for {rest:.0f} seconds ({fault.text})")
        if fault.kind == "limited":
            self._ended("limited", rest, said="turned away")
        elif fault.kind == "silent":
            self._warn_of_silence(fault)
            self._ended("silent", rest, said=f"no answer ({fault.text})")
        elif fault.kind in ("failed", "unreached"):
            self._ended("failed", rest, said=f"no answer ({fault.text})")
        else:  # the server is well, whatever it says
            self._ended("answered")
        if fault.kind == "fatal":
            self._stop_run(fault.text)
        if self._stop:
            return None
        if fault.kind in ("unreached", "malformed") and not self.budget.usage.answers:
            self._nothing += 1
            if self._nothing >= IN_A_ROW:
                self._stop_run(f"the first {self._nothing} attempts found no answer: {fault.text}")
                return None
        error = Completion(key=job.key, finish="error", error=fault.text)
        if fault.kind == "refused":
            self._refused += 1
            if not self._answered and self._refused >= IN_A_ROW:
                self._stop_run(f"the first {self._refused} requests were refused: {fault.text}")
            return error
        if job.attempts < self._attempts:
            self._try_again(job)
            return None
        self._given_up += 1
        if self._given_up >= IN_A_ROW:
            self._stop_run(f"{self._given_up} requests in a row found no answer: {fault.text}")
        return replace(error, error=f"{fault.text} (after {job.attempts} attempts)")

    def _ended(self, outcome: Outcome, rest: float | None = None, said: str = "") -> None:
        now = time.monotonic()
        before = max(now, self.pace.resume)
        self.pace = self.pace.ended(outcome, now=now, jitter=random.random(), retry_after=rest)
        if self.pace.resume > before + WORTH_SAYING and not self._stop:
            seconds = self.pace.resume - now
            logger.warning("%s: %s, waiting for %.0f seconds", self._place, said, seconds)

    def _warn_of_silence(self, fault: Fault) -> None:
        """Tells once what a server that is too slow costs: its time, and no end of tries."""
        if not self._silence:
            logger.warning(
                "%s: %s, with %d requests under way. Going on with fewer at once; for a slow "
                "server raise model.engine.timeout, or lower model.engine.concurrency.",
                self._place, fault.text, self.pace.under_way,
            )  # fmt: skip
        self._silence = True

    def _try_again(self, job: Job) -> None:
        """Puts it back. The rest that a server asked for is everybody's: the pace keeps it."""
        wait = backoff(job.attempts - 1, random.random())
        heapq.heappush(self._again, (time.monotonic() + wait, next(self._number), job))

    def _stop_run(self, why: str) -> None:
        if self._stop is None:
            self._stop = TraceError(
                f"{self._place}: {why}. What was answered is kept: the same command goes on."
            )
