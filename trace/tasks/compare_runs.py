"""Runs as the input of a comparison: read, checked, and analysed by study."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from trace import config
from trace.errors import ConfigError
from trace.records import Json
from trace.report.compare import (
    capability,
    check_rank,
    classes,
    confusion,
    dangers,
    kinship,
    length,
    plane,
    rerun,
    size,
    spread,
    subsample,
    table,
)
from trace.report.compare.judged import How, Judge, blocks, measure, usual
from trace.report.compare.scores import Scores, read_scores
from trace.report.compare.section import Section
from trace.report.evidence.guards import BENCHMARK as EVIDENCE
from trace.report.evidence.sections import sections as evidence_sections
from trace.report.gather import EXAMPLE, Gathered, gather
from trace.tasks.compared import Compared, Found


def of_runs(runs: str | None, task: config.Compare) -> Compared:
    """The runs that a pattern matches.

    Raises:
        ConfigError, DataError: as for `read_input`.
    """
    gathered, scores = read_input(runs, task)
    table_of = None if task.capability is None else Path(task.capability).expanduser()

    def analyses(how: How) -> Found:
        judges = [measure(one, how) for one in gathered.runs]
        done = sections(judges, scores, how, task.check_judge)
        return Found(sections=done, notes=notes(judges, done), runs=[_row(j) for j in judges])

    return Compared(
        what=f"compare {len(gathered.runs)} runs",
        identity={
            "runs": sorted(one.digest for one in gathered.runs),
            "capability": table_of and hashlib.sha256(table_of.read_bytes()).hexdigest(),
            "check_judge": task.check_judge,
        },
        analyses=analyses,
        notes=gathered.notes,
    )


def read_input(runs: str | None, task: config.Compare) -> tuple[Gathered, Scores | None]:
    """The runs, and the table of scores if there is one.

    Raises:
        ConfigError: there is no pattern of runs, none of them is of `task.check_judge`, or they
            are of a study that has no use for a setting.
        DataError: the runs or the table cannot be read, or the runs are not comparable.
    """
    if runs is None:
        raise ConfigError(f"runs: no value. Say which runs are compared: {EXAMPLE}.")
    scores = None if task.capability is None else read_scores(Path(task.capability).expanduser())
    gathered = gather(runs, mixed=task.mixed)
    names = {name for one in gathered.runs for name in (one.model, one.name)}
    if task.check_judge is not None and task.check_judge not in names:
        raise ConfigError(
            f"task.check_judge: {task.check_judge!r} is none of the judges of these runs. Name one "
            f"of {', '.join(sorted(names))}; or leave it out."
        )
    given = {"capability": task.capability, "check_judge": task.check_judge}
    if all(one.benchmark == EVIDENCE for one in gathered.runs):
        for key in (key for key, value in given.items() if value is not None):
            raise ConfigError(f"task.{key}: plays no part in the {EVIDENCE} study. Leave it out.")
    return gathered, scores


def sections(
    judges: Sequence[Judge], scores: Scores | None, how: How, check_judge: str | None
) -> list[Section]:
    """Every analysis in the order of the report; the main table first.

    The evidence study has its own: its runs are of three components, and not of four protocols.
    """
    evidence = [judge.run for judge in judges if judge.run.benchmark == EVIDENCE]
    others = of_other_studies(judges)
    return [
        *(by_protocol(others, scores, how, check_judge) if others else ()),
        *(evidence_sections(evidence, how) if evidence else ()),
    ]


def of_other_studies(judges: Sequence[Judge]) -> list[Judge]:
    """The judges that are compared protocol by protocol."""
    return [judge for judge in judges if judge.run.benchmark != EVIDENCE]


def by_protocol(
    judges: Sequence[Judge], scores: Scores | None, how: How, check_judge: str | None
) -> list[Section]:
    """The analyses of all studies but that of evidence."""
    alike = usual(judges)
    return [
        table.section(judges),
        classes.section(judges, how),
        confusion.section(alike),
        dangers.section(alike, how),
        size.section(alike),
        plane.section(alike),
        length.section(alike, how),
        capability.section(alike, scores, how),
        subsample.section(alike, how),
        rerun.section(alike, how),
        spread.section(judges),
        kinship.section(alike, how),
        check_rank.section(alike, check_judge, how),
    ]


def notes(judges: Sequence[Judge], done: Sequence[Section]) -> list[str]:
    """What has to be said beside the numbers."""
    others = of_other_studies(judges)
    said = sizes(others)
    if aside := len(others) - len(usual(others)):
        said.append(
            f"{aside} of {len(others)} runs ask in another way; they stand in the main table and "
            "in the table by class alone, and where the wording differs, under its sensitivity."
        )
    if any(judge.run.epochs > 1 for judge in judges):
        said.append(
            "Where a run has several epochs, the first is counted: n is the number of samples."
        )
    return [*said, *(note for one in done for note in one.notes)]


def sizes(judges: Sequence[Judge]) -> list[str]:
    """A sentence if the protocols were not asked of the same samples, as with another limit."""
    asked: dict[str, set[str]] = {}
    for protocol, block in blocks(usual(judges)).items():
        asked[protocol] = {o.id for judge in block for o in judge.run.once}
    if len({frozenset(ids) for ids in asked.values()}) < 2:
        return []
    counts = ", ".join(f"{protocol} {len(ids)}" for protocol, ids in asked.items())
    common = len(set.intersection(*asked.values()))
    return [
        f"The protocols were asked of different samples ({counts}; {common} in common): a "
        "difference between them may be one of the samples."
    ]


def _row(judge: Judge) -> dict[str, Json]:
    """What compare.json says of a run."""
    return {
        "run": judge.run.digest,
        "judge": judge.name,
        "protocol": judge.run.protocol,
        **({"component": judge.run.condition} if judge.run.condition else {}),
        "samples": len(judge.run.once),
        "epochs": judge.run.epochs,
    }
