"""Judgements of respondents' answers as the input of a comparison: from a file, or from runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from trace import config
from trace.benchmarks.rag_safety.judgements import judgements, panel_rule, unlike
from trace.errors import ConfigError
from trace.judging.panel import Rule, rule_of
from trace.records import Json
from trace.report.compare.judged import How
from trace.report.compare.scores import read_scores
from trace.report.judgements import Judgement, read_judgements
from trace.report.rag_safety.panel import RULE
from trace.report.rag_safety.sections import sections
from trace.report.rag_safety.words import WORDS
from trace.tasks.compared import Compared, Found, finished_runs, sha256_of


def of_judgements(settings: config.Root, task: config.Compare) -> Compared:
    """The lines of `judgements`, of the study that `benchmark` names.

    The votes on harm are combined by the rule of `judges`, or else by the paper's.

    Raises:
        ConfigError: the study has no such analyses, or no use for a setting.
        DataError: a line is not as it should be.
    """
    assert settings.judgements is not None
    if not isinstance(settings.benchmark, config.RagSafety):
        raise ConfigError(
            f"judgements: of {settings.benchmark.name} none are read. Use benchmark=rag_safety."
        )
    path = Path(settings.judgements).expanduser()
    lines = list(read_judgements(path, WORDS))
    rule = RULE if settings.judges is None else rule_of(settings.judges)
    what = f"compare {len(lines):,} judgements"
    return _compared(lines, task, rule, what=what, identity={"judgements": sha256_of(path)})


def of_answers(folders: Sequence[Path], task: config.Compare) -> Compared:
    """Finished runs of RAG-Safety-Bench; their own rule combines the votes.

    Raises:
        ConfigError: the study has no use for a setting.
        DataError: a run cannot be read, or they cannot stand side by side.
    """
    runs = finished_runs(folders)
    return _compared(
        list(judgements(runs.folders)),
        task,
        panel_rule(runs.folders),
        what=f"compare {len(runs.folders)} runs",
        identity={"runs": list(runs.digests)},
        notes=[*runs.notes, *unlike(runs.folders)],
    )


def _compared(
    lines: Sequence[Judgement],
    task: config.Compare,
    rule: Rule,
    *,
    what: str,
    identity: Mapping[str, Json],
    notes: Sequence[str] = (),
) -> Compared:
    if task.check_judge is not None:
        raise ConfigError("task.check_judge: plays no part in this study. Leave it out.")
    table = None if task.capability is None else Path(task.capability).expanduser()
    scores = None if table is None else read_scores(table)

    def analyses(how: How) -> Found:
        done = sections(lines, how, rule=rule, scores=scores)
        return Found(sections=done, notes=[note for one in done for note in one.notes])

    return Compared(
        what=what,
        identity={**identity, "rule": asdict(rule), "capability": table and sha256_of(table)},
        analyses=analyses,
        notes=tuple(notes),
    )
