"""The models that take part in a build, each by its role or name in `benchmark.builder`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from trace import config
from trace.benchmarks.base import Ask
from trace.models.open import open_model
from trace.records import Completion, Json, Request
from trace.tasks.answers import addressed, answers


class Helpers:
    """Asks the model of a role; only one of them is in memory at a time."""

    def __init__(self, models: Mapping[str, config.Model], output_dir: str) -> None:
        self._output_dir = output_dir
        self._asked: Counter[str] = Counter()
        self.models = dict(models)

    def prepare(self) -> dict[str, Json]:
        """Role -> what identifies its model. No weights are loaded.

        Raises:
            TraceError: one of them cannot be asked at all.
        """
        identities: dict[str, Json] = {}
        for role, settings in self.models.items():
            model = open_model(settings)
            first = Request(messages=({"role": "user", "content": "Hello."},))
            model.prepare(addressed([first], settings)[0])
            identities[role] = dict(model.identity)
        return identities

    def ask(self, role: str) -> Ask | None:
        """What puts requests to the model of a role; None where nobody has it."""
        if role not in self.models:
            return None
        settings = self.models[role]

        def put(requests: Sequence[Request]) -> list[Completion]:
            model = open_model(settings)
            asked = addressed(requests, settings, before=self._asked[role])
            self._asked[role] += len(requests)
            title = f"{settings.name} ({role})"
            return answers(model, settings.name, asked, self._output_dir, title=title)[0]

        return put
