"""Whether a model can run on a machine, judged by its configuration; nothing is loaded."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path

from huggingface_hub import constants, get_token
from huggingface_hub.file_download import repo_folder_name

from trace import config
from trace.models.folder import folder_problem, lacking

SDKS: Mapping[type[config.Engine], tuple[str, str]] = {
    config.BedrockEngine: ("boto3", "boto3"),
    config.AzureEngine: ("azure.ai.contentsafety", "azure-ai-contentsafety"),
    config.ModelArmorEngine: ("google.cloud.modelarmor", "google-cloud-modelarmor"),
}
"""The module and the package of the SDK that an engine needs."""
OPTIONAL = ("bitsandbytes", "vllm", *(module for module, _ in SDKS.values()))
"""Modules that some engines need and that are not always installed."""
OVERHEAD = 1.2
"""Memory of inference, in that of the weights: Anthony et al., Transformer Math 101 (2023)."""

_WIDTH = {"bfloat16": 2.0, "float16": 2.0, "float32": 4.0, "int8": 1.0, "nf4": 0.5, "fp4": 0.5}
"""Bytes a parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a machine has.

    `memory` (None where unknown) and `gpu_memory`, one value a GPU, are in bytes. `packages` are
    those of `OPTIONAL` that are installed; `environment` holds the names of the variables that
    have a value, never a value. Of the model ids that were looked for, `weights` are those whose
    weights lie on its disk, and `problems` says what is wrong with a folder.
    """

    memory: int | None = None
    gpu_memory: tuple[int, ...] = ()
    packages: frozenset[str] = frozenset()
    environment: frozenset[str] = frozenset()
    weights: frozenset[str] = frozenset()
    problems: Mapping[str, str] = field(default_factory=dict)
    hub_token: bool = False
    offline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a model can run. `reason` says why not, or what a run does first; else empty."""

    runs: bool
    reason: str = ""


def verdict(settings: config.Model, machine: Machine) -> Verdict:
    """Whether the model of a configuration can run on a machine.

    No server is asked: a key may be wrong, and a hub or a server out of reach.
    """
    if lacking := missing_package(settings.engine, machine):
        return Verdict(runs=False, reason=lacking)
    return _verdict(settings.engine, settings, machine)


def missing_package(engine: config.Engine, machine: Machine) -> str | None:
    """What has to be installed before the engine can start; None if nothing."""
    if isinstance(engine, config.VllmEngine) and "vllm" not in machine.packages:
        return "the package vllm is not installed"
    module, package = SDKS.get(type(engine), ("", ""))
    if module and module not in machine.packages:
        return f"the package {package} is not installed"
    quantised = isinstance(engine, config.HfEngine) and engine.quantisation != "none"
    if quantised and "bitsandbytes" not in machine.packages:
        return "model.engine.quantisation: the package bitsandbytes is not installed"
    return None


def memory_needed(settings: config.Model) -> int | None:
    """About how much memory the model takes, in bytes, at the engine's precision.

    Weights that come quantised count as they come: hardware that cannot use them so unpacks them.
    None where nothing is loaded, or where the number of parameters or their width is not known.
    """
    engine = settings.engine
    if isinstance(engine, config.HfEngine):
        width = _WIDTH[engine.dtype if engine.quantisation == "none" else engine.quantisation]
    elif isinstance(engine, config.VllmEngine) and engine.quantisation is None:
        width = _WIDTH[engine.dtype]
    else:
        return None
    if settings.parameters is None:
        return None
    if settings.bits is not None:
        width = min(width, settings.bits / 8)
    return round(settings.parameters * 1e9 * width * OVERHEAD)


def this_machine(ids: Iterable[str] = ()) -> Machine:
    """The machine this process runs on.

    Args:
        ids: Hugging Face ids or folders, whose weights are looked for on the disk.
    """
    named = frozenset(ids)
    folders = frozenset(filter(config.is_folder, named))
    problems = {name: said for name in folders if (said := folder_problem(name))}
    return Machine(
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if hasattr(os, "sysconf")
        else None,
        gpu_memory=_gpu_memory(),
        packages=frozenset(filter(_installed, OPTIONAL)),
        environment=frozenset(name for name, value in os.environ.items() if value),
        weights=(folders - problems.keys()) | frozenset(filter(_cached, named - folders)),
        problems=problems,
        hub_token=get_token() is not None,
        offline=constants.HF_HUB_OFFLINE,
    )


