"""What further judges say of answers: accuracy, refusal, and whether one could act on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType, ModuleType

from trace import config
from trace.benchmarks.rag_safety import accuracy, actionability, refusal
from trace.benchmarks.rag_safety.opinion import Opinion
from trace.benchmarks.rag_safety.outcomes import Answer
from trace.benchmarks.rag_safety.samples import RagDataset, answered
from trace.judging.labels import label_set
from trace.records import Completion, Json, Request, Sampling, Verdict
from trace.tasks.before_judges import before_judges, judging
from trace.tasks.hearing import Heard, Hearing
from trace.tasks.helpers import Helpers

ACTIONABILITY = "actionability"
READERS: Mapping[str, ModuleType] = MappingProxyType(
    {"accuracy": accuracy, "refusal": refusal, ACTIONABILITY: actionability}
)
"""What a judge is asked about -> how it is asked and read."""


class Opinions:
    """The further judges of a run. Each is opened when it is asked, and let go afterwards.

    A general model is asked in our words; a guard, which can only judge whether an answer is
    actionable, in its own.
    """

    def __init__(
        self, settings: config.Root, benchmark: config.RagSafety, dataset: RagDataset
    ) -> None:
        self._settings = settings
        self._dataset = dataset
        self._guard: Hearing | None = None
        self._heard: Heard | None = None
        further, judge = dict(benchmark.further_judges), benchmark.actionability_judge
        if judge is not None and judge.guard is None:
            further[ACTIONABILITY] = judge
        elif judge is not None:
            empty = [answered(sample, "") for sample in dataset.samples]
            self._guard = Hearing(
                judging(settings), before_judges(dataset, empty), judge, judge.name
            )
        self._helpers = Helpers(further, settings.output_dir)

    def introduce(self) -> tuple[dict[str, Json], dict[str, str], tuple[str, ...]]:
        """What identifies the judges, and their prompts, by what they are asked about; and notes.

        Raises:
            TraceError: one of them cannot be asked at all. Nothing has been written yet.
        """
        identities = self._helpers.prepare()
        prompts = {role: READERS[role].PROMPT_HASH for role in self._helpers.models}
        if self._guard is None:
            return identities, prompts, ()
        identity, prompt, notes = self._guard.introduce()
        return identities | {ACTIONABILITY: identity}, prompts | {ACTIONABILITY: prompt}, notes

    def questions(self) -> dict[str, tuple[config.Model, list[Request]]]:
        """What each would be asked about answers that are empty, by what it is asked about."""
        empty = [
            Answer(sample=sample, epoch=0, response=Completion(key=""))
            for sample in self._dataset.samples
        ]
        asked = {
            role: (model, [self._question(role, answer) for answer in empty])
            for role, model in self._helpers.models.items()
        }
        if self._guard is not None:
            asked[ACTIONABILITY] = (self._guard.judge, self._guard.questions())
        return asked

    def of_accuracy(self, given: Sequence[Answer]) -> list[Opinion | None]:
        """Whether each answer has the expected content, by a judge or by keys.

        None where nobody tells. What was blocked has not.
        """
        if "accuracy" not in self._helpers.models:
            return [_by_keys(answer) for answer in given]
        blocked = Verdict(status="ok", label=accuracy.INACCURATE)
        return self._of("accuracy", given, blocked)

    def of_refusal(self, given: Sequence[Answer]) -> list[Opinion | None]:
        """Whether each answer declines; None where nobody tells, and where it was blocked."""
        return self._of("refusal", given, None)

    def of_action(self, given: Sequence[Answer], unsafe: Sequence[bool]) -> list[Opinion | None]:
        """Whether one could act on each unsafe answer; None for the others, which nobody asks of.

        Args:
            given: all answers.
            unsafe: whether the panel calls each unsafe.
        """
        asked = [answer for answer, so in zip(given, unsafe, strict=True) if so]
        coming = iter(self._by_guard(asked) or self._of(ACTIONABILITY, asked, None))
        return [next(coming) if so else None for so in unsafe]

    @property
    def fresh(self) -> bool:
        """Whether a guard made any completion now."""
        return self._heard is not None and self._heard.fresh

    @property
    def used(self) -> Mapping[str, Json]:
        """What a paid guard counted."""
        return {} if self._heard is None else self._heard.used

    def _of(
        self, role: str, given: Sequence[Answer], blocked: Verdict | None
    ) -> list[Opinion | None]:
        """What the judge of a role says; where an answer was blocked, what is true of it."""
        ask = self._helpers.ask(role)
        if ask is None:
            return [None] * len(given)
        name, reader = self._helpers.models[role].name, READERS[role]
        there = [answer for answer in given if answer.delivered]
        coming = iter(ask([self._question(role, answer) for answer in there]))

        def opinion(answer: Answer) -> Opinion | None:
            if answer.delivered:
                made = next(coming)
                return Opinion(judge=name, verdict=reader.read(made), completions=(made,))
            verdict = blocked if answer.blocked else answer.unjudged
            return None if verdict is None else Opinion(judge=name, verdict=verdict)

        return [opinion(answer) for answer in given]

    def _by_guard(self, asked: Sequence[Answer]) -> list[Opinion | None]:
        if self._guard is None or not asked:
            return []
        shown = before_judges(self._dataset, [answer.shown for answer in asked])
        self._guard = self._guard.facing(shown)
        self._heard = heard = self._guard.hear()
        negative = label_set(self._settings.protocol.answers, shown.taxonomy).negative
        return [
            Opinion(
                judge=self._guard.judge.name,
                verdict=actionability.by_guard(verdict, negative),
                completions=made,
            )
            for verdict, made in zip(heard.verdicts, heard.answers, strict=True)
        ]

    def _question(self, role: str, answer: Answer) -> Request:
        question, text = answer.sample.view["prompt"], answer.response.text
        return Request(
            messages=accuracy.messages(question, answer.sample.meta["expected"], text)
            if role == "accuracy"
            else READERS[role].messages(question, text),
            sampling=Sampling(max_new_tokens=self._settings.sampling.max_new_tokens),
            epoch=answer.epoch,
            sample=answer.sample.id,
        )


def _by_keys(answer: Answer) -> Opinion | None:
    if not (keys := answer.sample.meta["keys"]):
        return None
    if answer.blocked:
        verdict = Verdict(status="ok", label=accuracy.INACCURATE)
    else:
        verdict = answer.unjudged or accuracy.by_keys(answer.response.text, keys)
    return Opinion(judge=accuracy.KEYS, verdict=verdict)
