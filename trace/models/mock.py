"""A model without weights: replies from a file, or right answers at planted rates."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import jsonlines

from trace import config
from trace.errors import ConfigError, DataError
from trace.models.base import estimated_tokens
from trace.reasoning import split_reasoning
from trace.records import Completion, Json, LabelScore, Request, digest

BATCH = 32
"""Requests answered, and logged, together."""

CONFIDENCE = 0.9
"""The probability of the label it chooses, where labels are scored. The others share the rest."""


def plant(class_: str, label: str, labels: Sequence[str]) -> str:
    """What a request tells a mock, as `Request.planted`.

    Args:
        class_: The gold class of the sample (or benign): it picks the rate.
        label: The right label under the protocol.
        labels: All labels of the protocol, in its order; wrong answers are drawn from the others.
    """
    return json.dumps({"class": class_, "label": label, "labels": list(labels)})


class MockModel:
    """Answers from a file, dealt to the requests in order and cycled; or at planted rates.

    With rates, whether a request is answered rightly depends on it and on the seed alone, so a
    resumed run is like an undisturbed one. `calls` counts the requests it was asked.
    """

    usage: Mapping[str, Json] = {}

    def __init__(self, settings: config.MockModel) -> None:
        self.settings = settings
        self.rates = dict(settings.rates or {})
        self.calls = 0
        self._replies: tuple[str, ...] = ()
        sha256 = None
        if settings.replies:
            self._replies, sha256 = read_replies(Path(settings.replies))
        self.identity: Mapping[str, Json] = {
            "engine": settings.engine.name,
            "replies": sha256,
            "rates": self.rates,
            "seed": settings.seed,
            "reasoning": settings.reasoning,
        }

    def prepare(self, request: Request) -> None:
        """Answers the request once, for nothing: what cannot be answered is refused here."""
        self._answer(request, "")

    @property
    def context(self) -> int | None:
        """What the configuration says."""
        return self.settings.context

    def count_tokens(self, text: str) -> int:
        """A quarter of the characters: about what English text has."""
        return estimated_tokens(text)

    def generate(
        self, requests: Sequence[Request], done: Mapping[str, Completion]
    ) -> Iterator[list[Completion]]:
        """Yields batches in the order of the requests.

        Raises:
            ConfigError: a class has no rate, or replies are asked for the likelihood of labels.
        """
        keys = [request.key(self.identity) for request in requests]
        for start in range(0, len(requests), BATCH):
            batch = range(start, min(start + BATCH, len(requests)))
            if all(keys[i] in done for i in batch):
                continue
            self.calls += len(batch)
            yield [self._answer(requests[i], keys[i]) for i in batch]

    def check_classes(self, classes: Sequence[str]) -> None:
        """Refuses a rate for a class that is none of `classes`, and a class without a rate.

        Raises:
            ConfigError: naming the class, and those nearest to it.
        """
        for name in self.rates.keys() - {"default", *classes}:
            raise ConfigError(f"model.rates.{name}: no such class{config.nearest(name, classes)}")
        if self.rates and "default" not in self.rates:
            for name in (name for name in classes if name not in self.rates):
                raise _no_rate(name)

    def _answer(self, request: Request, key: str) -> Completion:
        if not self._replies:
            return self._planted(request, key)
        check_request(self.settings, request)
        if request.reply is None:
            raise ValueError("a mock with replies needs Request.reply")
        return self._written(self._replies[request.reply % len(self._replies)], key)

    def _planted(self, request: Request, key: str) -> Completion:
        if request.planted is None:
            raise ValueError("a mock with rates needs Request.planted")
        gold = json.loads(request.planted)
        labels: list[str] = gold["labels"]
        chosen = self._choose(request, gold["class"], labels.index(gold["label"]), len(labels))
        if not request.labels:
            return self._written(json.dumps({"verdict": labels[chosen]}, ensure_ascii=False), key)
        rest = (1 - CONFIDENCE) / max(1, len(labels) - 1)
        scores = {
            string: LabelScore(
                logprob=math.log(CONFIDENCE if label == labels[chosen] else rest), tokens=1
            )
            for label, string in zip(labels, request.labels, strict=True)
        }
        top = request.labels[chosen]
        return Completion(key=key, scores=scores, top=top, engine="mock")

    def _choose(self, request: Request, class_: str, right: int, among: int) -> int:
        """The index of the label it answers: the right one, or one of the others."""
        rate = self.rates.get(class_, self.rates.get("default"))
        if rate is None:
            raise _no_rate(class_)
        # The request without the model: other rates do not change which requests are hard.
        drawn = digest([self.settings.seed, request.key({})])
        if int(drawn[:16], 16) / 16**16 < rate or among == 1:
            return right
        others = [i for i in range(among) if i != right]
        return others[int(drawn[16:32], 16) % len(others)]

    def _written(self, reply: str, key: str) -> Completion:
        split = split_reasoning(reply, self.settings.reasoning)
        return Completion(
            key=key,
            text=split.answer,
            reasoning=split.reasoning,
            reasoning_closed=split.closed,
            engine="mock",
        )


def check_request(settings: config.MockModel, request: Request) -> None:
    """Refuses the likelihood of labels where there are only texts.

    Raises:
        ConfigError: it is asked for.
    """
    if settings.replies and request.labels:
        raise ConfigError(
            "model.replies: a text has no likelihoods. Use protocol.answer=generate, or "
            "model.rates={default: 0.8}."
        )


def _no_rate(class_: str) -> ConfigError:
    return ConfigError(
        f"model.rates: no rate for {class_}. Add model.rates.default=0.8, or its own."
    )


def read_replies(path: Path) -> tuple[tuple[str, ...], str]:
    """The replies in a JSONL file, a JSON string a line, and the sha256 of the file.

    Raises:
        DataError: it cannot be read, has no reply, or a line is not a JSON string.
    """
    advice = 'Every line must be one JSON string, like "{\\"verdict\\": \\"Safe\\"}".'
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            replies = tuple(jsonlines.Reader(file).iter(type=str, skip_empty=True))
    except OSError as error:
        raise DataError(
            f"model.replies={path}: cannot be read ({error.strerror}). {advice}"
        ) from error
    except jsonlines.InvalidLineError as error:
        raise DataError(f"{path}, line {error.lineno}: not a JSON string. {advice}") from error
    if not replies:
        raise DataError(f"{path}: has no reply. {advice}")
    return replies, sha256
