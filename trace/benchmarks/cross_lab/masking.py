"""Whose response it is, taken out of it, so that peers judge blind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MODELS = ("ChatGPT", "GPT", "Claude", "Gemini", "Bard", "Llama", "LLaMA", "DeepSeek", "Grok",
          "Qwen", "Tongyi", "Mistral", "Mixtral", "Ministral", "Gemma", "Phi", "Command R",
          "SmolLM", "SmolLM2", "Kimi", "Copilot", "Nova")  # fmt: skip
DEVELOPERS = ("OpenAI", "Anthropic", "Google DeepMind", "DeepMind", "Google", "Meta AI", "Meta",
              "xAI", "Alibaba Cloud", "Alibaba", "Mistral AI", "Microsoft", "Cohere",
              "Hugging Face", "Moonshot AI", "Amazon")  # fmt: skip
_ORDINARY = frozenset({"gemini", "bard", "nova", "phi", "meta", "google", "amazon", "microsoft",
                       "copilot", "alibaba", "claude"})  # fmt: skip
"""Words that mean something else, too: they are masked only where a speaker names itself."""
_VERSION = (
    r"(?:[-\s]?(?:\d+(?:\.\d+)*[a-z]?|v\d+|opus|sonnet|haiku|flash|pro|mini|turbo|instruct|chat))*"
)
_SELF = (
    r"(?:\bI(?:'m| am|’m)"
    r"(?:,? an? (?:AI|(?:large )?language model|assistant)(?: assistant| model)?,?)?"
    r"(?: called| named)?|\bas|\bmy name is"
    r"|\b(?:made|trained|developed|created|built|designed) by"
    r"|\b(?:assistant|model) (?:called|named|from|by))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """A response without names, and what was taken out of it, in order."""

    text: str
    found: tuple[str, ...] = ()


def masked(response: str, names: Iterable[str] = ()) -> Masked:
    """Puts [model] and [developer] where a response names models or who makes them.

    Names that are ordinary words, too (Gemini the sign, Meta the prefix), go only behind words by
    which a speaker names itself or its maker: "I am Gemini", "trained by Google".

    Args:
        response: as the model gave it.
        names: further names of the models that take part, masked wherever they stand.
    """
    extra = [name for name in names if len(name) > 3 and name.casefold() not in _ORDINARY]
    found: list[tuple[int, str]] = []
    text = response
    for place, kinds in (("[model]", (*extra, *MODELS)), ("[developer]", DEVELOPERS)):
        plain = [name for name in kinds if name.casefold() not in _ORDINARY]
        version = _VERSION if place == "[model]" else ""
        text = _replaced(text, rf"\b(?:{_any(plain)}){version}(?![\w-])", place, found)
        shared = [name for name in kinds if name.casefold() in _ORDINARY]
        framed = rf"(?P<frame>{_SELF}\s+)(?:{_any(shared)}){version}(?![\w-])"
        text = _replaced(text, framed, place, found)
    return Masked(text=text, found=tuple(name for _, name in found))


def _replaced(text: str, pattern: str, place: str, found: list[tuple[int, str]]) -> str:
    def put(match: re.Match[str]) -> str:
        frame = match.groupdict().get("frame") or ""
        found.append((match.start(), match.group()[len(frame) :]))
        return frame + place

    return re.sub(pattern, put, text, flags=re.IGNORECASE)


def _any(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
