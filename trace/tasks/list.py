"""List the models of conf/model: engine, size, licence, and whether they can run here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.utils import create_config_search_path
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from rich.console import Console
from yaml import YAMLError

from trace import config
from trace.errors import ConfigError
from trace.models.runnable import (
    Machine,
    Verdict,
    gigabytes,
    memory_needed,
    missing_package,
    this_machine,
    verdict,
)
from trace.report.grid import Grid
from trace.tasks.list_guards import guards_grid
from trace.tracking.manifest import ROOT

if TYPE_CHECKING:
    from trace.report.plan import Plan

CONF = ROOT / "conf"
WHAT = "list: the models of conf/model, and whether they can run here"
UNREADABLE = (HydraException, OmegaConfBaseException, YAMLError, UnicodeDecodeError)
WRAPPED = ("Model", "Engine", "Licence")
LONGEST = 20
"""A longer name is folded."""

Told: TypeAlias = config.Model | DictConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file of conf/model.

    `settings` is None where it makes no model by itself: `problem` then says why. `engine` and
    `told`, what the file says of the model, are there too if only something is missing that a user
    gives, as in model=hf; else the file is broken.
    """

    name: str
    settings: config.Model | None = None
    engine: config.Engine | None = None
    told: Told | None = None
    problem: str = ""


def run(settings: config.Root, *, group: str | None) -> None:
    """Prints the table. No model is loaded and nothing is written."""
    entries = read(CONF)
    ids = [entry.settings.id for entry in entries if entry.settings and entry.settings.id]
    machine = this_machine(ids)
    found = grid(entries, machine)
    table = found.terminal()
    for name, column in zip(found.header, table.columns, strict=True):
        column.justify = "left"
        column.no_wrap = name not in WRAPPED
        column.overflow = "fold"
    table.columns[0].width = min(max(map(len, (entry.name for entry in entries))), LONGEST)
    console = Console(highlight=False)
    console.print(table)
    families = {e.name: e.told.guard for e in entries if e.told is not None and e.told.guard}
    console.print()
    console.print(guards_grid(families).terminal())


def plan(settings: config.Root) -> Plan:
    """What `run` would do."""
    from trace.report.plan import Plan  # loads statsmodels, for which the table need not wait

    return Plan(what=WHAT)


def read(conf: Path) -> list[Entry]:
    """Every file of `conf`/model, in the order of the names."""
    names = sorted(path.stem for path in (conf / "model").glob("*.yaml"))
    loader = ConfigLoaderImpl(create_config_search_path(str(conf)))
    made = composed(loader, names)
    return [
        entry(name, node) if isinstance(node, DictConfig) else Entry(name=name, problem=node)
        for name, node in made.items()
    ]


def composed(loader: ConfigLoaderImpl, names: Sequence[str]) -> dict[str, DictConfig | str]:
    """Name -> the group `model` as it is composed when that file is chosen; or why it cannot be.

    All are composed at once, which takes no longer than one; where that fails, the halves are.
    """
    places = {name: f"model_{i}" for i, name in enumerate(names)}
    overrides = [f"+model@{place}={name}" for name, place in places.items()]
    try:
        whole = loader.load_configuration(None, overrides, RunMode.RUN, from_shell=False)
    except UNREADABLE as error:
        if len(names) == 1:
            return {names[0]: one_line(error)}
        half = len(names) // 2
        return composed(loader, names[:half]) | composed(loader, names[half:])
    return {name: whole[place] for name, place in places.items()}


def entry(name: str, node: DictConfig) -> Entry:
    """The entry of a file that composes."""
    # It is set where it stands in a real run, so that ${model.id} in it resolves.
    root = OmegaConf.create({"model": config.Model})
    try:
        root.merge_with({"model": node})
        settings = OmegaConf.to_object(root.model)
    except UNREADABLE as error:
        return Entry(name=name, problem=one_line(error))
    except ConfigError as error:
        of_the_user = root.model.id is None and root.model.asset is None
        engine = OmegaConf.to_object(root.model.engine) if of_the_user else None
        assert engine is None or isinstance(engine, config.Engine)
        told = root.model if of_the_user else None
        return Entry(name=name, engine=engine, told=told, problem=str(error))
    assert isinstance(settings, config.Model)
    return Entry(name=name, settings=settings, engine=settings.engine, told=settings)


def one_line(error: Exception) -> str:
    """The part of an error's message that says what is wrong."""
    if isinstance(error, YAMLError):
        return " ".join(str(error).split())
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Hydra says where on the first line, and on the second what OmegaConf says.
    return " ".join(lines[:2] if lines[0].endswith(":") else lines[:1])


def judged(entry: Entry, machine: Machine) -> Verdict:
    """Whether the entry can run on the machine."""
    if entry.settings is not None:
        return verdict(entry.settings, machine)
    if entry.engine is None:
        return Verdict(runs=False, reason=entry.problem)
    lacking = missing_package(entry.engine, machine)
    return Verdict(runs=lacking is None, reason=lacking or entry.problem)


def grid(entries: Sequence[Entry], machine: Machine) -> Grid:
    """The table: first what runs here, then the rest, broken files last."""
    found = Grid(title=title(machine), header=[*COLUMNS, "Here"])
    found.notes[""] = "Memory is about what a run takes: the weights and a fifth more."
    verdicts = {entry.name: judged(entry, machine) for entry in entries}

    def rank(entry: Entry) -> int:
        return 2 if entry.engine is None else 0 if verdicts[entry.name].runs else 1

    ordered = sorted(entries, key=rank)
    for i, one in enumerate(ordered):
        said = verdicts[one.name]
        here = ("yes" if said.runs else "no") + (found.mark(said.reason) if said.reason else "")
        found.rows.append([*(cell(one) for cell in COLUMNS.values()), (here,)])
        if i + 1 < len(ordered) and rank(ordered[i + 1]) != rank(one):
            found.ends.append(i + 1)
    return found


def title(machine: Machine) -> str:
    """What is listed, and the machine it is listed for."""
    memory = gigabytes(machine.memory) if machine.memory else "unknown"
    gpus = ", ".join(map(gigabytes, machine.gpu_memory))
    return f"Models (model=NAME); memory {memory}, " + (
        f"GPU memory {gpus}" if gpus else "no NVIDIA GPU"
    )


def _engine(entry: Entry) -> tuple[str, ...]:
    return tuple(re.split("(?<=_)", entry.engine.name)) if entry.engine else ("broken",)


def _of(read: Callable[[Told], str | None]) -> Callable[[Entry], tuple[str, ...]]:
    def cell(entry: Entry) -> tuple[str, ...]:
        return ((None if entry.told is None else read(entry.told)) or "–",)

    return cell


def _size(told: Told) -> str | None:
    return None if told.parameters is None else f"{told.parameters:.3g}B"


def _memory(told: Told) -> str | None:
    needed = memory_needed(told) if isinstance(told, config.Model) else None
    return None if needed is None else gigabytes(needed)


def _licence(told: Told) -> str | None:
    return ", ".join(filter(None, [told.licence, "gated" if told.gated else None]))


COLUMNS: dict[str, Callable[[Entry], tuple[str, ...]]] = {
    "Model": lambda entry: (entry.name,),
    "Engine": _engine,
    "Family": _of(lambda told: told.family),
    "Size": _of(_size),
    "Memory": _of(_memory),
    "Kind": _of(lambda told: told.kind),
    "Licence": _of(_licence),
}
"""What the table shows of an entry, beside whether it runs here."""
