"""What a run has used, and whether it may use more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from trace.models.hosted.reply import Tokens
from trace.records import Json

PER_MESSAGE = 16
"""Tokens that a chat template adds to a message, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run has used so far.

    `attempts` counts every request sent, `answers` those that were answered. Tokens are those that
    the server counted; `uncounted` answers came without, and cost the most they can. `usd` is what
    the answers cost, and `usd_doubtful` the most that attempts without an answer may have cost
    beside (cut off, timed out, unreadable); both are None without a price. `served` are the models
    that answered, by their own names and fingerprints.
    """

    attempts: int = 0
    answers: int = 0
    uncounted: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None
    usd_doubtful: float | None = None
    served: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """The shape that may stand in a manifest."""
        return {
            name: list(value) if isinstance(value := getattr(self, name), tuple) else value
            for name in self.__slots__
        }


def worst_case(texts: Sequence[str], max_new_tokens: int) -> Tokens:
    """The most tokens that a request may take: a token has a byte at least."""
    sizes = (len(text.encode("utf-8", "replace")) + PER_MESSAGE for text in texts)
    return Tokens(prompt=sum(sizes), completion=max_new_tokens)


def cost(price: Mapping[str, float], tokens: Tokens) -> float:
    """US dollars, from a price in dollars per million tokens. Unsaid, cached is input."""
    cached = price.get("cached", price["input"])
    fresh = tokens.prompt - tokens.cached
    return (
        fresh * price["input"] + tokens.cached * cached + tokens.completion * price["output"]
    ) / 1e6


@dataclass(kw_only=True)
class Budget:
    """Keeps the account of one run. Requests under way count with the most they may cost."""

    price: Mapping[str, float] | None
    max_cost_usd: float | None
    max_requests: int | None
    usage: Usage = field(init=False)
    _reserved: float = 0.0

    def __post_init__(self) -> None:
        nothing = None if self.price is None else 0.0
        self.usage = Usage(usd=nothing, usd_doubtful=nothing)

    def refusal(self, worst: Tokens) -> str | None:
        """Why an attempt that may take `worst` must not begin; None if it may."""
        used = self.usage
        if self.max_requests is not None and used.attempts >= self.max_requests:
            return (
                f"model.engine.max_requests={self.max_requests}: that many were sent, and "
                f"{used.answers} answered{self._spent()}. The same command goes on with as many "
                "again"
            )
        if self.max_cost_usd is None or self.price is None:
            return None
        sure = (used.usd or 0.0) + (used.usd_doubtful or 0.0)
        most = cost(self.price, worst)
        if most > self.max_cost_usd:
            return (
                f"model.engine.max_cost_usd={self.max_cost_usd:g}: a single request may cost up to "
                f"{most:.4g} USD, after {used.answers} answers{self._spent()}. Give more, "
                "or a smaller sampling.max_new_tokens"
            )
        if sure + self._reserved + most <= self.max_cost_usd:
            return None
        return (
            f"model.engine.max_cost_usd={self.max_cost_usd:g}: the next request may cost up to "
            f"{most:.4g} USD more, after {used.answers} answers{self._spent()}. "
            "The same command goes on with as much again"
        )

    def begin(self, worst: Tokens) -> None:
        """An attempt is sent."""
        self.usage = replace(self.usage, attempts=self.usage.attempts + 1)
        self._reserved += cost(self.price, worst) if self.price else 0.0

    def answered(self, worst: Tokens, tokens: Tokens | None, served: str) -> None:
        """It was answered. Where the server counts no tokens, the most they can be is charged."""
        self._release(worst)
        used, counted = self.usage, tokens or Tokens(prompt=0, completion=0)
        charged = tokens or worst
        self.usage = replace(
            used,
            answers=used.answers + 1,
            uncounted=used.uncounted + (tokens is None),
            prompt_tokens=used.prompt_tokens + counted.prompt,
            cached_tokens=used.cached_tokens + counted.cached,
            completion_tokens=used.completion_tokens + counted.completion,
            usd=None if self.price is None else (used.usd or 0.0) + cost(self.price, charged),
            served=used.served if served in used.served else (*used.served, served),
        )

    def failed(self, worst: Tokens, *, billed: bool) -> None:
        """It brought no answer; `billed` where it may have to be paid all the same."""
        self._release(worst)
        if billed and self.price is not None:
            doubtful = (self.usage.usd_doubtful or 0.0) + cost(self.price, worst)
            self.usage = replace(self.usage, usd_doubtful=doubtful)

    def _release(self, worst: Tokens) -> None:
        self._reserved -= cost(self.price, worst) if self.price else 0.0

    def _spent(self) -> str:
        if self.usage.usd is None:
            return ""
        doubtful = self.usage.usd_doubtful or 0.0
        more = f", and up to {doubtful:.4g} for attempts that broke off" if doubtful else ""
        return f", for {self.usage.usd:.4g} USD{more}"
