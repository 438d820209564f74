"""Take finished work back: answers, decisions, agreement, and the data set with them in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from trace import config
from trace.annotation import briefing
from trace.annotation.client import Client, connect
from trace.annotation.decide import Decision, decided, disagreements
from trace.annotation.exported import Exported, Pass, consents, numbered, title
from trace.annotation.form import Form
from trace.annotation.item import Answer, Item, Lost
from trace.annotation.markup import markup, same_markup
from trace.annotation.result import returned
from trace.annotation.study import HumanStudy, Merged
from trace.annotation.task import ITEM
from trace.benchmarks.human import study as human_study
from trace.errors import DataError
from trace.records import Json, digest
from trace.report.annotated import measure_annotation
from trace.report.annotated_table import annotation_grids, strata_grid
from trace.report.grid import Grid
from trace.tracking.files import write_json, write_jsonl, write_text
from trace.tracking.manifest import completed, provenance
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """The answers of an export's annotators, and what of their work was not taken."""

    answers: tuple[Answer, ...]
    lost: Mapping[str, Lost]
    notes: tuple[str, ...]


def take_back(settings: config.Root, *, group: str | None) -> None:
    """Carries the import out. What is not finished yet can be imported again later.

    Raises:
        TraceError: the export, the server or the projects are not as they should be; nothing was
            written.
    """
    check_writable(settings.output_dir)
    assert settings.annotate.export is not None  # the configuration has checked it
    exported = Exported.read(Path(settings.annotate.export).expanduser())
    study = human_study(settings, select=exported.manifest["selected"])
    exported.check(study)
    with connect(settings.annotate) as client:
        gathered = gather(client, exported, study)
    if not gathered.answers:
        raise DataError(f"annotate.export: {_nothing(gathered)} See annotate.action=status.")
    first, second = given_first(exported, gathered)
    decisions = decided(first.items, study.forms, first.answers, second)
    merged = study.merge((*first.answers, *second), decisions)
    hashed = {
        "schema": SCHEMA,
        "export": exported.manifest["run"],
        "answers": digest([answer.to_json() for answer in gathered.answers]),
    }
    with tracked_run(
        settings, parts=("runs", study.name, "annotated"), stem=None, hashed=hashed, group=group
    ) as (run_dir, tracker):
        result = measure_annotation(
            first.items,
            study.forms,
            [one for one in first.assignments if one.form in study.forms],
            first.answers,
            decisions,
            first.lost,
            draws=settings.scoring.bootstrap_draws,
            seed=settings.seed,
        )
        grids = [*annotation_grids(result), _merged(merged)]
        notes = (*gathered.notes, *merged.notes)
        manifest = provenance() | {
            **exported.manifest,
            "run": run_dir.digest,
            **hashed,
            "notes": list(notes),
        }
        replace(exported, folder=run_dir.path, given=first).write()
        write(run_dir.path, decisions, merged, result)
        tables = [grid.markdown() for grid in (*grids, strata_grid(result))]
        report = ["# Annotation", *(f"- {note}" for note in notes), *tables]
        write_text(run_dir.path / "report.md", "\n\n".join(report) + "\n")
        write_json(run_dir.path / "manifest.json", completed(manifest))
        tracker.metrics(result)
        tracker.artifact(run_dir.path)
    console = Console(highlight=False)
    for note in notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    for grid in grids:
        console.print(grid.terminal())
    if left := disagreements(decisions):
        console.print(_second(len(left), run_dir.path), markup=False, soft_wrap=True)
    console.print(last_lines(run_dir.path, tracker), markup=False, soft_wrap=True)


