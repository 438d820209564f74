"""The engine for servers that speak the OpenAI API."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Mapping, Sequence

from trace import config
from trace.models.base import estimated_tokens
from trace.models.hosted.body import body, check_request
from trace.models.hosted.budget import Budget, worst_case
from trace.models.hosted.client import Client, check_address, credential
from trace.models.hosted.dispatch import Dispatch, Job
from trace.models.hosted.fault import address
from trace.models.hosted.pace import BEGIN, Pace
from trace.models.hosted.snapshot import Snapshot
from trace.records import Completion, Json, Request

logger = logging.getLogger(__name__)


class OpenAIModel:
    """A model behind a server. Nothing is sent before the first real request."""

    def __init__(self, settings: config.HostedModel) -> None:
        assert isinstance(settings.engine, config.OpenAIEngine)
        self.settings = settings
        self.engine = settings.engine
        self._budget = self._new_budget()
        self.identity: Mapping[str, Json] = {
            "engine": self.engine.name,
            "base_url": address(settings.base_url or ""),
            "id": settings.id,
            "extra_body": settings.extra_body or {},
            "reasoning": settings.reasoning,
            "reasoning_field": settings.reasoning_field,
            "max_tokens_field": settings.max_tokens_field,
            "logprobs": settings.logprobs,
        }

    @property
    def usage(self) -> Mapping[str, Json]:
        """What the run uses so far, or the last one used (`budget.Usage`)."""
        return self._budget.usage.to_json()

    def prepare(self, request: Request) -> None:
        """Looks at the address and for the key in the environment; the server is not asked.

        Raises:
            ConfigError: they cannot be, or the request is none for this server (`check_request`).
        """
        check_address(self.settings.base_url or "")
        credential(self.settings)
        check_request(self.settings, request)

    @property
    def context(self) -> int | None:
        """What the configuration says."""
        return self.settings.context

    def count_tokens(self, text: str) -> int:
        """An estimate by characters: servers tell no tokens beforehand."""
        return estimated_tokens(text)

    def generate(
        self, requests: Sequence[Request], done: Mapping[str, Completion]
    ) -> Iterator[list[Completion]]:
        """Yields what has come, in small batches and the order of arrival (`Dispatch.batches`).

        Raises:
            ConfigError: as for `prepare`.
            TraceError: a budget is used up, the server is down, refuses the key or the model's
                name, or another snapshot answers. Everything that was answered came before.
        """
        jobs = [self._job(request, key) for request, key in self._keyed(requests, done)]
        if not jobs:
            return
        client = Client(self.settings)
        self._budget = self._new_budget()
        engine = self.engine
        dispatch = Dispatch(
            jobs,
            lambda job: client.send(job.request, job.key, job.fields),
            place=f"model.base_url={self.identity['base_url']}",
            pace=Pace(most=engine.concurrency, limit=min(BEGIN, engine.concurrency)),
            budget=self._budget,
            snapshot=Snapshot(self.settings.id or "", done.values()),
            attempts=engine.attempts,
            answered_before=bool(done),
        )
        with asyncio.Runner() as runner:
            try:
                yield from dispatch.batches(runner)
            finally:
                logger.info("%s: %s", self.settings.name, self.usage)
                runner.run(client.close())

    def _keyed(
        self, requests: Sequence[Request], done: Mapping[str, Completion]
    ) -> Iterator[tuple[Request, str]]:
        for request in requests:
            key = request.key(self.identity)
            if key not in done:
                check_request(self.settings, request)
                yield request, key

    def _new_budget(self) -> Budget:
        return Budget(
            price=self.settings.price,
            max_cost_usd=self.engine.max_cost_usd,
            max_requests=self.engine.max_requests,
        )

    def _job(self, request: Request, key: str) -> Job:
        fields, more = body(self.settings, request, key), self.settings.extra_body
        limits = (self.settings.max_tokens_field, "max_tokens", "max_completion_tokens")
        most = max(int(fields[name]) for name in limits if isinstance(fields.get(name), int))
        # What is added to a request, such as tools, is read by the model too.
        texts = (*request.texts, json.dumps(more)) if more else request.texts
        return Job(request=request, key=key, fields=fields, worst=worst_case(texts, most))
