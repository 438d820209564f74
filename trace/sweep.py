"""What a command line asks for: one job, or the jobs of a multirun, all checked beforehand."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from trace import config
from trace.config.root import INSIDE
from trace.errors import ConfigError
from trace.messages import explain

SWEEPS = "sweeps"
STUDIES_OF_RESPONDENTS = ("strongreject", "rag_safety", "cross_lab", "clarify")
"""Benchmarks on which `model` answers and others judge."""


_IN_THEIR_FILES = ("tokens", "examples", "reason_first", "retrieval", "wording")
"""Keys of a condition that its name stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The arguments for Hydra, and the conf folder that it reads; or the one job there is.

    A single job is composed here: Hydra itself would add a line of its own to every error.
    """

    arguments: list[str]
    conf: Path
    single: DictConfig | None = None


def plan(arguments: list[str], conf: Path) -> Plan:
    """Turns a command line into what Hydra is given.

    In a multirun (`-m`, which may stand anywhere) the sweep is
    made explicit: what the user sweeps; else what the sweep file does; else the benchmark's
    natural axis when the task is `evaluate`. Conf is copied first, so that editing it while
    the jobs run changes nothing.

    Raises:
        ConfigError: some job of a multirun cannot work. None has started then.
    """
    multirun = any(a in ("-m", "--multirun") for a in arguments)
    rest = [chosen_model(a) for a in arguments if a not in ("-m", "--multirun")]
    if any(a.startswith("-") for a in rest):  # --help, --cfg job and the like
        return Plan(arguments=rest, conf=conf)
    overrides = rest
    refuse_names(overrides)
    refuse_model_beside_panel(overrides)
    if not multirun:
        if chosen_sweeps(overrides):
            raise ConfigError("+sweeps: a sweep has many jobs. Add -m to run them.")
        if any_sweep(overrides):
            raise ConfigError(
                f"{' '.join(overrides)}: several values for one key. Add -m to run them all."
            )
        with composing(conf):
            return Plan(arguments=rest, conf=conf, single=compose("config", overrides))
    with composing(conf):
        first = compose("config", first_values(overrides), return_hydra_config=True)
    full = [f"{key}={value}" for key, value in axis_of(first, overrides).items()] + overrides
    check_jobs(conf, jobs(full))
    frozen = snapshot(conf, Path(first.output_dir).expanduser())
    full.append(f"hydra.searchpath=[{quoted(f'file://{frozen}')}]")
    final = ["--multirun", *full, "hydra.sweeper.params=null"]
    return Plan(arguments=final, conf=frozen / "conf")


def chosen_model(argument: str) -> str:
    """`benchmark.judge=NAME` as Hydra wants it, `model@benchmark.judge=NAME`."""
    key, equals, value = argument.partition("=")
    if equals and key in config.MODEL_SLOTS and value not in ("", "null"):
        return f"model@{argument}"
    return argument


def refuse_model_beside_panel(overrides: Sequence[str]) -> None:
    """Refuses `model=` beside `judges=`: a panel judges instead of the model.

    Raises:
        ConfigError: both are given.
    """
    given = {o.get_key_element().lstrip("+"): o.value() for o in parse(overrides)}
    content = given.get("benchmark") not in STUDIES_OF_RESPONDENTS
    content = content and given.get("task") not in INSIDE  # whose benchmark is clarify
    if content and given.get("judges") not in (None, "null") and "model" in given:
        raise ConfigError(
            "judges: stands beside model, and on this benchmark a panel judges instead of a model. "
            "Leave one out; a further judge is added by +model@judges.models.NAME=MODEL."
        )


def refuse_names(overrides: Sequence[str]) -> None:
    """Refuses `protocol.name=…` and the like: the results of one would stand under another's name.

    Raises:
        ConfigError: saying what to type instead.
    """
    for override in parse(overrides):
        group, _, key = override.get_key_element().lstrip("+~").partition(".")
        if group == "condition" and key in (
            "tokens",
            "examples",
            "reason_first",
            "retrieval",
            "wording",
        ):
            raise ConfigError(
                f"condition.{key}: what a condition does stands in its file, or runs of different "
                f"ones would share its name. Copy a file of conf/condition, change {key}, and "
                "choose it: condition=FILE."
            )
        if key == "name" and group in ("task", "benchmark", "condition", "protocol"):
            raise ConfigError(
                f"{group}.name: is the name of its file in conf/{group}. Choose a file: "
                f"{group}={override.value()}."
            )


def group() -> str | None:
    """What the jobs of the multirun that is going on share; None outside one."""
    if not HydraConfig.initialized():
        return None
    hydra = HydraConfig.get()
    if hydra.mode is not RunMode.MULTIRUN:
        return None
    return "-".join(Path(hydra.sweep.dir).parts[-2:])


def quoted(value: str) -> str:
    """A value that Hydra reads as it stands, whatever characters it has."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def parse(overrides: Sequence[str]) -> list[Override]:
    """The overrides as Hydra reads them."""
    parsed: list[Override] = OverridesParser.create().parse_overrides(list(overrides))
    return parsed


