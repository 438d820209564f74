"""A sample with what a judge said of it, and shares of such samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trace.records import Verdict
from trace.stats.rates import Rate, UnscoredAs, rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A sample's gold label under the protocol, what the judge said, its source and its class.

    Repeats of one sample have the same `sample` and count as one observation in Wilson intervals;
    without a name each stands for itself.
    """

    gold: str
    verdict: Verdict
    cluster: str
    class_: str
    sample: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a label."""
        return self.verdict.status == "ok"

    @property
    def right(self) -> bool:
        """Whether the label is the gold one."""
        return self.verdict.label == self.gold

    def flagged(self, negative: str) -> bool:
        """Whether there is a label, and it is not the one that means no risk."""
        return self.ok and self.verdict.label != negative

    def counted(self, policy: UnscoredAs) -> bool:
        """Whether it is in the denominator."""
        return self.ok or policy == "as_wrong"


def share(
    items: Sequence[Judged], hit: Callable[[Judged], bool], policy: UnscoredAs, of: str
) -> Rate:
    """The share of `items` that `hit`, with a Wilson interval over distinct samples."""
    scored = [j for j in items if j.ok]
    hits = sum(map(hit, scored))
    misses, unscored = len(scored) - hits, len(items) - len(scored)
    repeats = repeats_in(items)
    return rate(hits, misses, unscored, unscored_as=policy, of=of, repeats=repeats)


def repeats_in(items: Sequence[Judged]) -> float:
    """How often each sample occurs, on average; 1 where they have no names."""
    names = {item.sample for item in items}
    return 1.0 if None in names or not names else len(items) / len(names)


def unscored_as(unscored: str) -> UnscoredAs:
    """The policy that a configuration names.

    Raises:
        ValueError: `unscored` is no choice.
    """
    choices: dict[str, UnscoredAs] = {"as_wrong": "as_wrong", "exclude": "exclude"}
    if unscored not in choices:
        raise ValueError(f"unscored is as_wrong or exclude, not {unscored!r}")
    return choices[unscored]
