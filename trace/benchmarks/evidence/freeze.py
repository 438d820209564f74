"""From annotated answers to frozen triples, and to the questions that are left to a human."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trace.benchmarks.evidence.infer import Answered
from trace.benchmarks.evidence.triple import COMPONENTS, Component, Triple
from trace.benchmarks.evidence.voting import Decision, Queued
from trace.records import Json, digest

By: TypeAlias = Literal["vote", "source", "label"]
"""Who names a category or an attack: the annotators, the prompt's source, or the label of the
prompt, since a safe one has no category."""
_UNDECIDED = ("no valid vote", "too few valid votes", "no majority")
"""Where the votes name nothing; other reasons say that they contradict each other."""


@dataclass(frozen=True, slots=True)
class _Name:
    name: str | None
    by: By


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotated:
    """A valid answer, with what its annotators decided."""

    answered: Answered
    decision: Decision

    @property
    def id(self) -> str:
        """That of the triple, frozen or not."""
        one = self.answered
        texts = [one.prompt.text, one.reasoning, one.response, one.respondent.name]
        return digest(texts)[:16]

    @property
    def texts(self) -> Mapping[Component, str]:
        """The text of every component."""
        return texts(self.answered)

    @property
    def open(self) -> tuple[Queued, ...]:
        """What only a human can decide.

        Every component has to be decided. Where the votes name no category or attack, the prompt's
        source does; that is no guess, as it was sampled by them. A category stays open where
        neither names one for an unsafe prompt (none would say that there is no risk), and where
        the votes contradict each other.
        """
        named = {"category": self._category(), "attack": self._attack()}
        return tuple(q for q in self.decision.queue if named.get(q.item) is None)

    def triple(self) -> Triple | None:
        """The frozen triple; None where something is open."""
        category, attack = self._category(), self._attack()
        if self.open or category is None:
            return None
        one = self.answered
        return Triple(
            prompt=one.prompt.text,
            reasoning=one.reasoning,
            response=one.response,
            language=one.prompt.language,
            category=category.name,
            attack=attack.name,
            labels={component: self.decision.labels[component] for component in COMPONENTS},
            respondent=one.respondent,
            votes=self.decision.votes,
            provenance=self._provenance() | {"category_by": category.by, "attack_by": attack.by},
        )

    def to_json(self) -> dict[str, Json]:
        """One line of annotated.jsonl."""
        return {
            "id": self.id,
            "prompt_id": self.answered.prompt.id,
            "respondent": self.answered.respondent.name,
            **self.decision.to_json(),
        }

    def question(self) -> dict[str, Json]:
        """One line of queue.jsonl: what is open and why, and all that a human needs to decide it.

        The form is that of a triple whose `labels` lack what is open, with `open` and the source's
        own `category` and `attack`.
        """
        one, decided = self.answered, self.decision.to_json()
        return {
            "id": self.id,
            "prompt_id": one.prompt.id,
            "open": [question.to_json() for question in self.open],
            "language": one.prompt.language,
            "category": decided["category"],
            "attack": decided["attack"],
            **{str(component): text for component, text in self.texts.items()},
            "labels": decided["labels"],
            "respondent": {
                "name": one.respondent.name,
                "family": one.respondent.family,
                "abliterated": one.respondent.abliterated,
            },
            "votes": decided["votes"],
            "provenance": self._provenance(),
        }

    def _category(self) -> _Name | None:
        voted, source = self.decision.category, self.answered.prompt.category
        prompt = self.decision.labels.get("prompt")
        if voted is not None:
            return _Name(voted.name, "vote")
        reasons = {queued.item: queued.reason for queued in self.decision.queue}
        if prompt is None or reasons["category"] not in _UNDECIDED:
            return None
        if prompt.safety == "safe":
            return _Name(None, "label")
        return None if source is None else _Name(source, "source")

    def _attack(self) -> _Name:
        voted = self.decision.attack
        if voted is not None:
            return _Name(voted.name, "vote")
        return _Name(self.answered.prompt.attack, "source")

    def _provenance(self) -> dict[str, Json]:
        source = self.answered.prompt
        return {
            **source.provenance,
            "source": source.source,
            "licence": source.licence,
            "source_category": source.category,
            "source_attack": source.attack,
            "reasoning": self.answered.origin,
            "response_cut": self.answered.cut,
            "completions": list(self.answered.keys),
        }


def texts(answered: Answered) -> Mapping[Component, str]:
    """The three texts of an answer."""
    return {
        "prompt": answered.prompt.text,
        "reasoning": answered.reasoning,
        "response": answered.response,
    }
