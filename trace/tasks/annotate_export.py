"""Give items out to people: a project in Label Studio for each annotator and form."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rich.console import Console

from trace import config
from trace.annotation import briefing
from trace.annotation.assign import Assignment, assigned
from trace.annotation.client import Client, connect
from trace.annotation.draw import drawn
from trace.annotation.exported import Exported, Pass, consents, finished, numbered, shown, title
from trace.annotation.form import Form
from trace.annotation.item import Item
from trace.annotation.study import HumanStudy
from trace.annotation.task import task
from trace.benchmarks.human import study as human_study
from trace.errors import ConfigError, DataError
from trace.records import Json, digest
from trace.report.grid import Grid
from trace.tasks.annotate_command import command
from trace.tracking.files import read_jsonl, write_json
from trace.tracking.manifest import completed, provenance
from trace.tracking.rundir import check_writable, open_run

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The items that are given out. `of` is what the first pass selected, this one or before."""

    study: HumanStudy
    items: tuple[Item, ...]
    of: str
    first: Pass | None = None


def export(settings: config.Root) -> None:
    """Draws, assigns, and makes the projects; the same command finishes an interrupted one.

    Raises:
        TraceError: there is nothing to label, or no server; then nothing was written.
    """
    check_writable(settings.output_dir)
    console, annotate = Console(highlight=False), settings.annotate
    selection = select(settings)
    study, forms = selection.study, with_consent(selection.study, selection.items)
    assignments = first_consent(
        assigned(selection.items, annotate.annotators, annotate.overlap, settings.seed), forms
    )
    given = Pass(items=selection.items, assignments=tuple(assignments))
    tasks = {  # made before anything is sent: a text that cannot be is found here
        name: {id_: task(item, form) for id_, item in items.items()}
        for name, (form, items) in forms.items()
    }
    hashed = {
        "schema": SCHEMA,
        "study": study.name,
        "select": annotate.select,
        "seed": settings.seed,
        "forms": {name: form.digest for name, (form, _) in forms.items()},
        "data": dict(study.fingerprint),
        "assignments": digest([a.to_json() for a in assignments]),
        "first": selection.first and digest([a.to_json() for a in selection.first.answers]),
    }
    for note in study.notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    with connect(annotate) as client, ExitStack() as held:
        # One that takes the key is there, or nothing has been written.
        client.find(title(digest(hashed), 1, assignments[0]))
        run_dir = held.enter_context(
            open_run(settings.output_dir, ("runs", study.name, "annotate"), None, hashed)
        )
        began = provenance() | {"run": run_dir.digest, **hashed, "selected": selection.of}
        exported = Exported(
            folder=run_dir.path,
            manifest=began | {"path": _path(settings), "terms": study.terms},
            forms=shown({name: form for name, (form, _) in forms.items()}),
            given=given,
            first=selection.first,
        )
        exported.write()
        grid = upload(client, exported, tasks)
        write_json(run_dir.path / "manifest.json", completed(dict(exported.manifest)))
        where = f"{client.connection.url}/projects/N/data?labeling=1"
    console.print(grid.terminal())
    console.print(f"Project N is worked on at {where}", markup=False, soft_wrap=True)
    console.print(_next(settings, run_dir.path), markup=False, soft_wrap=True)


def select(settings: config.Root) -> Selection:
    """The items that the configuration asks for.

    Raises:
        ConfigError, DataError: there are none, or the files they come from are not as they should.
    """
    annotate = settings.annotate
    if annotate.imported is not None:
        return _disputed(settings, Path(annotate.imported).expanduser())
    study = human_study(settings, select=annotate.select)
    items = list(study.items)
    if settings.limit is not None:
        strata = dict.fromkeys(item.stratum for item in items)
        items = [
            item
            for stratum in strata
            for item in drawn(
                [item for item in items if item.stratum == stratum], settings.limit, settings.seed
            )
        ]
    items = drawn(items, len(items) if annotate.items is None else annotate.items, settings.seed)
    if not items:
        raise DataError("benchmark.path: there is nothing to label in it.")
    return Selection(study=study, items=tuple(items), of=annotate.select)


