"""What a provider's service offers to the engine: one attempt, and what its errors mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from trace.errors import ConfigError
from trace.models.hosted.fault import Fault
from trace.records import Finish, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What is judged: the response in the context of its prompt; without one, the prompt."""

    prompt: str = ""
    response: str | None = None

    @property
    def judged(self) -> str:
        """The text that the judgement is about."""
        return self.prompt if self.response is None else self.response


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a service said, as plain JSON: all of it that a verdict can depend on.

    With `finish="too_long"` it is that the text is longer than the service takes.
    """

    said: Json
    finish: Finish = "stop"


class Service(Protocol):
    """One provider, behind its official SDK."""

    @property
    def longest(self) -> int | None:
        """Characters (Unicode code points) that a judged text may have; None if not documented."""
        ...

    @property
    def identity(self) -> Mapping[str, Json]:
        """What of the service can change a judgement, as far as it is known here."""
        ...

    @property
    def version(self) -> str:
        """The SDK and its version."""
        ...

    def prepare(self) -> None:
        """Looks for the SDK and for credentials, without asking the service.

        Raises:
            ConfigError: one of them is not there.
        """
        ...

    def judge(self, texts: Texts) -> Judgement | Fault:
        """One attempt, in a thread of its own. The SDK's own retries are off.

        Raises:
            Exception: whatever the SDK raises; `fault` tells it apart.
        """
        ...

    def fault(self, error: Exception) -> Fault | Finish:
        """What an error of the SDK means: a fault, or that the text is too long."""
        ...


def missing(engine: str, package: str, error: ImportError) -> NoReturn:
    """Says which package an engine lacks.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        f"model/engine={engine} needs the package {package} ({error}). Type "
        "pip install -c constraints.txt '.[cloud]'."
    ) from error


def texts_of(messages: Sequence[Mapping[str, Json]]) -> Texts:
    """The texts of a guard's messages: of the user, of the assistant, or of both."""
    by_role = {str(message["role"]): str(message["content"]) for message in messages}
    return Texts(prompt=by_role.get("user", ""), response=by_role.get("assistant"))
