"""Build a set of TraceSafe records, and write all that belongs beside it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trace import config
from trace.benchmarks.tracesafe import card, spotcheck_page
from trace.benchmarks.tracesafe.audit.spotcheck import chosen
from trace.benchmarks.tracesafe.build import OwnSet
from trace.benchmarks.tracesafe.samples import own_set, parsed
from trace.errors import ConfigError
from trace.records import Json, digest
from trace.tracking.files import write_json, write_jsonl, write_text
from trace.tracking.manifest import completed, provenance
from trace.tracking.rundir import check_writable

_REASONS = 3  # shown a class; the manifest has them all


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the build out: `<output_dir>/runs/tracesafe/build/<hash8>/`. No model is needed.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
    """
    benchmark = _checked(settings)
    check_writable(settings.output_dir)
    console = Console(highlight=False)
    built, fingerprint = own_set(benchmark, settings.seed)
    for note in built.notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    how: dict[str, Json] = {
        "per_class": benchmark.per_class,
        "splits": list(benchmark.splits) if benchmark.base is None else None,
        "distractors": benchmark.distractors,
        "truncate": benchmark.truncate,
        "decoys": benchmark.decoys,
        "seed": settings.seed,
    }
    hashed = {"how": how, "data": fingerprint, "records": digest([r["id"] for r in built.records])}
    folder = Path(settings.output_dir, "runs", "tracesafe", "build", digest(hashed)[:8])
    manifest = provenance() | {
        "built": hashed,
        "records": len(built.records),
        "counts": card.counts(built.records),
        "suitable": dict(built.suitable),
        "refused": {name: dict(reasons.most_common()) for name, reasons in built.refused.items()},
        "seeds": {"builder": settings.seed},
        "licences": card.LICENCES,
        "notes": list(built.notes),
        "run": digest(hashed),
    }
    write_jsonl(folder / "dataset.jsonl", built.records)
    text = card.card(
        built.records,
        source=_source(benchmark),
        truncate=benchmark.truncate,
        settings={key: value for key, value in how.items() if value is not None},
        notes=built.notes,
    )
    write_text(folder / "card.md", text)
    write_text(folder / "spotcheck.html", spotcheck_page.page(chosen(parsed(built))))
    write_json(folder / "manifest.json", completed(manifest))
    console.print(_table(built))
    console.print(f"run: {folder}", markup=False, soft_wrap=True)


def _checked(settings: config.Root) -> config.TraceSafe:
    benchmark = settings.benchmark
    if not isinstance(benchmark, config.TraceSafe):
        raise ConfigError(f"benchmark: {benchmark.name} cannot be built. Choose tracesafe.")
    if benchmark.path is not None:
        raise ConfigError(
            f"benchmark.path: {benchmark.path} is a set already. Leave it out, or give base "
            "trajectories to build from: benchmark.base=FILE."
        )
    if settings.limit is not None:
        raise ConfigError(
            f"limit: task=build makes whole classes. Say how large: "
            f"benchmark.per_class={settings.limit}."
        )
    if settings.stage != "all":
        raise ConfigError(f"stage: {settings.stage!r} is no stage of the build. Leave it out.")
    return benchmark


def _source(benchmark: config.TraceSafe) -> str:
    if benchmark.base is not None:
        return f"those of {Path(benchmark.base).name}, whose accuracy was not checked"
    return (
        f"the ground truth of BFCL v4 multi-turn ({', '.join(benchmark.splits)}), executed in its "
        "own simulators and accurate by construction"
    )


def _table(built: OwnSet) -> Table:
    """How many records each class has, and why calls were turned down."""
    table = Table(
        title="Records, and calls of the base trajectories that were turned down",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    for name, justify in (("Class", "left"), ("Records", "right"), ("Suitable", "right")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("Refused because", overflow="fold")
    made = Counter(map(card.class_of, built.records))
    for name, number in made.items():
        reasons = built.refused.get(name, Counter())
        said = [f"{n}: {reason}" for reason, n in reasons.most_common(_REASONS)]
        if (left := sum(reasons.values()) - sum(n for _, n in reasons.most_common(_REASONS))) > 0:
            said.append(f"{left}: other reasons (manifest.json)")
        suitable = str(built.suitable[name]) if name in built.suitable else ""
        table.add_row(Text(name), str(number), suitable, Text("\n".join(said)))
    return table
