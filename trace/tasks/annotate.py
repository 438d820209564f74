"""People label a benchmark's items in Label Studio: serve it, give work out, take it back."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from trace import config
from trace.annotation.exported import finished, numbered, read_export, title
from trace.errors import DataError
from trace.report.grid import Grid
from trace.report.plan import Plan


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the action out.

    Raises:
        TraceError: something the user can change; what is done already is not undone.
    """
    match settings.annotate.action:
        case "serve":
            from trace.annotation.server import serve

            serve(settings.annotate)
        case "export":
            from trace.tasks.annotate_export import export

            export(settings)
        case "import":
            from trace.tasks.annotate_import import take_back

            take_back(settings, group=group)
        case _:
            status(settings)


def plan(settings: config.Root) -> Plan:
    """What `run` would do."""
    return Plan(what=f"annotate, {settings.annotate.action}; no model is asked")


def status(settings: config.Root) -> None:
    """Prints how far people are: with every export below `output_dir`, or the named one."""
    from trace.annotation.client import connect

    named = settings.annotate.export
    folders = (
        [Path(named).expanduser()]
        if named is not None
        else sorted(
            path.parent for path in Path(settings.output_dir).glob("runs/*/annotate/*/forms.json")
        )
    )
    if not folders:
        raise DataError(
            f"output_dir: nothing was exported below {settings.output_dir}. Give work out with "
            "annotate.action=export."
        )
    console = Console(highlight=False)
    with connect(settings.annotate) as client:
        for folder in folders:
            if named is None and not finished(folder):
                console.print(
                    f"note: {folder} is no finished export: type its command again, or remove it.",
                    markup=False,
                    soft_wrap=True,
                )
                continue
            exported = read_export(folder)
            console.print(f"export: {folder}", markup=False, soft_wrap=True)
            grid = Grid(title="Progress", header=["Annotator", "Form", "Project", *_COLUMNS])
            for number, one in numbered(exported.given.assignments):
                project = client.find(title(exported.manifest["run"], number, one))
                counts = project and client.counts(project.id)
                cells = [str(getattr(counts, column)) if counts else "-" for column in _COUNTED]
                where = str(project.id) if project else "not here"
                grid.rows.append([(text,) for text in (one.annotator, one.form, where, *cells)])
            console.print(grid.terminal())
        console.print(f"projects: {client.connection.url}/projects", markup=False, soft_wrap=True)


_COLUMNS = ("Items", "Done", "Skip-\nped", "Half\ndone", "Done\ntwice")
_COUNTED = ("tasks", "done", "skipped", "begun", "twice")
