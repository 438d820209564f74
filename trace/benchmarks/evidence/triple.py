"""A prompt, a reasoning trace and a response, each with its label and verbatim evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from trace.benchmarks.fields import Fields
from trace.errors import DataError
from trace.records import Json, Span, digest

Component: TypeAlias = Literal["prompt", "reasoning", "response"]
Safety: TypeAlias = Literal["safe", "unsafe"]
Language: TypeAlias = Literal["en", "zh"]

COMPONENTS: tuple[Component, ...] = get_args(Component)
LANGUAGES: tuple[Language, ...] = get_args(Language)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """The label of a component, and the spans that make it unsafe; a safe one has none."""

    safety: Safety
    evidence: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Respondent:
    """Who reasoned and answered. `family` is Qwen, Gemma and the like."""

    name: str
    family: str
    abliterated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """One item of the benchmark.

    `category` and `attack` are names of the taxonomy (or new ones that annotators gave), None for a
    prompt without risk or without an attack. `votes` are what the annotators said, `provenance`
    where the prompt comes from, its licence included.
    """

    prompt: str
    reasoning: str
    response: str
    language: Language
    category: str | None
    attack: str | None
    labels: Mapping[Component, Labelled]
    respondent: Respondent
    votes: Mapping[str, Json] = field(default_factory=dict)
    provenance: Mapping[str, Json] = field(default_factory=dict)

    @property
    def prompt_id(self) -> str:
        """The same for all triples of one prompt."""
        return digest(self.prompt)[:16]

    @property
    def id(self) -> str:
        """Derived from the content."""
        return digest([self.prompt, self.reasoning, self.response, self.respondent.name])[:16]

    def text(self, component: Component) -> str:
        """The text of a component."""
        text: str = getattr(self, component)
        return text

    def to_json(self) -> dict[str, Json]:
        """One line of dataset.jsonl."""
        return {
            "id": self.id,
            "prompt_id": self.prompt_id,
            "language": self.language,
            "category": self.category,
            "attack": self.attack,
            "prompt": self.prompt,
            "reasoning": self.reasoning,
            "response": self.response,
            "labels": {
                component: {
                    "safety": label.safety,
                    "evidence": [
                        {"start": s.start, "end": s.end, "text": s.text} for s in label.evidence
                    ],
                }
                for component, label in self.labels.items()
            },
            "respondent": {
                "name": self.respondent.name,
                "family": self.respondent.family,
                "abliterated": self.respondent.abliterated,
            },
            "votes": dict(self.votes),
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_json(cls, line: Json, at: str) -> Triple:
        """Reads a line back.

        Args:
            line: what stands in the file.
            at: file and line, for the message.

        Raises:
            DataError: a component or a label is missing or wrong, or a span is not what stands at
                its place.
        """
        read = Fields(line, at)
        respondent = Fields(read.take("respondent", dict), f"{at}: respondent")
        triple = cls(
            prompt=read.text("prompt"),
            reasoning=read.text("reasoning"),
            response=read.text("response"),
            language=read.choice("language", LANGUAGES),
            category=read.optional("category"),
            attack=read.optional("attack"),
            labels={c: _labelled(read, c) for c in COMPONENTS},
            respondent=Respondent(
                name=respondent.text("name"),
                family=respondent.text("family"),
                abliterated=respondent.take("abliterated", bool),
            ),
            votes=read.mapping("votes"),
            provenance=read.mapping("provenance"),
        )
        if "id" in line and line["id"] != triple.id:
            raise DataError(
                f"{at}: id: {line['id']} is not that of its texts and respondent ({triple.id}). "
                "The line was edited: remove its id, or restore it."
            )
        return triple


def _labelled(read: Fields, component: Component) -> Labelled:
    at = f"{read.at}: labels: {component}"
    labels = Fields(read.take("labels", dict), f"{read.at}: labels")
    label = Fields(labels.take(component, dict), at)
    safety: Safety = label.choice("safety", get_args(Safety))
    spans = tuple(
        _span(Fields(span, f"{at}: evidence"), read.line[component])
        for span in label.take("evidence", list)
    )
    if safety == "safe" and spans:
        raise DataError(f"{at}: is safe, and has evidence. Remove the one, or change the other.")
    return Labelled(safety=safety, evidence=spans)


def _span(read: Fields, source: str) -> Span:
    start, end, text = read.take("start", int), read.take("end", int), read.text("text")
    if not 0 <= start < end <= len(source) or source[start:end] != text:
        found = source.find(text)
        instead = f"It stands at {found}." if found >= 0 else "It stands nowhere in it."
        raise DataError(
            f"{read.at}: {text[:40]!r} is not what stands at {start} to {end}. {instead} Offsets "
            "count Unicode code points, as Python does, not UTF-16 units or bytes."
        )
    return Span(start=start, end=end, text=text)
