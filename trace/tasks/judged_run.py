"""Any judged run as labelled answers: `probe.run`, `probe.positive`, `probe.negative`."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from trace import config
from trace.errors import ConfigError, DataError
from trace.interp.labelled import Labelled
from trace.models.open import open_model
from trace.records import Completion, Json, Request, Verdict
from trace.report.grid import many
from trace.report.plan import Work
from trace.report.scope import scope_of
from trace.tasks.judged_studies import Study, study_of
from trace.tasks.labelled import Classes, Question
from trace.tasks.recorded import Recorded, read_recorded


class JudgedRun:
    """The answers of a run whose label is on one of two sides (`tasks.labelled.Subject`).

    The run's model was asked then, and nothing is asked for `labelled`: its requests are put
    together again by the study's own code, and found by the keys of their answers.
    """

    def __init__(self, settings: config.Root, recorded: Recorded, study: Study) -> None:
        self._settings = settings
        self._recorded = recorded
        self._study = study
        self._positive, self._negative = self._sides()

    @classmethod
    def begun(cls, settings: config.Root) -> JudgedRun:
        """Reads the run; no weights are loaded.

        Args:
            settings: of task=probe or task=steer, with `probe.run`.

        Raises:
            ConfigError: the labels are not given or never occur, or no one model wrote answers.
            DataError: the directory holds no finished run of this version, or one without two
                labels; or its data changed.
        """
        assert settings.probe.run is not None
        recorded = read_recorded(Path(settings.probe.run).expanduser(), settings.output_dir)
        study = study_of(recorded)
        recorded.check_same("data", dict(study.fingerprint), "the data")
        return cls(settings, recorded, study)

    @property
    def notes(self) -> tuple[str, ...]:
        """Whose answers these are, and how many are on neither side."""
        classes, settings = self._found[1], self._recorded.settings
        labels = Counter(one.positive for one in self._found[0])
        out = ", ".join(f"{n} {why}" for why, n in classes.left_out.items()) or "none"
        told = (
            f"{many(labels.total(), 'answer')} of {settings.model.name} to "
            f"{settings.benchmark.name}/{settings.condition.name}: {labels[True]} "
            f"{self.outcome}, {labels[False]} {' or '.join(self._negative)}. Left out: {out}."
        )
        return (told,)

    @property
    def origin(self) -> Mapping[str, Json]:
        """The run as it identifies itself, and the model that is read now."""
        kept = self._recorded.manifest
        asked = {name: kept[name] for name in ("judge", "judges", "prompt") if name in kept}
        return {
            "data": kept["data"],
            "model": self._identity,
            "answers": {"run": kept["run"], "model": kept["model"], **asked},
        }

    def place(self, model: str) -> tuple[str, str, str]:
        """The folders of what is found: benchmark, model that is read, condition."""
        run = self._recorded.settings
        return run.benchmark.name, model, run.condition.name

    @property
    def scope(self) -> str | None:
        """Why results are only illustrative; None where the run's model is read."""
        return scope_of(self._recorded.answered, self._identity)

    @property
    def outcome(self) -> str:
        """The positive labels."""
        return " or ".join(self._positive)

    @property
    def fresh(self) -> bool:
        """Whether a judge made any completion now; the run's model made its own then."""
        return self._study.fresh

    @property
    def used(self) -> Mapping[str, Json]:
        """What paid services counted for judges now, by judge."""
        return self._study.used

    def work(self) -> tuple[Work, ...]:
        """Nothing is asked."""
        return ()

    def labelled(self) -> tuple[list[Labelled], Classes]:
        """The answers with a text and a label on one of the sides, in the order of the records.

        Raises:
            DataError: an answer is to no request of the study as it asks today.
        """
        return self._found

    def asked(self) -> list[Question]:
        """The requests whose answers have text and label, once a sample, to be answered greedily.

        Raises:
            TraceError: the judges of the run are no longer what they were, or cannot be asked.
        """
        self._study.check_judges()
        first: dict[str, tuple[Json, Request]] = {}
        for line, request in self._usable:
            first.setdefault(line["id"], (line, request))
        return [
            Question(
                id=self._id(line),
                group=line["sample"]["cluster"],
                request=dataclasses.replace(
                    request, sampling=dataclasses.replace(request.sampling, temperature=0.0)
                ),
            )
            for line, request in first.values()
        ]

    def judge(
        self, questions: Sequence[Question], answers: Sequence[Completion]
    ) -> Sequence[Verdict]:
        """By the judges of the run, asked as they were then."""
        return self._study.judge([question.request for question in questions], answers)

    def positive(self, verdict: Verdict) -> bool | None:
        """Whether the label is one of `probe.positive`; None where it is on neither side."""
        if verdict.label in self._positive:
            return True
        return False if verdict.label in self._negative else None

    @cached_property
    def _identity(self) -> dict[str, Json]:
        return dict(open_model(self._settings.model).identity)

    @cached_property
    def _requests(self) -> list[Request | None]:
        return self._recorded.matched(self._study.requests())

    @property
    def _usable(self) -> list[tuple[Json, Request]]:
        return [
            (line, request)
            for line, request in zip(self._recorded.lines, self._requests, strict=True)
            if request is not None and self._lack(line) is None
        ]

    @cached_property
    def _found(self) -> tuple[list[Labelled], Classes]:
        found: list[Labelled] = []
        left_out = Counter(why for why in map(self._lack, self._recorded.lines) if why)
        for line, request in self._usable:
            side = self.positive(Verdict.from_json(line["verdict"]))
            if side is None:
                left_out[f"labelled {line['verdict']['label']}"] += 1
                continue
            response = self._recorded.answer(line)
            assert response is not None
            found.append(
                Labelled(
                    id=self._id(line),
                    group=line["sample"]["cluster"],
                    request=request,
                    response=response,
                    positive=side,
                )
            )
        return found, Classes(
            positive=self._positive,
            negative=self._negative,
            left_out=dict(sorted(left_out.items())),
        )

    def _lack(self, line: Json) -> str | None:
        """Why an answer tells nothing, whatever the sides are; None if it does."""
        if line.get("blocked"):
            return "blocked by the filter"
        if line["verdict"]["label"] is None:
            return f"without a label ({line['verdict']['status']})"
        answer = self._recorded.answer(line)
        return None if answer is not None and answer.text.strip() else "without a text"

    def _id(self, line: Json) -> str:
        """Of an answer: its sample, and which repeat."""
        again = self._recorded.settings.epochs > 1
        return f"{line['id']} ({line['epoch']})" if again else line["id"]

    def _sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The labels that count as positive and negative.

        Raises:
            ConfigError: none are given, or one never occurs.
            DataError: there are no two.
        """
        probe, path = self._settings.probe, self._recorded.path
        counts = Counter(
            line["verdict"]["label"] for line in self._recorded.lines if self._lack(line) is None
        )
        there = ", ".join(f"{label} ({n})" for label, n in counts.most_common()) or "none"
        if len(counts) < 2:
            raise DataError(
                f"probe.run: the answers of {path} are not on two sides, as a probe needs: of "
                f"{len(self._recorded.lines)} those with a text have the labels {there}. Give "
                "another run."
            )
        if probe.positive is None or probe.negative is None:
            (most, _), (next_, _) = counts.most_common(2)
            raise ConfigError(
                f"probe.positive: and probe.negative are not given. The labels of {path} are "
                f"{there}. Try 'probe.positive=[{next_}]' 'probe.negative=[{most}]'."
            )
        sides = []
        for name in ("positive", "negative"):
            labels = tuple(str(label) for label in getattr(probe, name))
            if strange := [label for label in labels if label not in counts]:
                raise ConfigError(
                    f"probe.{name}: no answer of {path} is labelled {', '.join(strange)}. The "
                    f"labels are {there}."
                )
            sides.append(labels)
        return sides[0], sides[1]
