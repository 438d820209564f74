"""A prompt: what respondents are asked, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from trace.benchmarks.evidence.triple import LANGUAGES, Language
from trace.errors import DataError
from trace.records import Json, digest

Group: TypeAlias = tuple[str, Language]
"""What is sampled from: a category (or `safe`) and a language."""

SAFE = "safe"
"""The group of prompts that belong to no category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt as its source gives it.

    `category` and `attack` are names of the taxonomy, None for a prompt without risk or without an
    attack. They are the source's word, not a label: annotators vote on them apart. `provenance`
    says where in the source it stands.
    """

    text: str
    language: Language
    category: str | None
    attack: str | None
    source: str
    licence: str
    provenance: Mapping[str, Json]

    @property
    def id(self) -> str:
        """Derived from the text: the `prompt_id` of its triples."""
        return digest(self.text)[:16]

    @property
    def group(self) -> Group:
        """Its category and language, by which prompts are drawn."""
        return self.category or SAFE, self.language

    def to_json(self) -> dict[str, Json]:
        """One line of prompts.jsonl."""
        return {
            "id": self.id,
            "language": self.language,
            "category": self.category,
            "attack": self.attack,
            "source": self.source,
            "licence": self.licence,
            "provenance": dict(self.provenance),
            "text": self.text,
        }

    @classmethod
    def from_json(cls, line: Json, at: str) -> Prompt:
        """Reads a line back.

        Args:
            line: what stands in the file.
            at: file and line, for the message.

        Raises:
            DataError: a field is missing or wrong, or the id is not that of the text.
        """
        if not isinstance(line, dict):
            raise DataError(f"{at}: should be a JSON object.")
        for name, kinds in _KINDS.items():
            if name not in line:
                raise DataError(f"{at}: has no {name}. task=build stage=curate writes the file.")
            if not isinstance(line[name], kinds) or line[name] == "":
                wanted = " or ".join(_WORDS[kind] for kind in kinds)
                raise DataError(f"{at}: {name}: {line[name]!r:.40} should be {wanted}.")
        if line["language"] not in LANGUAGES:
            raise DataError(
                f"{at}: language: {line['language']!r:.40} should be {' or '.join(LANGUAGES)}."
            )
        prompt = cls(**{name: line[name] for name in _KINDS})
        if line.get("id", prompt.id) != prompt.id:
            raise DataError(
                f"{at}: id: {line['id']!r:.40} is not that of its text ({prompt.id}). The line was "
                "edited: remove its id, or restore it."
            )
        return prompt


_KINDS: Mapping[str, tuple[type, ...]] = {
    "text": (str,),
    "language": (str,),
    "category": (str, type(None)),
    "attack": (str, type(None)),
    "source": (str,),
    "licence": (str,),
    "provenance": (dict,),
}
_WORDS: Mapping[type, str] = {str: "a text", type(None): "null", dict: "an object"}
