"""A response, what each judge called it, and what its peers agree on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from trace.benchmarks.cross_lab.items import Item
from trace.benchmarks.cross_lab.masking import Masked
from trace.benchmarks.responses import unjudged
from trace.judging.panel import Rule, combined
from trace.records import Completion, Gold, Json, Verdict


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a respondent said to an item.

    `tokens` is the most it may have written, `asked_again` whether that is more than at first
    because answers were cut off.
    """

    item: Item
    epoch: int
    response: Completion
    tokens: int
    asked_again: bool = False

    @cached_property
    def unjudged(self) -> Verdict | None:
        """Why there is nothing to judge; None if there is."""
        return unjudged(self.response)

    @property
    def truncated(self) -> bool:
        """Whether the token limit ended it: labels of what has several parts may not fit then."""
        return self.response.finish == "length" or not self.response.reasoning_closed


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What a judge said of a response. `completion` is None for a rule."""

    verdict: Verdict
    completion: Completion | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """An answer with its votes.

    `own` names the judges that are the respondent itself: their votes are kept apart. `excluded`
    names those whose vote is set aside. `trace` is what became of the values in the reasoning that
    the respondent showed, None where nobody was asked.
    """

    answer: Answer
    shown: Masked
    votes: Mapping[str, Vote]
    own: frozenset[str]
    rule: Rule
    excluded: frozenset[str] = frozenset()
    trace: Vote | None = None
    identities: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def verdict(self) -> Verdict:
        """The label with most votes of the peers; that nobody could judge has its own status."""
        if (why := self.answer.unjudged) is not None:
            return why
        votes = {name: vote.verdict for name, vote in self.votes.items()}
        return combined(votes, self.rule, "", self.own | self.excluded)

    def to_json(self, condition: str, protocol: str) -> dict[str, Json]:
        """One line of records.jsonl."""
        answer, item = self.answer, self.answer.item
        trace = self.trace
        return {
            "id": item.id,
            "gold": Gold(label=None).to_json(),
            "condition": condition,
            "protocol": protocol,
            "epoch": answer.epoch,
            "verdict": self.verdict.to_json(),
            "judges": {
                name: {
                    **vote.verdict.to_json(),
                    "model": self.identities.get(name),
                    "own": name in self.own,
                    "completion": vote.completion and vote.completion.in_record(),
                }
                | ({"excluded": True} if name in self.excluded else {})
                for name, vote in self.votes.items()
            },
            "response": answer.response.in_record(),
            "truncated": answer.truncated,
            "tokens": answer.tokens,
            "asked_again": answer.asked_again,
            "masked": list(self.shown.found),
            "trace": trace
            and {
                **trace.verdict.to_json(),
                "completion": trace.completion and trace.completion.in_record(),
            },
            "sample": {
                "cluster": item.id,
                "category": item.category,
                "split": item.split,
                "underspecified": item.underspecified,
                "value": item.value,
                "domain": item.domain,
            },
        }
