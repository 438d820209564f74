"""Votes of peers as the input of a comparison: from a file, or from runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from trace import config
from trace.benchmarks.cross_lab.design import unlike
from trace.benchmarks.cross_lab.judgements import (
    judgements,
    min_valid_of,
    rubrics_of,
    traces_of,
)
from trace.benchmarks.cross_lab.rubric import Rubrics, read_rubrics
from trace.errors import ConfigError
from trace.records import Json
from trace.report.compare.judged import How
from trace.report.cross_lab.registered import Announced
from trace.report.cross_lab.sections import sections
from trace.report.cross_lab.traced import Traces
from trace.report.cross_lab.votes import MIN_VALID
from trace.report.cross_lab.words import vocabulary
from trace.report.judgements import Judgement, read_judgements
from trace.tasks import registered
from trace.tasks.compared import Compared, Found, finished_runs, sha256_of


def of_judgements(settings: config.Root, task: config.Compare) -> Compared:
    """The lines of `judgements`, labelled by the rubrics of the configuration.

    Raises:
        ConfigError: the study has no use for a setting.
        DataError: a line or the rubrics are not as they should be.
    """
    assert settings.judgements is not None
    assert isinstance(settings.benchmark, config.CrossLab)
    path = Path(settings.judgements).expanduser()
    rubrics = read_rubrics(settings.benchmark.rubrics)
    lines = list(read_judgements(path, vocabulary(rubrics.labels)))
    claim = _registration(task)
    return _compared(
        lines,
        task,
        rubrics,
        MIN_VALID if settings.judges is None else settings.judges.min_valid,
        what=f"compare {len(lines):,} votes",
        identity={"judgements": sha256_of(path)},
        announced=None
        if claim is None
        else registered.of_judgements(claim, settings.benchmark, rubrics),
    )


def of_answers(folders: Sequence[Path], task: config.Compare) -> Compared:
    """Finished runs of the study.

    Raises:
        ConfigError: the study has no use for a setting.
        DataError: a run cannot be read, or they cannot stand side by side.
    """
    runs = finished_runs(folders)
    rubrics, claim = rubrics_of(runs.folders), _registration(task)
    return _compared(
        list(judgements(runs.folders)),
        task,
        rubrics,
        min_valid_of(runs.folders),
        what=f"compare {len(runs.folders)} runs",
        identity={"runs": list(runs.digests)},
        announced=None if claim is None else registered.of_runs(claim, runs.folders, rubrics),
        traces=traces_of(runs.folders),
        notes=[*runs.notes, *unlike(runs.folders)],
    )


def _compared(
    lines: Sequence[Judgement],
    task: config.Compare,
    rubrics: Rubrics,
    min_valid: int,
    *,
    what: str,
    identity: Mapping[str, Json],
    announced: Announced | None,
    traces: Traces | None = None,
    notes: Sequence[str] = (),
) -> Compared:
    for key in ("check_judge", "capability"):
        if getattr(task, key) is not None:
            raise ConfigError(f"task.{key}: plays no part in this study. Leave it out.")
    said = list(notes)
    if rubrics.status != "frozen":
        said.append(f"The rubrics are {rubrics.status}, version {rubrics.version}.")

    def analyses(how: How) -> Found:
        done = sections(
            lines,
            rubrics.labels,
            how,
            min_valid=min_valid,
            announced=announced,
            traces=traces,
        )
        return Found(sections=done, notes=[note for one in done for note in one.notes])

    return Compared(
        what=what,
        identity={
            **identity,
            "rubrics": rubrics.hash,
            "min_valid": min_valid,
            "registration": announced and asdict(announced),
        },
        analyses=analyses,
        notes=tuple(said),
    )


def _registration(task: config.Compare) -> Path | None:
    return None if task.registration is None else Path(task.registration).expanduser()
