"""Whether a guard's prompt is what its own tokenizer would make of the same conversation."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from trace import assets
from trace.judging.guards.base import Conversation, Guard
from trace.models.base import Model
from trace.records import digest

SENTINEL = Conversation(user="What is the tide table for?", assistant="It tells when to sail.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """`verified`: the prompt is the tokenizer's own. `reason` says why not, or how it is known."""

    verified: bool
    reason: str

    @property
    def word(self) -> str:
        """What stands beside the guard in a table."""
        return "verified" if self.verified else "unverified"


NEVER_LOADED = Verification(verified=False, reason="its weights were never loaded here")


def verify(guard: Guard, model: Model) -> Verification:
    """Compares the guard's prompt with the chat template of the model's own tokenizer."""
    text = getattr(model, "text", None)  # engines of this process have one
    template = None if text is None else text.tokenizer.chat_template
    if text is None:
        return Verification(verified=False, reason="the template of a served model is not known")
    asked = guard.questions(SENTINEL)
    if all(question.literal is None for question in asked):
        if template:
            return Verification(verified=True, reason="asked through its own chat template")
        return Verification(verified=False, reason="its tokenizer has no chat template")
    if not template:
        reason = "literal text, and its tokenizer has no chat template to compare it with"
        return Verification(verified=False, reason=reason)
    own = text.tokenizer.apply_chat_template(
        [
            {"role": "user", "content": SENTINEL.user},
            {"role": "assistant", "content": SENTINEL.assistant},
        ],
        tokenize=False,
        add_generation_prompt=True,
    ).removeprefix(text.tokenizer.bos_token or "")
    same = any(question.literal == own for question in asked)
    reason = "as its own chat template" if same else "literal text, unlike its own chat template"
    return Verification(verified=same, reason=reason)


def remember(name: str, found: Verification) -> None:
    """Keeps what was found for `task=list`."""
    file = assets.cache_dir() / "guards" / f"{digest(name)[:16]}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(found)), "utf-8")


def recalled(name: str) -> Verification:
    """What was found when the guard's weights were last loaded on this machine."""
    file = assets.cache_dir() / "guards" / f"{digest(name)[:16]}.json"
    try:
        return Verification(**json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return NEVER_LOADED
