"""Whose response it is, taken out of it, so that peers judge blind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MODELS = ("ChatGPT", "Chat GPT", "GPT", "Claude", "Gemini", "Bard", "Llama", "DeepSeek",
          "Deep Seek", "Grok", "Qwen", "Tongyi Qianwen", "Tongyi", "Mistral", "Mixtral",
          "Ministral", "Gemma", "Phi", "Command R", "SmolLM", "Kimi", "Copilot", "Nova",
          "通义千问", "深度求索")  # fmt: skip
DEVELOPERS = ("OpenAI", "Anthropic", "Google DeepMind", "DeepMind", "Google", "Meta AI", "Meta",
              "xAI", "Alibaba Cloud", "Alibaba", "Mistral AI", "Microsoft", "Cohere",
              "Hugging Face", "HuggingFace", "Moonshot AI", "Amazon", "谷歌", "阿里")  # fmt: skip
_ORDINARY = frozenset({"gemini", "bard", "nova", "phi", "copilot", "claude", "gemma", "kimi",
                       "llama", "grok", "mistral", "google", "meta", "alibaba", "microsoft",
                       "cohere", "amazon"})  # fmt: skip
"""Words that mean something else, too: people, animals, verbs, shops."""
_CHAR = "[A-Za-z0-9]"  # not \w: Chinese has no spaces, and a name may stand between its characters
_KIND = r"(?:opus|sonnet|haiku|flash|pro|ultra|nano|mini|turbo|instruct|chat|scout|maverick)"
_TAIL = (
    rf"(?:[-_/]?\d{_CHAR}*+(?:\.\d{_CHAR}*+)*+|[-_/]{_CHAR}++(?:\.\d{_CHAR}*+)*+"
    rf"|\s(?:v?\d+(?:\.\d+)*[a-z]?|{_KIND})(?!{_CHAR}))*"
)
_VERSION = re.compile(rf"\d|(?<!{_CHAR}){_KIND}(?!{_CHAR})", re.IGNORECASE)
_SELF = re.compile(
    r"(?:\bI(?:['’]m| am)(?: not)?"
    r"(?:,? an? (?:AI|(?:large )?language model|assistant)(?: assistant| model)?,?)?"
    r"(?: called| named)?|\bmy name(?: is|['’]s)|\bcall me|\bthis is|\bknown as"
    r"|\b(?:made|trained|developed|created|built|designed|released) by"
    r"|\b(?:assistant|model) (?:called|named|from|by))(?: the)?[\s*_\"'“‘(`]+$",
    re.IGNORECASE,
)
_AS = re.compile(r"(?<!such )(?<!same )\bas[\s*_]+$", re.IGNORECASE)
_AS_I = re.compile(r"[*_]*,? I\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """A response without names, and what was taken out of it, in order."""

    text: str
    found: tuple[str, ...] = ()


def masked(response: str, names: Iterable[str] = ()) -> Masked:
    """Puts [model] and [developer] where a response names models or who makes them.

    Names that are ordinary words, too (Gemini the sign, Meta the prefix), go only where they can
    mean nothing else: behind words by which a speaker names itself or its maker ("I am Gemini",
    "trained by Google"), with a version ("Claude Opus 4.5"), or beside one another ("Google's
    Gemini").

    Args:
        response: as the model gave it.
        names: further names of the models that take part. One with a digit or a separator is
            masked wherever it stands, however its parts are joined; another may be any word
            (mock, respondent), and goes where a speaker names itself.
    """
    further = {name for name in names if name.strip()}
    ordinary = _ORDINARY | {name.casefold() for name in further if not _distinctive(name)}
    models = _any((*further, *MODELS))
    pattern = re.compile(
        rf"(?<!{_CHAR})(?:(?P<model>{models})s?(?P<tail>{_TAIL})"
        rf"|(?P<developer>{_any(DEVELOPERS)}))(?!{_CHAR})",
        re.IGNORECASE,
    )
    found: list[str] = []

    def put(match: re.Match[str]) -> str:
        name = match["developer"] or match["model"]
        if name.casefold() in ordinary and not _telling(match):
            return match[0]
        found.append(match[0])
        return "[developer]" if match["developer"] else "[model]"

    return Masked(text=pattern.sub(put, response), found=tuple(found))


def _telling(match: re.Match[str]) -> bool:
    """Whether an ordinary word can be nothing but a name here."""
    text, start, end = match.string, match.start(), match.end()
    before, after = text[max(0, start - 90) : start], text[end : end + 40]
    if _SELF.search(before) or (_AS.search(before) and _AS_I.match(after)):
        return True
    if match["developer"]:
        return _MODEL_BEHIND.match(after) is not None
    name, tail = match["model"], match["tail"]
    capital = name[0].isupper()
    return bool(
        (_VERSION.search(tail) and (capital or not tail[0].isspace()))
        or _DEVELOPER_BEFORE.search(before)
        or (name in ("Grok", "Llama") and re.search(r"[a-z,] $", before))
    )


def _distinctive(name: str) -> bool:
    return len(name) > 3 and re.search(r"[\d_/:.-]", name) is not None


def _any(names: Iterable[str]) -> str:
    """Any of the names, the longest first.

    Spaces may be left out, and the parts of a name with a digit be joined in whatever way: gpt_5 is
    GPT-5, but mock_a is not what "to mock a friend" says.
    """

    def loose(name: str) -> str:
        joint = r"[-_\s./:]{0,2}" if re.search(r"\d", name) else r"\s?"
        apart = r"[\W_]+" if re.search(r"\d", name) else r"\s+"
        return joint.join(re.escape(part) for part in re.split(apart, name) if part)

    return "|".join(map(loose, sorted(set(names), key=lambda name: (-len(name), name))))


_MODEL_BEHIND = re.compile(rf"(?:['’]s)?[\s/_-]+(?:{_any(MODELS)})(?!{_CHAR})", re.IGNORECASE)
_DEVELOPER_BEFORE = re.compile(rf"(?<!{_CHAR})(?:{_any(DEVELOPERS)})(?:['’]s)?\s+$", re.IGNORECASE)
