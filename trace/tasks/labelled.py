"""What is looked for inside a model: answers on two sides of a question, and who tells the side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from trace.interp.labelled import Labelled
from trace.records import Completion, Json, Request, Verdict
from trace.report.plan import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """The labels on each side, and how many answers are on neither, by the reason."""

    positive: tuple[str, ...]
    negative: tuple[str, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request that may be answered anew, with the model pushed.

    `id` and `group` are those of its answer in `Subject.labelled`, if it has one there.
    """

    id: str
    group: str
    request: Request


class Subject(Protocol):
    """Judged answers of `model`, for task=probe and task=steer.

    `labelled` comes first; the rest may depend on what it found. The classes can be of something
    else than the outcome of steering: of requests that lack something, and of answers that ask
    back.
    """

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be said of the data and the classes; complete after `labelled`."""

    @property
    def origin(self) -> Mapping[str, Json]:
        """Data, model identities, prompt hashes: for the run's hash and manifest."""

    @property
    def scope(self) -> str | None:
        """Why results are only illustrative; None where the model that answered is read."""

    def place(self, model: str) -> tuple[str, str, str]:
        """The folders of what is found: benchmark, model that is read, condition."""

    @property
    def outcome(self) -> str:
        """What a positive verdict is called in a table, such as `asks_back`."""

    @property
    def fresh(self) -> bool:
        """Whether any completion was made now, rather than found in the log."""

    @property
    def used(self) -> Mapping[str, Json]:
        """What paid services counted, by model or judge; empty where there are none."""

    def work(self) -> tuple[Work, ...]:
        """What `labelled` would ask of whom, for a dry run; no model is opened."""

    def labelled(self) -> tuple[list[Labelled], Classes]:
        """The answers with a side, in a fixed order; what is missing in the log is asked first.

        Raises:
            TraceError: the data cannot be read, or a model cannot be asked.
        """

    def asked(self) -> list[Question]:
        """What steering may ask, in a fixed order."""

    def judge(
        self, questions: Sequence[Question], answers: Sequence[Completion]
    ) -> Sequence[Verdict]:
        """Of new answers, one a question, in order; a question may come several times."""

    def positive(self, verdict: Verdict) -> bool | None:
        """Whether a verdict of `judge` is on the positive side.

        None where it has no label, or one on neither side.
        """
