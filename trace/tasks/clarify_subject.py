"""The answers to the requests of clarify, for task=probe and task=steer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from trace import config
from trace.benchmarks.clarify.items import KINDS
from trace.benchmarks.clarify.outcomes import Outcome
from trace.benchmarks.clarify.taxonomy import ANSWERS, ASKS_BACK
from trace.interp.labelled import Labelled
from trace.records import Completion, Json, Request, Verdict
from trace.report.plan import Work
from trace.tasks.clarifying import Clarifying
from trace.tasks.labelled import Classes, Question

UNDERSPECIFIED, SPECIFIED = KINDS
LEAST = 15
"""Answers that each class needs for `benchmark.label=auto` to take the response's label."""


class ClarifySubject:
    """Answers on two sides (`trace.tasks.labelled.Subject`).

    `benchmark.label=response`: of the answers to underspecified requests, those that ask back
    against those that do not. `request`: of all answers, those to underspecified requests against
    those to specified ones. Steering counts the answers that ask back either way.
    """

    def __init__(self, settings: config.Root) -> None:
        """Nobody is asked yet.

        Raises:
            DataError: requests, or what stands beside them, cannot be read.
        """
        assert isinstance(settings.benchmark, config.Clarify)
        self._label = settings.benchmark.label
        self._condition = settings.condition.name
        self._repeated = settings.epochs > 1
        self._clarifying = Clarifying(settings)
        self._switched: str | None = None

    @property
    def outcome(self) -> str:
        """What a positive verdict is called."""
        return ASKS_BACK

    @property
    def origin(self) -> Mapping[str, Json]:
        """Data, model identities and the hash of the judges' prompts."""
        return self._introduced[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """Of the data and the judges; and once there are classes, which label tells them."""
        said = () if self._switched is None else (self._switched,)
        return (*self._introduced[1], *said)

    @property
    def scope(self) -> None:
        """The model that answers is the one that is read."""
        return None

    def place(self, model: str) -> tuple[str, str, str]:
        """The folders of what is found."""
        return "clarify", model, self._condition

    @property
    def fresh(self) -> bool:
        """Whether any completion was made now."""
        return self._clarifying.fresh

    @property
    def used(self) -> Mapping[str, Json]:
        """What paid services counted, by model or judge."""
        return self._clarifying.used

    def work(self) -> tuple[Work, ...]:
        """What the respondent and a panel would be asked."""
        return self._clarifying.work()

    def labelled(self) -> tuple[list[Labelled], Classes]:
        """The answers with a side, in the order of the requests.

        Raises:
            TraceError: a model cannot be asked.
        """
        return self._classes

    def asked(self) -> list[Question]:
        """The underspecified requests where the response tells the classes, else all.

        Once a request, whatever `epochs`, to be answered greedily.
        """
        among = self._taken
        return [
            Question(
                id=self._name(request),
                group=outcome.item.pair,
                request=replace(request, sampling=replace(request.sampling, temperature=0.0)),
            )
            for request, outcome in self._answered
            if request.epoch == 0
            and (among is not _of_response or outcome.item.kind == UNDERSPECIFIED)
        ]

    def judge(
        self, questions: Sequence[Question], answers: Sequence[Completion]
    ) -> Sequence[Verdict]:
        """What the rule or the panel says of new answers, in order."""
        outcomes = self._clarifying.judge([one.request for one in questions], answers)
        return [outcome.record.verdict for outcome in outcomes]

    def positive(self, verdict: Verdict) -> bool | None:
        """Whether the answer asks back; None without a label."""
        return None if verdict.label is None else verdict.label == ASKS_BACK

    @cached_property
    def _introduced(self) -> tuple[dict[str, Json], tuple[str, ...]]:
        return self._clarifying.introduce()

    @cached_property
    def _answered(self) -> list[tuple[Request, Outcome]]:
        asked, given = self._clarifying.respond()
        return list(zip(asked, self._clarifying.judge(asked, given), strict=True))

    @cached_property
    def _taken(self) -> Callable[[Outcome], bool | str]:
        """Which of the two ways to tell the classes is taken; says so."""
        if self._label != "auto":
            return _of_response if self._label == "response" else _of_request
        sides = Counter(_of_response(outcome) for _, outcome in self._answered)
        asking, answering = sides[True], sides[False]
        counts = (
            f"of the answers to underspecified requests {asking} ask back and {answering} do not"
        )
        if min(asking, answering) >= LEAST:
            self._switched = f"The response tells the classes: {counts}."
            return _of_response
        self._switched = (
            f"The request tells the classes, not the response: {counts}, and {LEAST} of each are "
            "needed (benchmark.label=response takes them all the same). A probe of it reads what "
            "was asked, which the words of the request tell too."
        )
        return _of_request

    @cached_property
    def _classes(self) -> tuple[list[Labelled], Classes]:
        side = self._taken
        found = [(request, outcome, side(outcome)) for request, outcome in self._answered]
        kept = [
            Labelled(
                id=self._name(request),
                group=outcome.item.pair,
                request=request,
                response=outcome.response,
                positive=positive,
            )
            for request, outcome, positive in found
            if isinstance(positive, bool)
        ]
        names = (ASKS_BACK, ANSWERS) if side is _of_response else KINDS
        return kept, Classes(
            positive=names[:1],
            negative=names[1:],
            left_out=Counter(reason for _, _, reason in found if isinstance(reason, str)),
        )

    def _name(self, request: Request) -> str:
        return f"{request.sample}/{request.epoch}" if self._repeated else request.sample


def _of_response(outcome: Outcome) -> bool | str:
    """Whether it asks back, among what lacks something; or why it is on neither side."""
    if outcome.item.kind == SPECIFIED:
        return SPECIFIED
    verdict = outcome.record.verdict
    return verdict.status if outcome.asks_back is None else outcome.asks_back


def _of_request(outcome: Outcome) -> bool | str:
    """Whether the request lacks something; or why there is no answer to read it in."""
    if not outcome.record.judges:
        return outcome.record.verdict.status
    return outcome.item.kind == UNDERSPECIFIED
