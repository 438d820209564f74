"""Whether a guard's prompt is what its own tokenizer would make of the same conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trace import assets
from trace.judging.guards.base import Conversation, Guard, Question
from trace.models.base import Model
from trace.records import Request, digest

SENTINEL = Conversation(user="What is the tide table for?", assistant="It tells when to sail.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """`verified`: the prompt is the tokenizer's own. `reason` says why not, or how it is known.

    `compared`: there was a tokenizer to compare it with.
    """

    verified: bool
    reason: str
    compared: bool = True

    @property
    def word(self) -> str:
        """What stands beside the guard in a table."""
        return "verified" if self.verified else "unverified"


NEVER_LOADED = Verification(
    verified=False, reason="its weights were never loaded here", compared=False
)
SERVED = Verification(
    verified=False, reason="the template of a served model is not known", compared=False
)


def verify(guard: Guard, model: Model) -> Verification:
    """Compares the guard's prompt with the chat template of the model's own tokenizer.

    A template can vouch only for what it writes itself: not for an instruction that stands in a
    message, and it has to write the policy, which that of another model does not.
    """
    text = getattr(model, "text", None)  # engines of this process have one
    if text is None:
        return SERVED
    template = text.tokenizer.chat_template
    asked = guard.questions(SENTINEL)
    if all(question.literal is None for question in asked):
        if not template:
            return Verification(verified=False, reason="its tokenizer has no chat template")
        return _templated(guard, asked, text.tokenizer)
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


def _templated(guard: Guard, asked: Sequence[Question], tokenizer: Any) -> Verification:
    from trace.models.hf.prompts import render

    requests = [Request(messages=q.messages, template_args=q.template_args) for q in asked]
    texts = {text for request in requests for text in request.texts}
    if not texts <= {SENTINEL.user, SENTINEL.assistant}:
        reason = "its instruction is text of ours in a message, unknown to its chat template"
        return Verification(verified=False, reason=reason)
    shown = [render(tokenizer, request) for request in requests]
    lost = any(text not in prompt for prompt in shown for text in texts)
    if lost or (guard.categories and not any(_names(guard, prompt) for prompt in shown)):
        reason = "its chat template leaves out " + ("the texts" if lost else "its categories")
        return Verification(verified=False, reason=reason)
    return Verification(verified=True, reason="asked through its own chat template")


def _names(guard: Guard, prompt: str) -> bool:
    """Whether some category of the guard is named, perhaps as the beginning of a word."""
    names = map(re.escape, guard.categories.values())
    return re.search(rf"\b(?:{'|'.join(names)})", prompt, re.IGNORECASE) is not None


def remember(name: str, found: Verification) -> None:
    """Keeps what was found for `task=list`, if there was anything to compare."""
    if not found.compared:
        return
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
