"""What a guard is: how its model is asked, and how the answer is read. Both are pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from trace.records import Completion, Json, Verdict

Target: TypeAlias = Literal["prompt", "reasoning", "response", "trajectory"]
Fit: TypeAlias = Literal["native", "adapted"]
Reading: TypeAlias = Literal["strict", "loose"]
"""How a third label is read: strict takes it for unsafe, loose for safe."""

EVERY_TARGET: Mapping[Target, Fit] = {
    "prompt": "native",
    "response": "native",
    "reasoning": "adapted",
    "trajectory": "adapted",
}
"""Of a guard made for prompts and answers: the rest is put to it as the assistant's turn."""

SAFE, UNSAFE = "Safe", "Unsafe"
"""The labels of the protocol binary, which every guard answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What is judged: the assistant's text in its context; without one, the user's text."""

    user: str
    assistant: str | None = None

    @property
    def prompt(self) -> Conversation:
        """The user's text alone."""
        return Conversation(user=self.user)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request to the guard's model.

    Either `messages`, for the model's own chat template, or `literal`: the whole prompt as text,
    without the beginning-of-sequence token. With `labels` nothing is written: the likelihood of
    each after `prefix` (the forced beginning of the answer) is read.
    """

    messages: tuple[Mapping[str, Json], ...] = ()
    literal: str | None = None
    template_args: Mapping[str, Json] = field(default_factory=dict)
    prefix: str = ""
    labels: tuple[str, ...] = ()
    max_new_tokens: int = 128


class Guard(ABC):
    """One family.

    `targets` says for which targets it was made (native) and which are put to it in another form
    (adapted); others are unsupported. `categories` maps its own codes to their names. `vendor` and
    `inferred` say which parts come from the vendor's own text, and which we concluded.
    """

    targets: ClassVar[Mapping[Target, Fit]]
    categories: ClassVar[Mapping[str, str]]
    custom_policy: ClassVar[bool] = False
    explains: ClassVar[bool] = False
    third_label: ClassVar[str | None] = None
    vendor: ClassVar[str]
    inferred: ClassVar[str]

    @abstractmethod
    def questions(self, judged: Conversation) -> tuple[Question, ...]:
        """What the model is asked about a conversation, usually one request."""

    @abstractmethod
    def read(
        self, answers: Sequence[Completion], judged: Conversation, reading: Reading
    ) -> Verdict:
        """The verdict of the answers to `questions`, in their order; never a guess.

        Args:
            answers: completions with `text`, or with `scores` and `top` where labels were read.
            judged: what was asked about: a response's verdict is not its prompt's.
            reading: of a third label.
        """