def _disputed(settings: config.Root, folder: Path) -> Selection:
    """What the annotators of an import left open between them."""
    named = folder / "disagreements.jsonl"
    if not named.is_file() or not finished(folder):
        raise ConfigError(
            f"annotate.imported: {folder} holds no finished import. It is the folder that "
            "annotate.action=import names in its last line."
        )
    first = Exported.read(folder)
    study = human_study(settings, select=first.manifest["selected"])
    first.check(study)
    ids = {line["id"] for line in read_jsonl(named)}
    if first.first is not None:
        raise ConfigError(
            f"annotate.imported: {folder} is that of a second pass already. What its adjudicators "
            "left open stays open."
        )
    had = {one.annotator.casefold() for one in first.given.assignments}
    if both := [name for name in settings.annotate.annotators if name.casefold() in had]:
        raise ConfigError(
            f"annotate.annotators: {both[0]} annotated these items already. A second pass needs "
            "somebody else: annotate.annotators=[J1]."
        )
    chosen = tuple(item for item in first.given.items if item.id in ids)
    if not chosen:
        raise DataError(f"annotate.imported: nobody disagrees in {folder}; nothing is left to do.")
    return Selection(study=study, items=chosen, of=first.manifest["selected"], first=first.given)


Asked: TypeAlias = dict[str, tuple[Form, dict[str, Item]]]
"""Name of a form -> the form, and its items by id."""


def with_consent(study: HumanStudy, items: tuple[Item, ...]) -> Asked:
    """The forms that the items need, before them those that ask for consent in their language."""
    needed = {name: study.forms[name] for name in dict.fromkeys(item.form for item in items)}
    asked: Asked = {}
    languages = {form.language for form in needed.values()}
    for name, (form, item) in consents(study.name).items():
        if form.language in languages:
            asked[name] = form, {item.id: item}
    for name, form in needed.items():
        asked[name] = form, {item.id: item for item in items if item.form == name}
    return asked


def first_consent(assignments: list[Assignment], asked: Asked) -> list[Assignment]:
    """Puts the question for consent before everybody's first project in that language."""
    found: dict[tuple[str, str], Assignment] = {}
    for one in assignments:
        form, _ = asked[one.form]
        consent, item = briefing.consent(form.language, form.study)
        first = Assignment(annotator=one.annotator, form=consent.name, items=(item.id,))
        found.setdefault((one.annotator, consent.name), first)
        found[one.annotator, one.form] = one
    return list(found.values())


def upload(client: Client, exported: Exported, tasks: Mapping[str, Mapping[str, Json]]) -> Grid:
    """Makes the projects and fills them; those that are there already are left as they are.

    Args:
        client: of the server.
        exported: what is given to whom.
        tasks: name of a form -> id of an item -> what is sent of it.
    """
    grid = Grid(title="Given out", header=["Annotator", "Form", "Items", "Project"])
    made: list[Json] = []
    for number, one in numbered(exported.given.assignments):
        project = client.project(
            title(exported.manifest["run"], number, one), exported.forms[one.form]["markup"]
        )
        client.send(project.id, [tasks[one.form][id_] for id_ in one.items])
        made.append({"annotator": one.annotator, "form": one.form, "project": project.title,
                     "url": f"{project.url}/data?labeling=1"})  # fmt: skip
        write_json(exported.folder / "projects.json", made)
        cells = (one.annotator, one.form, f"{len(one.items):,}", str(project.id))
        grid.rows.append([(cell,) for cell in cells])
    return grid


def _path(settings: config.Root) -> str | None:
    return settings.annotate.source or getattr(settings.benchmark, "path", None)


def _next(settings: config.Root, folder: Path) -> str:
    """How the work comes back."""
    return (
        f"How far they are: {command(settings, export=str(folder))}\n"
        f"When they are done: {command(settings, export=str(folder), action='import')}\n"
        f"run: {folder}"
    )
