"""How many requests may be under way: a state that every outcome turns into the next."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["answered", "limited", "silent", "failed"]
"""`limited`: the server asks for fewer; `silent`: no reply in time; `failed`: it is broken."""

BEGIN = 4
"""Requests that are begun before anything is known of the server."""

STEPS = 16
"""Windows without trouble that lead from nothing to the most."""

STRAY = 1 / 16
"""The share of a window that may be turned away while the limit still rises."""

FIRST_PAUSE = 0.5
"""Seconds: the most that is waited after the first failure. Every further one doubles it."""

LONGEST_PAUSE = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Additive increase, multiplicative decrease of the number of requests under way.

    The limit is changed once a window, which is as many outcomes as the limit had requests. A
    window of which at most `STRAY` were limited raises it by a sixteenth of `most`, at least by 1,
    so that chance does not starve it. One with a larger share s of them multiplies it by 1 - s/2:
    halved when all were turned away. So it settles where the server's own limit is. (The cut in
    proportion is that of DCTCP, RFC 8257, section 3.3.)

    Silence is cut like that only where it is a third of a window and more than one: then the
    server is too slow for so many, and they would time out together again. Less of it is chance.

    After a window in which nothing was answered everybody pauses, twice as long each time, unless
    the server has said itself how long. Times are seconds on any clock that only goes forward.
    """

    most: int
    limit: float = BEGIN
    under_way: int = 0
    answered: int = 0
    limited: int = 0
    silent: int = 0
    failed: int = 0
    storms: int = 0
    """Windows in a row in which nothing was answered and no rest was asked for."""
    resume: float = -math.inf
    """Nothing begins before."""

    def wait(self, now: float) -> float | None:
        """Seconds until the next request may begin; None where one has to end first."""
        if self.under_way >= self._rows:
            return None
        return max(0.0, self.resume - now)

    def begun(self) -> Pace:
        """One more is under way."""
        return replace(self, under_way=self.under_way + 1)

    def ended(
        self, outcome: Outcome, *, now: float, jitter: float, retry_after: float | None = None
    ) -> Pace:
        """One has ended.

        Args:
            outcome: How.
            now: The time, in seconds.
            jitter: A draw from [0, 1): the share of a pause that is really waited.
            retry_after: The seconds of rest that the server asked for; they hold for everybody.
        """
        after = replace(
            self,
            under_way=self.under_way - 1,
            answered=self.answered + (outcome == "answered"),
            limited=self.limited + (outcome == "limited"),
            silent=self.silent + (outcome == "silent"),
            failed=self.failed + (outcome == "failed"),
            resume=max(self.resume, now + (retry_after or 0.0)),
        )
        if after._outcomes < self._rows:
            return after
        return after._next_window(now, jitter)

    @property
    def _rows(self) -> int:
        return min(self.most, max(1, int(self.limit)))

    @property
    def _outcomes(self) -> int:
        return self.answered + self.limited + self.silent + self.failed

    def _next_window(self, now: float, jitter: float) -> Pace:
        limit, storms, resume = self.limit, self.storms, self.resume
        slow = self.silent if self.silent > 1 and 3 * self.silent >= self._outcomes else 0
        too_many = (self.limited + slow) / self._outcomes
        if too_many > STRAY:
            limit = max(1.0, limit * (1 - too_many / 2))
        elif self.answered:
            limit = min(float(self.most), limit + max(1.0, self.most / STEPS))
        if self.answered:
            storms = 0
        elif resume <= now:
            resume = now + backoff(storms, jitter)
            storms += 1
        return replace(
            self,
            limit=limit,
            answered=0,
            limited=0,
            silent=0,
            failed=0,
            storms=storms,
            resume=resume,
        )


def backoff(times: int, jitter: float) -> float:
    """Seconds to wait after having failed `times` times before: exponential, with full jitter.

    Args:
        times: 0 for the first failure.
        jitter: A draw from [0, 1); the wait is that share of the longest one.
    """
    return jitter * min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(times, 16))
