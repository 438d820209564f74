"""From several annotations of a triple to its labels and evidence, or to questions for a human."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, TypeVar, get_args

from trace.benchmarks.evidence.annotation import Annotation, ComponentAnnotation, Named
from trace.benchmarks.evidence.spans import locate
from trace.benchmarks.evidence.triple import COMPONENTS, Component, Labelled
from trace.config.evidence import Quotes
from trace.records import Json, Span, united

Item: TypeAlias = Component | Literal["category", "attack"]
Reason: TypeAlias = Literal[
    "no valid vote",
    "too few valid votes",
    "tie",
    "no majority",
    "no verifiable evidence",
    "safe, with a category",
    "unsafe, without a category",
]
REASONS: tuple[Reason, ...] = get_args(Reason)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """What the votes leave to a human: which item of a triple, and why."""

    item: Item
    reason: Reason

    def to_json(self) -> dict[str, Json]:
        """How it stands in queue.jsonl."""
        return {"item": self.item, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the annotators decided. Every item is decided or queued, none both.

    `labels` has the components that are decided. `category` and `attack` are None where they are
    not; a decided `Named(name=None)` is no risk, or no attack. `votes` are all that was said, by
    annotator, the quotes that are not in the source as they were written. `invented` counts those:
    annotator -> component -> number.
    """

    labels: Mapping[Component, Labelled]
    category: Named | None
    attack: Named | None
    queue: tuple[Queued, ...]
    votes: Mapping[str, Json]
    invented: Mapping[str, Mapping[Component, int]]

    def to_json(self) -> dict[str, Json]:
        """The whole decision."""
        return {
            "labels": {
                component: {
                    "safety": label.safety,
                    "evidence": [asdict(span) for span in label.evidence],
                }
                for component, label in self.labels.items()
            },
            "category": self.category and self.category.to_json(),
            "attack": self.attack and self.attack.to_json(),
            "queue": [queued.to_json() for queued in self.queue],
            "votes": dict(self.votes),
            "invented": {name: dict(counts) for name, counts in self.invented.items()},
        }


def vote(
    annotations: Mapping[str, Annotation],
    texts: Mapping[Component, str],
    *,
    min_valid: int,
    quotes_mode: Quotes,
) -> Decision:
    """Decides each component, the category and the attack by more than half of the valid votes.

    The order of the annotators plays no part. An unsafe component keeps the quotes of those who
    called it unsafe, as far as they stand in its text; where none does, it is left to a human.

    Category and attack are voted apart, from the safety of the prompt and from each other, by all
    whose annotation of the prompt is valid. A new name counts as it was written: it is never taken
    for another, known or new. A category that contradicts the label of the prompt is left to a
    human; an attack cannot, since a harmless request may be worded as one.

    Args:
        annotations: annotator -> what it says.
        texts: the text of every component.
        min_valid: with fewer votes an item is left to a human.
        quotes_mode: what a quote may differ in from its source.
    """
    annotators = {name: annotations[name] for name in sorted(annotations)}
    labels: dict[Component, Labelled] = {}
    queue: list[Queued] = []
    for component in COMPONENTS:
        said = [a.components[component] for a in annotators.values() if component in a.components]
        label = _label(said, texts[component], min_valid, quotes_mode)
        if isinstance(label, Labelled):
            labels[component] = label
        else:
            queue.append(Queued(item=component, reason=label.reason))
    prompts = [a for a in annotators.values() if "prompt" in a.components]
    category = _majority([a.category for a in prompts if a.category is not None], min_valid)
    if isinstance(category, Named) and "prompt" in labels:
        category = _consistent(category, labels["prompt"])
    attack = _majority([a.attack for a in prompts if a.attack is not None], min_valid)
    if isinstance(category, _Open):
        queue.append(Queued(item="category", reason=category.reason))
    if isinstance(attack, _Open):
        queue.append(Queued(item="attack", reason=attack.reason))
    return Decision(
        labels=labels,
        category=category if isinstance(category, Named) else None,
        attack=attack if isinstance(attack, Named) else None,
        queue=tuple(queue),
        votes={name: annotation.to_json() for name, annotation in annotators.items()},
        invented={
            name: {
                component: sum(
                    locate(quote, texts[component], quotes_mode) is None for quote in said.quotes
                )
                for component, said in annotation.components.items()
            }
            for name, annotation in annotators.items()
        },
    )


def rule_annotation(
    texts: Mapping[Component, str], find: Callable[[str], tuple[str, ...]]
) -> Annotation:
    """The annotation of a rule that finds words: a text is unsafe if it has any; they are quoted.

    It has no vote on the category and on the attack.

    Args:
        texts: the text of every component.
        find: the words that a text has, as they stand in it.
    """
    found = {component: find(texts[component]) for component in COMPONENTS}
    return Annotation(
        components={
            component: ComponentAnnotation(
                safety="unsafe" if words else "safe", quotes=words, explanation=""
            )
            for component, words in found.items()
        }
    )


@dataclass(frozen=True, slots=True)
class _Open:
    """Why an item is not decided."""

    reason: Reason


def _label(
    said: Sequence[ComponentAnnotation], source: str, min_valid: int, mode: Quotes
) -> Labelled | _Open:
    safety = _majority([annotation.safety for annotation in said], min_valid)
    if isinstance(safety, _Open):
        return _Open("tie") if safety.reason == "no majority" else safety
    if safety == "safe":
        return Labelled(safety=safety)
    spans: list[Span] = []
    for annotation in said:
        if annotation.safety == safety:
            located = (locate(quote, source, mode) for quote in annotation.quotes)
            spans += [span for span in located if span is not None]
    if not spans:
        return _Open("no verifiable evidence")
    return Labelled(safety=safety, evidence=united(spans, source))


def _majority(votes: Sequence[T], min_valid: int) -> T | _Open:
    """What more than half of the votes say."""
    if not votes:
        return _Open("no valid vote")
    if len(votes) < min_valid:
        return _Open("too few valid votes")
    ((first, count),) = Counter(votes).most_common(1)
    return first if 2 * count > len(votes) else _Open("no majority")


def _consistent(category: Named, prompt: Labelled) -> Named | _Open:
    if prompt.safety == "safe":
        return category if category.name is None else _Open("safe, with a category")
    return _Open("unsafe, without a category") if category.name is None else category