@singledispatch
def _verdict(engine: config.Engine, settings: config.Model, machine: Machine) -> Verdict:
    raise TypeError(f"no engine for {type(engine).__name__}")


@_verdict.register
def _(engine: config.MockEngine, settings: config.Model, machine: Machine) -> Verdict:
    return Verdict(runs=True)


@_verdict.register
def _(engine: config.RuleEngine, settings: config.Model, machine: Machine) -> Verdict:
    return Verdict(runs=True, reason="a rule of a benchmark: it sits on panels")


@_verdict.register
def _(engine: config.RemoteEngine, settings: config.Model, machine: Machine) -> Verdict:
    key = getattr(settings, "api_key_env", None)
    if key is not None and key not in machine.environment:
        return Verdict(runs=False, reason=f"the environment variable {key} is not set")
    paid = isinstance(engine, config.CloudEngine)
    return Verdict(runs=True, reason="its provider is asked, who has to be paid" if paid else "")


@_verdict.register
def _(engine: config.HfEngine, settings: config.Model, machine: Machine) -> Verdict:
    gpus = machine.gpu_memory
    if engine.device.startswith("cuda") and not gpus:
        return Verdict(runs=False, reason=f"model.engine.device={engine.device}: no GPU was found")
    if not gpus or engine.device in ("cpu", "mps"):
        return _fits(settings, machine, machine.memory, "memory")
    room = sum(gpus) if engine.device_map else max(gpus)
    return _fits(settings, machine, room, "GPU memory")


@_verdict.register
def _(engine: config.VllmEngine, settings: config.Model, machine: Machine) -> Verdict:
    gpus = sorted(machine.gpu_memory, reverse=True)
    if not gpus:
        return _fits(settings, machine, machine.memory, "memory")
    wanted = engine.tensor_parallel * engine.pipeline_parallel
    if len(gpus) < wanted:
        return Verdict(runs=False, reason=f"model.engine asks for {wanted} GPUs of {len(gpus)}")
    return _fits(settings, machine, int(sum(gpus[:wanted]) * engine.memory), "GPU memory")


def _fits(settings: config.Model, machine: Machine, room: int | None, what: str) -> Verdict:
    """Whether a model that is loaded finds its weights, and the room, in bytes."""
    if problem := machine.problems.get(settings.id or ""):
        return Verdict(runs=False, reason=problem)
    needed = memory_needed(settings)
    if needed is not None and room is not None and needed > room:
        return Verdict(runs=False, reason=f"it needs more than the {gigabytes(room)} of {what}")
    if settings.asset is not None or settings.id in machine.weights:
        return Verdict(runs=True)
    if machine.offline:
        return Verdict(runs=False, reason="its weights are not here, and HF_HUB_OFFLINE is set")
    if settings.gated and not machine.hub_token:
        return Verdict(
            runs=False, reason="gated: accept its licence on the Hugging Face hub, set HF_TOKEN"
        )
    return Verdict(runs=True, reason="its weights are fetched from the Hugging Face hub, once")


def gigabytes(size: float) -> str:
    """A size in bytes for people, in decimal gigabytes."""
    return f"{size / 1e9:.0f} GB" if size >= 9.5e8 else f"{size / 1e9:.1f} GB"


def _gpu_memory() -> tuple[int, ...]:
    """Bytes of every NVIDIA GPU that this process may use; torch would take seconds to say it."""
    program = shutil.which("nvidia-smi")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if program is None or visible in ("", "-1"):
        return ()
    command = [program, "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    if visible is not None:
        command.append(f"--id={visible}")
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(int(line) << 20 for line in said.stdout.split() if line.isdigit())


def _installed(module: str) -> bool:
    """Whether a module is there; of one inside a package that is not, `find_spec` only fails."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _cached(name: str) -> bool:
    """Whether the hub's cache holds the weights of that id, all of them."""
    folder = repo_folder_name(repo_id=name, repo_type="model")
    snapshots = Path(constants.HF_HUB_CACHE, folder, "snapshots").glob("*/")
    return any(lacking(snapshot) is None for snapshot in snapshots)
