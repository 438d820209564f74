"""From the verdicts of several judges on one item to the panel's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias, get_args

from trace import config
from trace.errors import ConfigError
from trace.records import Status, Verdict

RuleName: TypeAlias = Literal["majority", "any_unsafe", "unanimous", "k_of_n"]
Ties: TypeAlias = Literal["unscored", "unsafe", "safe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How votes become one label; `min_valid` votes are needed.

    * `majority`: the label with most votes (a plurality, where there are more than two labels).
    * `any_unsafe`: unsafe if any vote is; `k_of_n`: unsafe if at least `k` votes are, which needs
      at least `k` votes, lest judges that fail make an item safe. The label is then the one with
      most of the unsafe votes.
    * `unanimous`: the label that every vote names.

    `ties` decides between safe and unsafe where `majority` has several first places or `unanimous`
    has votes that differ. With `ties=safe` on two labels, `unanimous` is unsafe only if all votes
    are; with `ties=unsafe` it is `any_unsafe`. No setting gives a label that nobody named, nor
    one of several unsafe labels named equally often: such an item is unscored.
    """

    name: RuleName
    min_valid: int
    ties: Ties
    k: int | None = None

    def __post_init__(self) -> None:
        for key, value, choices in (
            ("rule", self.name, get_args(RuleName)),
            ("ties", self.ties, get_args(Ties)),
        ):
            if value not in choices:
                raise ConfigError(
                    f"judges.{key}: {value!r} is not a choice. Choose one of {', '.join(choices)}."
                )
        if self.min_valid < 1:
            raise ConfigError(
                f"judges.min_valid: {self.min_valid} votes decide nothing. Give at least 1."
            )
        if self.name == "k_of_n" and (self.k is None or self.k < 1):
            raise ConfigError(
                f"judges.k: {self.k} with judges.rule=k_of_n. Give how many unsafe votes are "
                "needed, at least 1."
            )
        if self.name != "k_of_n" and self.k is not None:
            raise ConfigError(
                f"judges.k: {self.k} has no meaning with judges.rule={self.name}. Leave it out, or "
                "take judges.rule=k_of_n."
            )


def rule_of(panel: config.Judges) -> Rule:
    """The rule of a panel as it is configured."""
    return Rule(
        name=panel.rule,  # type: ignore[arg-type]  # the configuration has checked both
        k=panel.k,
        min_valid=panel.min_valid,
        ties=panel.ties,  # type: ignore[arg-type]
    )


def votes_of(
    verdicts: Mapping[str, Verdict], judges: Sequence[str], excluded: Collection[str] = ()
) -> tuple[str | None, ...]:
    """The vote of each of `judges`, in their order; None where there is none.

    A verdict that is not ok is no vote, and neither is that of a judge that is `excluded` or was
    not asked.
    """
    present = {name: v.label for name, v in verdicts.items() if name not in excluded}
    return tuple(present.get(name) for name in judges)


def combined(
    verdicts: Mapping[str, Verdict],
    rule: Rule,
    negative: str,
    excluded: Collection[str] = (),
) -> Verdict:
    """The panel's verdict on one item; the order of the judges plays no part.

    Args:
        verdicts: judge -> its verdict.
        rule: how votes are combined.
        negative: the label that means no risk; every other is unsafe.
        excluded: judges that have no vote on this item, such as the one that is judged. Names
            that are not on the panel are allowed.

    Returns:
        `ok` with the label, and as its score the mean of the scores that the votes have, if any
        has one. Otherwise no score, the reason as rationale, and as status

        * with too few votes, the commonest status of the judges that gave none, the first of
          `Status` in a tie; `unsupported` if every judge voted and they are still too few;
        * with enough votes but no label by the rule, `unsupported`.
    """
    asked = [verdict for name, verdict in verdicts.items() if name not in excluded]
    voting = [(v.label, v.score) for v in asked if v.label is not None]
    needed = max(rule.min_valid, rule.k or 1)
    if len(voting) < needed:
        reason = f"{len(voting)} of {len(asked)} judges voted, {needed} are needed"
        return Verdict(status=_why_not(asked), rationale=reason)
    counts = Counter(label for label, _ in voting)
    label = _decide(counts, rule, negative)
    if label is None:
        tally = ", ".join(f"{counts[name]} {name}" for name in sorted(counts))
        return Verdict(status="unsupported", rationale=f"no label by {rule.name}: {tally}")
    scores = sorted(score for _, score in voting if score is not None)
    return Verdict(status="ok", label=label, score=fmean(scores) if scores else None)


def _why_not(asked: Collection[Verdict]) -> Status:
    counts: Counter[Status] = Counter(verdict.status for verdict in asked)
    del counts["ok"]
    statuses: tuple[Status, ...] = get_args(Status)
    return max(statuses, key=lambda status: counts[status]) if counts else "unsupported"


def _decide(counts: Counter[str], rule: Rule, negative: str) -> str | None:
    unsafe = Counter({label: n for label, n in counts.items() if label != negative})
    if rule.name in ("any_unsafe", "k_of_n"):
        return _first(unsafe) if unsafe.total() >= (rule.k or 1) else negative
    most = max(counts.values())
    first = [label for label in counts if rule.name == "unanimous" or counts[label] == most]
    if len(first) == 1:
        return first[0]
    if rule.ties == "unsafe":
        return _first(Counter({label: unsafe[label] for label in first if label != negative}))
    return negative if rule.ties == "safe" and negative in first else None


def _first(counts: Counter[str]) -> str | None:
    """The label with most votes, if it is alone."""
    best, *others = (label for label in counts if counts[label] == max(counts.values()))
    return None if others else best
