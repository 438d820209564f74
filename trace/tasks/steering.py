"""A vector from half of the items, and the answers of the other half under every push of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trace import config
from trace.errors import ConfigError, DataError
from trace.interp.steering import direction as directions
from trace.interp.steering import scale
from trace.interp.steering.coherence import Coherence, coherence, repetition
from trace.interp.steering.direction import Direction
from trace.interp.steering.generate import steered
from trace.interp.steering.outcome import Dose, measure
from trace.interp.steering.split import halves
from trace.models.hf.engine import HfModel
from trace.models.open import open_model
from trace.records import Completion, Json, Push, Request, Verdict, digest
from trace.tasks import steering_vector
from trace.tasks.inside import Taken, remembered, taken
from trace.tasks.labelled import Question, Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What pushing the vector did. `result` is `metrics` and `breakdowns` of metrics.json."""

    direction: Direction
    result: Json
    lines: Sequence[Json]
    notes: Sequence[str]
    fresh: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arm:
    """A push as it is configured, and as the model gets it."""

    direction: Direction
    alpha: float
    push: Push
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """The half that the vector is made from, and the questions that it never saw."""

    settings: config.Root
    subject: Subject
    kept: Taken
    layer: int
    build: tuple[int, ...]
    questions: Sequence[Question]
    given: Direction | None

    @classmethod
    def begun(cls, settings: config.Root, subject: Subject) -> Steering:
        """Asks for the labelled answers, and splits the items.

        Raises:
            TraceError: there are too few items, no such layer, or the vector is another model's.
        """
        model = _model(settings)
        count, wanted = model.text.config.num_hidden_layers, settings.steering
        given = None if wanted.vector is None else steering_vector.read(settings, model)
        layer = given.layer if given is not None else wanted.layer
        layer = count // 2 if layer is None else layer
        if layer >= count:
            raise ConfigError(
                f"steering.layer: {settings.model.name} has no layer {layer}; it has {count}, "
                f"counted from 0 to {count - 1}."
            )
        kept = taken(settings, subject)
        if given is None:
            build, _ = halves(kept.group, kept.positive, settings.seed)
            seen = {kept.group[i] for i in build}
        else:
            seen = set(given.meta["split"])
            everything = range(len(kept.group))  # of other data, where the vector saw none of it
            build = tuple(i for i in everything if kept.group[i] in seen) or tuple(everything)
        questions = [one for one in subject.asked() if one.group not in seen]
        if not questions:
            raise DataError(
                "steering: the vector was made from all items, and none is left to try it on. "
                + (
                    "Take another seed, or a run with more items."
                    if given is None
                    else "Leave steering.vector out, or take a run with other items."
                )
            )
        return cls(
            settings=settings,
            subject=subject,
            kept=kept,
            layer=layer,
            build=build,
            questions=questions,
            given=given,
        )

    def found(self) -> Found:
        """Makes the vector, asks all questions under all pushes in one batch, and counts.

        Raises:
            TraceError: the classes cannot be told apart, or the model cannot be pushed.
        """
        own = self.given or steering_vector.made(
            self.settings, _model(self.settings), self.kept, self.build, self.layer
        )
        median = self._median()
        arms = self._arms(own, median)
        asked = [
            replace(one.request, push=arm.push) for one in self.questions for arm in arms
        ]  # all pushes of a question side by side, so that one batch holds them
        answers, fresh = steered(
            self.settings.model,
            asked,
            list({arm.direction.sha256: arm.direction for arm in arms}.values()),
            trainer=self.settings.trainer,
            output_dir=self.settings.output_dir,
        )
        repeated = [one for one in self.questions for _ in arms]
        read = self._coherence(asked, answers)  # before judges take the model's place in memory
        verdicts = self.subject.judge(repeated, answers)
        counted, lost = measure(
            [
                Dose(
                    direction=arm.direction.name,
                    alpha=arm.alpha,
                    ratio=arm.ratio,
                    sides=[self.subject.positive(v) for v in verdicts[at :: len(arms)]],
                    coherence=read[at :: len(arms)],
                )
                for at, arm in enumerate(arms)
            ],
            own.name,
        )
        lines = [
            self._line(one, arm, answers[i], verdicts[i], read[i], lost[at][place])
            for place, one in enumerate(self.questions)
            for at, arm in enumerate(arms)
            for i in [place * len(arms) + at]
        ]
        zero = next(row for row in counted["doses"] if not row["alpha"])
        vector = {
            "direction": own.name,
            "layer": self.layer,
            "norm": own.norm,
            "median_norm": median,
            "unit": self.settings.steering.unit,
            "tokens": self.settings.steering.tokens,
            "sha256": own.sha256,
            **{key: own.meta[key] for key in steering_vector.ORIGIN},
            "outcome": self.subject.outcome,
        }
        return Found(
            direction=own,
            result={
                "metrics": {"share_at_zero": zero["share"]},
                "breakdowns": {"vector": vector, **counted, "scope": self.subject.scope},
            },
            lines=lines,
            notes=(*self.subject.notes, *self.kept.notes),
            fresh=fresh or self.subject.fresh,
        )

    def _median(self) -> float:
        """The median length of the stream, over the answers that the vector was made from."""
        built = [self.kept.answers[i] for i in self.build]
        identity = _model(self.settings).identity
        what = {
            "median_norm": self.layer,
            "read": [one.request.key(identity) for one in built],
            "answers": digest([one.response.text for one in built]),
        }
        (median,) = remembered(
            self.settings,
            what,
            lambda: [scale.median_norm(self.settings.model, built, self.layer)],
        )
        assert median is not None
        return median

    def _arms(self, own: Direction, median: float) -> list[_Arm]:
        """Every strength of the vector, and of a random one all but 0."""
        wanted, engine = self.settings.steering, self.settings.model.engine
        assert isinstance(engine, config.HfEngine)
        random = directions.random(own, self.settings.seed)
        arms = []
        for direction in (own, random):
            for alpha in wanted.grid:
                if direction is random and alpha == 0:
                    continue
                times = scale.strength(alpha, wanted.unit, direction, median)
                scale.check_fits(times, direction, engine.dtype)
                push = Push(
                    vector=direction.sha256,
                    layer=self.layer,
                    alpha=times,
                    tokens=wanted.tokens,  # type: ignore[arg-type]  # checked by the configuration
                )
                how = scale.ratio(times, direction, median)
                arms.append(_Arm(direction=direction, alpha=alpha, push=push, ratio=how))
        return arms

    def _coherence(
        self, asked: Sequence[Request], answers: Sequence[Completion]
    ) -> list[Coherence]:
        """How the answers read; the perplexities are kept, as they take the weights."""
        model = self.settings.model
        identity = _model(self.settings).identity
        what = {"perplexity": [request.key(identity) for request in asked],
                "answers": digest([answer.text for answer in answers])}  # fmt: skip
        fresh: list[Coherence] = []

        def compute() -> list[float | None]:
            fresh.extend(coherence(model, asked, answers))
            return [one.perplexity for one in fresh]

        perplexities = remembered(self.settings, what, compute)
        return fresh or [
            Coherence(
                repetition=repetition(answer.text),
                words=len(answer.text.split()),
                perplexity=perplexity,
            )
            for answer, perplexity in zip(answers, perplexities, strict=True)
        ]

    def _line(
        self,
        one: Question,
        arm: _Arm,
        answer: Completion,
        verdict: Verdict,
        read: Coherence,
        lost: bool,
    ) -> Mapping[str, Json]:
        return {
            "id": one.id,
            "group": one.group,
            "direction": arm.direction.name,
            "alpha": arm.alpha,
            "verdict": verdict.to_json(),
            "positive": self.subject.positive(verdict),
            "incoherent": lost,
            "repetition": read.repetition,
            "words": read.words,
            "perplexity": read.perplexity,
            "response": answer.in_record(),
        }


def _model(settings: config.Root) -> HfModel:
    model = open_model(settings.model)
    assert isinstance(model, HfModel)
    return model
