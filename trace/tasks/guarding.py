"""A guard before a sample: what its model is asked, and what has to be said of the pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from trace import config
from trace.errors import ConfigError, UnsupportedError
from trace.judging.guards.base import Fit, Guard, Question, Reading, Target
from trace.judging.guards.text import WORD_JOINER, neutralised
from trace.judging.targets import conversation
from trace.records import Completion, Json, Request, Sample, Sampling, Verdict, digest
from trace.tasks.verification import SENTINEL


@dataclass(frozen=True)
class Guarding:
    """A guard with the configuration of its model."""

    model: config.Model

    @cached_property
    def guard(self) -> Guard:
        """The family's adapter."""
        from trace.judging.guards.registry import guard_of

        return guard_of(self.model.guard or "")

    @property
    def prompt_hash(self) -> str:
        """Identifies the guard's prompts, of a response and of a prompt alone, on fixed texts."""
        asked = [self.guard.questions(judged) for judged in (SENTINEL, SENTINEL.prompt)]
        return digest([[_plain(q) for q in questions] for questions in asked])

    def check(self, settings: config.Root) -> None:
        """Finds out whether the guard can answer what a configuration asks.

        Raises:
            UnsupportedError: it cannot; the cell is left out.
            ConfigError: the configuration makes no sense for any guard.
        """
        name, protocol = self.model.name, settings.protocol
        if protocol.answers != "binary":
            raise UnsupportedError(
                f"{name} answers safe or unsafe in its own categories, not the benchmark's: "
                f"protocol={protocol.name} is left out"
            )
        if protocol.definitions and not self.guard.custom_policy:
            raise UnsupportedError(
                f"{name} has its own definitions and takes no others: protocol={protocol.name} is "
                "left out, protocol=binary is what it answers"
            )
        if protocol.definitions:
            raise UnsupportedError(
                f"{name} is asked by its own policy: protocol={protocol.name} is left out, "
                "protocol=binary is what it answers"
            )
        if protocol.variant != "plain":
            raise UnsupportedError(
                f"{name} has a prompt of its own, which has no variants: "
                f"protocol.variant={protocol.variant} is left out"
            )
        if settings.condition.examples or settings.condition.reason_first:
            raise ConfigError(
                f"condition={settings.condition.name}: {name} has a prompt of its own, which takes "
                "no examples and no reasoning. Use condition=plain."
            )

    def fit(self, samples: Sequence[Sample]) -> Fit:
        """Whether the guard was made for what the samples hold.

        Raises:
            UnsupportedError: it cannot judge it at all.
        """
        target: Target = conversation(samples[0])[0]
        fit = self.guard.targets.get(target)
        if fit is None:
            raise UnsupportedError(f"{self.model.name} cannot judge a {target}")
        return fit

    def requests(self, sample: Sample, epoch: int) -> list[Request]:
        """What its model is asked about a sample.

        Raises:
            ConfigError: the sample's text does not stand in the prompt, or nothing can be shown.
        """
        _, judged = conversation(sample)
        asked = [
            Request(
                messages=question.messages,
                literal=question.literal,
                template_args=dict(self.model.template_args or {}) | dict(question.template_args),
                prefix=question.prefix,
                labels=question.labels,
                sampling=Sampling(max_new_tokens=max(1, question.max_new_tokens)),
                epoch=epoch,
                sample=sample.id,
            )
            for question in self.guard.questions(judged)
        ]
        shown = judged.user if judged.assistant is None else judged.assistant
        if _squeezed(shown) not in _squeezed(
            "".join(text for request in asked for text in request.texts)
        ):
            raise ConfigError(
                f"model.guard={self.model.guard}: the text of sample {sample.id} does not stand in "
                "the prompt, so the verdict would be about something else."
            )
        return asked

    def verdict(
        self, completions: Sequence[Completion], sample: Sample, reading: Reading = "strict"
    ) -> Verdict:
        """What the answers to `requests` say."""
        return self.guard.read(completions, conversation(sample)[1], reading)


def _plain(question: Question) -> dict[str, Json]:
    return {
        "messages": [dict(message) for message in question.messages],
        "literal": question.literal,
        "args": dict(question.template_args),
        "prefix": question.prefix,
        "labels": list(question.labels),
        "tokens": question.max_new_tokens,
    }


def _squeezed(text: str) -> str:
    """As a guard is shown it, without blanks and the joiners that break up control tokens."""
    return "".join(neutralised(text, ()).split()).replace(WORD_JOINER, "")
