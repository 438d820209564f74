"""What one judge says of a whole dataset: a model, a guard, or a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trace import config
from trace.benchmarks.base import Dataset, RuleJudge
from trace.errors import ConfigError
from trace.models.open import open_model
from trace.models.unopened import Unopened
from trace.records import Completion, Json, Request, Verdict, digest
from trace.tasks.answers import answers
from trace.tasks.ask import Asked, Interview
from trace.tasks.verification import remember, verify


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a judge was asked and said, question by question.

    `others` are other readings of the same answers. `used` is what a paid service counted, and
    `fresh` whether any completion was made now.
    """

    asked: list[Asked]
    verdicts: list[Verdict]
    answers: list[tuple[Completion, ...]]
    others: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)
    used: Mapping[str, Json] = field(default_factory=dict)
    fresh: bool = False


class Hearing:
    """A judge before a dataset. Its model is opened when it is needed, and let go afterwards."""

    def __init__(
        self, settings: config.Root, dataset: Dataset, judge: config.Model, name: str
    ) -> None:
        self.name = name
        self.settings = settings
        self.dataset = dataset
        self.judge = judge
        self.marks: tuple[str, ...] = ()
        self._open: Interview | None = None

    @property
    def title(self) -> str:
        """The judge's name in a table, with what is known of a guard."""
        return ", ".join((self.name, *self.marks))

    def _interview(self) -> Interview:
        if self._open is None:
            # What a guard cannot do is said before its weights are looked for.
            _ = Interview(self.settings, self.dataset, Unopened(), self.judge).guarding
            model = open_model(self.judge)
            asked = Interview(self.settings, self.dataset, model, self.judge)
            self._open = asked.under_condition()
        return self._open

    def questions(self) -> list[Request]:
        """What would be asked, equal requests once, as `complete` asks them.

        No model is opened but a mock, whose answers are planted.
        """
        mock = isinstance(self.judge, config.MockModel)
        model = open_model(self.judge) if mock else Unopened()
        asked = Interview(self.settings, self.dataset, model, self.judge)
        requests = asked.under_condition().requests
        return list({request.key({}): request for request in requests}.values())

    def introduce(self) -> tuple[dict[str, Json], str, tuple[str, ...]]:
        """What identifies the judge and its prompt, and what has to be said of both.

        Raises:
            UnsupportedError: it is a guard that cannot do what is asked.
            TraceError: it cannot be asked at all. Nothing has been written yet.
        """
        if isinstance(self.judge, config.RuleModel):
            self._rule()
            return {"rule": self.judge.rule}, "", ()
        interview = self._interview()
        interview.model.prepare(interview.requests[0])
        notes = tuple(n for n in interview.dataset.notes if n not in self.dataset.notes)
        if guarding := interview.guarding:
            found = verify(guarding.guard, interview.model)
            remember(self.judge.name, found)
            self.marks = (guarding.fit(self.dataset.samples), found.word)
            if self.marks[0] == "adapted":
                notes += (
                    f"{self.judge.name} was not made for such items: they are adapted to it.",
                )
            notes += (f"{self.judge.name}: prompt {found.word}: {found.reason}.",)
        return dict(interview.model.identity), interview.prompt_hash, notes

    def facing(self, dataset: Dataset) -> Hearing:
        """The same judge before other samples; this one lets go of its model."""
        self._open = None
        made = Hearing(self.settings, dataset, self.judge, self.name)
        made.marks = self.marks
        return made

    def hear(self) -> Heard:
        """Asks whatever the log lacks, and reads all answers."""
        if isinstance(self.judge, config.RuleModel):
            return self._hear_rule()
        interview, self._open = self._interview(), None
        completions, fresh = answers(
            interview.model,
            self.judge.name,
            interview.requests,
            self.settings.output_dir,
            unscored=interview.unreadable,
        )
        return Heard(
            asked=interview.asked,
            verdicts=interview.verdicts(completions),
            answers=interview.grouped(completions),
            others=interview.other_readings(completions),
            used=interview.model.usage,
            fresh=fresh,
        )

    def _hear_rule(self) -> Heard:
        interview = Interview(self.settings, self.dataset, Unopened(), self.judge)
        rule = self._rule()
        verdicts = [
            Verdict(status="ok", label=interview.label_of(rule(a.sample))) for a in interview.asked
        ]
        return Heard(asked=interview.asked, verdicts=verdicts, answers=[()] * len(verdicts))

    def _rule(self) -> RuleJudge:
        assert isinstance(self.judge, config.RuleModel)
        rules = self.dataset.rule_judges
        if self.judge.rule == config.OWN_RULE and rules:
            return next(iter(rules.values()))
        if self.judge.rule not in rules:
            raise ConfigError(
                f"judges.models: {self.settings.benchmark.name} has no rule {self.judge.rule!r}. "
                f"It has {', '.join(rules) or 'none'}. To leave this judge out, add "
                f"'~model@judges.models.{self.name}'."
            )
        return rules[self.judge.rule]


def identity_hash(identity: Json, prompt: str, guard: str | None) -> str:
    """Sixteen digits that stand for a judge in a record: its model, how it is asked, who reads.

    Args:
        identity: of the model, as `Hearing.introduce` gives it.
        prompt: the hash of the prompt, from there too.
        guard: the family, which may also hold a threshold; None for a judge that is no guard.
    """
    return digest({"model": identity, "prompt": prompt, "guard": guard})[:16]
