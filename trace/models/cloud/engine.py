"""The engine for guards that stand in a provider's cloud."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from trace import config
from trace.errors import ConfigError
from trace.models.base import estimated_tokens
from trace.models.cloud.service import Service, texts_of
from trace.models.hosted.budget import Budget
from trace.models.hosted.dispatch import Dispatch, Job
from trace.models.hosted.fault import Fault
from trace.models.hosted.pace import BEGIN, Pace
from trace.models.hosted.reply import Reply, Tokens
from trace.models.hosted.snapshot import Snapshot
from trace.records import Completion, Finish, Json, Request, canonical

NO_TOKENS = Tokens(prompt=0, completion=0)
"""These services count texts, and no tokens."""

logger = logging.getLogger(__name__)


class CloudModel:
    """A provider's guard. Nothing is sent before the first real request.

    The text of a completion is what the service said, as canonical JSON; a guard's family reads it.
    The SDKs block, so every request under way has a thread.
    """

    def __init__(self, settings: config.Model, service: Service) -> None:
        assert isinstance(settings.engine, config.CloudEngine)
        self.settings = settings
        self.engine = settings.engine
        self.service = service
        self.identity: Mapping[str, Json] = service.identity
        self._budget = self._new_budget()

    @property
    def usage(self) -> Mapping[str, Json]:
        """What the run uses so far, or the last one used: requests, as no tokens are counted."""
        return self._budget.usage.to_json()

    def prepare(self, request: Request) -> None:
        """Looks for the SDK and for credentials; the service is not asked.

        Raises:
            ConfigError: one is not there, or the request is not that of the service's own guard.
        """
        if request.labels or request.literal is not None:
            raise ConfigError(
                f"model={self.settings.name} judges texts as they are: it takes no prompt of "
                "another kind. Leave model.guard out."
            )
        self.service.prepare()

    @property
    def context(self) -> None:
        """Not told."""
        return None

    def count_tokens(self, text: str) -> int:
        """An estimate by characters."""
        return estimated_tokens(text)

    def generate(
        self, requests: Sequence[Request], done: Mapping[str, Completion]
    ) -> Iterator[list[Completion]]:
        """Yields what has come, in small batches and the order of arrival (`Dispatch.batches`).

        Raises:
            ConfigError: as for `prepare`.
            TraceError: a budget is used up, the service is down, or it refuses the credentials or
                the resource. Everything that was answered came before.
        """
        keyed = [(request, request.key(self.identity)) for request in requests]
        missing = [(request, key) for request, key in keyed if key not in done]
        if not missing:
            return
        self.service.prepare()
        self._budget = self._new_budget()
        jobs, beyond = self._jobs(missing)
        if beyond:
            yield beyond
        if not jobs:
            return
        pool = ThreadPoolExecutor(self.engine.concurrency, thread_name_prefix=self.engine.name)
        dispatch = Dispatch(
            jobs,
            lambda job: self._send(job, pool),
            place=f"model={self.settings.name}",
            pace=Pace(most=self.engine.concurrency, limit=min(BEGIN, self.engine.concurrency)),
            budget=self._budget,
            snapshot=Snapshot("", ()),  # these services tell no name of a model
            attempts=self.engine.attempts,
            answered_before=bool(done),
        )
        with asyncio.Runner() as runner:
            try:
                yield from dispatch.batches(runner)
            finally:
                logger.info("%s: %s", self.settings.name, self.usage)
                pool.shutdown(wait=False, cancel_futures=True)

    def _jobs(self, missing: Sequence[tuple[Request, str]]) -> tuple[list[Job], list[Completion]]:
        """What is to be sent, and what is not: cut in pieces a long text would be another one."""
        jobs, beyond = [], []
        longest = self.service.longest
        for request, key in missing:
            characters = len(texts_of(request.messages).judged)
            if longest is not None and characters > longest:
                said = canonical({"characters": characters})
                beyond.append(self._completion(key, said, "too_long"))
            else:
                jobs.append(Job(request=request, key=key, fields={}, worst=NO_TOKENS))
        return jobs, beyond

    async def _send(self, job: Job, pool: ThreadPoolExecutor) -> Reply | Fault:
        began = time.monotonic()
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.engine.timeout):
                found = await loop.run_in_executor(pool, self._judge, job.request)
        except TimeoutError:
            text = f"no reply within model.engine.timeout={self.engine.timeout:g} seconds"
            return Fault(kind="failed", text=text, billed=True)
        except Exception as error:  # whatever an SDK raises is a status of this request
            ended = self.service.fault(error)
            found = ended if isinstance(ended, Fault) else ("", ended)
        if isinstance(found, Fault):
            return found
        seconds = round(time.monotonic() - began, 4)
        return Reply(completion=self._completion(job.key, *found, seconds), tokens=NO_TOKENS)

    def _judge(self, request: Request) -> Fault | tuple[str, Finish]:
        """One attempt, in a thread: what the service said, as canonical JSON."""
        found = self.service.judge(texts_of(request.messages))
        return found if isinstance(found, Fault) else (canonical(found.said), found.finish)

    def _completion(self, key: str, said: str, finish: Finish, seconds: float = 0.0) -> Completion:
        maker = f"{self.engine.name} {self.service.version}"
        return Completion(key=key, text=said, finish=finish, engine=maker, seconds=seconds)

    def _new_budget(self) -> Budget:
        return Budget(price=None, max_cost_usd=None, max_requests=self.engine.max_requests)