def gather(client: Client, exported: Exported, study: HumanStudy) -> Gathered:
    """Every annotator's answers, as far as they agreed to take part.

    Raises:
        DataError: a project is gone, or asks something else by now.
    """
    items = {item.id: item for item in exported.given.items}
    asked = consents(study.name)
    answers: list[Answer] = []
    lost: dict[str, Lost] = {}
    agreed: set[tuple[str, str]] = set()
    strangers: Counter[str] = Counter()
    for number, one in numbered(exported.given.assignments):
        if one.form in asked:
            form, item = asked[one.form]
            here = {item.id: item}
        else:
            form, here = study.forms[one.form], {id_: items[id_] for id_ in one.items}
        found, aside, unknown = _answers(
            client, title(exported.manifest["run"], number, one), one.annotator, form, here
        )
        strangers[one.annotator] += unknown
        if one.form in asked:
            agreed |= {
                (one.annotator, form.language)
                for answer in found.values()
                if answer and answer.values.get(briefing.QUESTION) == briefing.YES
            }
            continue
        was = lost.get(one.annotator, Lost())
        willing = (one.annotator, form.language) in agreed
        there = [answer for answer in found.values() if answer is not None]
        lost[one.annotator] = Lost(
            deleted=was.deleted + len(here.keys() - found.keys()),
            twice=was.twice + aside,
            no_consent=was.no_consent + (0 if willing else len(there)),
        )
        answers += there if willing else []
    notes = tuple(
        f"{n} tasks in the projects of {who} are not of this export; they are left out."
        for who, n in strangers.items()
        if n
    )
    return Gathered(answers=tuple(answers), lost=lost, notes=notes)


def _nothing(gathered: Gathered) -> str:
    without = sum(lost.no_consent for lost in gathered.lost.values())
    why = f" {without} answers are left out, as there is no consent to use them." if without else ""
    return f"nobody has finished anything yet.{why}"


def given_first(exported: Exported, gathered: Gathered) -> tuple[Pass, tuple[Answer, ...]]:
    """The first pass with its answers, and the answers of the second, if this is one."""
    if exported.first is not None:
        return exported.first, gathered.answers
    return replace(exported.given, answers=gathered.answers, lost=gathered.lost), ()


def _answers(
    client: Client, name: str, annotator: str, form: Form, items: Mapping[str, Item]
) -> tuple[dict[str, Answer | None], int, int]:
    """Item -> its answer, None while it has none; how many were set aside, and are not ours."""
    project = client.find(name)
    if project is None:
        raise DataError(
            f"annotate.export: there is no project {name!r} of {annotator} on this server. It was "
            "deleted or renamed, or this is another Label Studio than that of the export: see "
            "annotate.url and annotate.data_dir."
        )
    if not same_markup(project.markup, markup(form)):
        raise DataError(
            f"{project.url}: somebody edited what project {name!r} asks (its labelling "
            "configuration). Put back what stands in forms.json of the export, then import again."
        )
    found: dict[str, Answer | None] = {}
    aside = unknown = 0
    for task in client.tasks(project.id):
        id_ = task["data"].get(ITEM)
        if id_ not in items or id_ in found:
            unknown += 1
            continue
        back = returned(task, items[id_], form, annotator)
        found[id_] = back.answer
        aside += back.aside
    return found, aside, unknown


def write(
    folder: Path, decisions: Sequence[Decision], merged: Merged, result: Mapping[str, Json]
) -> None:
    """Writes what was decided, what it does to the data set, and the numbers."""
    write_jsonl(folder / "decisions.jsonl", (d.to_json() for d in decisions))
    write_jsonl(folder / "disagreements.jsonl", ({"id": i} for i in disagreements(decisions)))
    for name, lines in merged.files.items():
        if name.endswith(".jsonl"):
            write_jsonl(folder / name, lines)
        else:
            write_text(folder / name, "".join(f"{line}\n" for line in lines))
    write_json(folder / "metrics.json", {"schema": 1, **result})


def _merged(merged: Merged) -> Grid:
    grid = Grid(title="What it does to the data set", header=["", "n"])
    grid.rows = [[(what,), (f"{n:,}",)] for what, n in merged.counts.items()]
    return grid


def _second(left: int, folder: Path) -> str:
    return (
        f"{left:,} items need a second pass, by somebody else: the command of the export with "
        f"annotate.select=disagreements annotate.imported={folder} annotate.annotators=[J1]"
    )
