"""What a run would do and take, said before it is done (`dry_run=true`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trace.stats.precision import detectable_difference, half_width


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one model is asked. Tokens are estimates; `written` is the most that may be.

    `price` is USD per million tokens (`input`, `output`); `max_requests` and `max_cost_usd` (USD)
    are the budget of one command. `here` says why the model cannot be asked from this machine, None
    if it can.
    """

    model: str
    requests: int
    read: int
    written: int
    price: Mapping[str, float] | None = None
    max_requests: int | None = None
    max_cost_usd: float | None = None
    here: str | None = None

    @property
    def cost(self) -> float | None:
        """The most it can cost, USD; None without a price."""
        if self.price is None:
            return None
        return (self.read * self.price["input"] + self.written * self.price["output"]) / 1e6

    @property
    def stops(self) -> list[str]:
        """The budgets that lie below what may be needed, as they are typed."""
        requests, cost = self.max_requests, self.max_cost_usd
        told = []
        if requests is not None and requests < self.requests:
            told.append(f"model.engine.max_requests={requests}")
        if cost is not None and self.cost is not None and cost < self.cost:
            told.append(f"model.engine.max_cost_usd={cost:g}")
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One job: what it does, whom it asks, and how precise its rates will be.

    `arms` maps what a rate is over (unsafe samples) to its number of independent samples.
    """

    what: str
    work: tuple[Work, ...] = ()
    arms: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The plan as text, a line each."""
        said = [self.what, *(f"  note: {note}" for note in self.notes)]
        for work in self.work:
            said.append(
                f"  {work.model}: {work.requests:,} requests, about {work.read:,} tokens to read, "
                f"at most {work.written:,} to write; what the log has already is not asked again"
            )
            if work.cost is not None:
                said.append(f"  {work.model}: at most about {work.cost:,.2f} USD")
            for budget in work.stops:
                said.append(
                    f"  {work.model}: {budget} is less than that: the run may stop there, and the "
                    "same command goes on"
                )
            if work.here is not None:
                said.append(f"  {work.model}: cannot run here: {work.here}")
        for name, n in self.arms.items():
            said.append(f"  {name}: n = {n:,}. {precision(n)}")
        return said


def precision(n: int) -> str:
    """How wide the interval of a rate will be, and what difference will show."""
    if n < 1:
        return "No rate can be given."
    least = detectable_difference(n)
    shows = "none" if least is None else f"{100 * least:.1f} points"
    return (
        f"A rate of 50% will have ±{100 * half_width(n):.1f} points (Wilson 95%); smallest "
        f"difference between two such runs that shows with power 80%: {shows}."
    )