def any_sweep(overrides: Sequence[str]) -> bool:
    """Whether one of the overrides has several values."""
    return any(o.is_sweep_override() for o in parse(overrides))


def jobs(overrides: Sequence[str]) -> list[list[str]]:
    """The overrides of every job: the product of all sweeps."""
    return BasicSweeper.split_arguments(parse(overrides), None)[0]


def first_values(overrides: Sequence[str]) -> list[str]:
    """The overrides of the first job."""
    return jobs(overrides)[0]


def axis_of(first: DictConfig, overrides: Sequence[str]) -> dict[str, str]:
    """What is swept beside the user's own sweeps, without the keys that the user gives.

    With a sweep file its axes are; else, if the user sweeps nothing, the natural axis.
    """
    given = {o.get_key_element().lstrip("+~") for o in parse(overrides)}  # model@SLOT is no model
    if chosen := chosen_sweeps(overrides):
        file = OmegaConf.load(Path(SWEEPS) / f"{chosen[-1]}.yaml")
        params = OmegaConf.select(file, "hydra.sweeper.params") or {}
    elif any_sweep(overrides) or first.task.name != "evaluate":
        params = {}
    else:
        params = first.hydra.sweeper.params or {}
    return {str(k): str(v) for k, v in params.items() if k not in given}


def chosen_sweeps(overrides: Sequence[str]) -> list[str]:
    """The sweep files that the overrides name.

    Raises:
        ConfigError: several in one override.
    """
    named = [o for o in parse(overrides) if o.get_key_element().lstrip("+") == SWEEPS]
    if any(o.is_sweep_override() for o in named):
        raise ConfigError("+sweeps: give one sweep at a time, each with a command of its own.")
    return [str(o.value()) for o in named]


def check_jobs(conf: Path, all_jobs: list[list[str]]) -> None:
    """Composes every job and builds its typed configuration.

    Raises:
        ConfigError: naming how many jobs are refused and why the first is.
    """
    refused = []
    with composing(conf):
        for overrides in all_jobs:
            try:
                config.check_files(config.to_typed(compose("config", overrides)))
            except Exception as error:
                message = explain(error)
                if message is None:
                    raise
                refused.append((overrides, message))
    if refused:
        overrides, message = refused[0]
        shown = " ".join(o for o in overrides if not o.startswith("hydra."))
        raise ConfigError(
            f"{len(refused)} of {len(all_jobs)} jobs cannot run, so none was started. "
            f"The first is `{shown}`: {message}"
        )


@contextmanager
def composing(conf: Path) -> Iterator[None]:
    """Lets `compose` read `conf`; Hydra's global state is empty before and after."""
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf), version_base="1.3"):
            yield
    finally:
        GlobalHydra.instance().clear()


def snapshot(conf: Path, output_dir: Path) -> Path:
    """Copies conf and sweeps to a folder named by their content; returns that folder."""
    folders = {"conf": conf, SWEEPS: Path(SWEEPS)}
    files = {
        Path(name) / path.relative_to(folder): path
        for name, folder in folders.items()
        for path in sorted(folder.rglob("*.yaml"))
    }
    content = hashlib.sha256()
    for name, path in files.items():
        content.update(f"{name}\n".encode() + path.read_bytes())
    target = (output_dir / "multirun" / f"conf-{content.hexdigest()[:12]}").resolve()
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=target.parent, prefix=".conf-"))
    except OSError as error:
        raise ConfigError(
            f"output_dir={output_dir}: cannot be written ({error.strerror}). "
            "Choose another: output_dir=FOLDER."
        ) from error
    try:
        for name, path in files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, made / name)
        if not target.is_dir():  # else another process made the same one first
            os.rename(made, target)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return target
