"""From what Hydra composed to typed objects; unknown keys are refused."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf

from trace.config.benchmarks import MODEL_PANELS, MODEL_SLOTS
from trace.config.root import Root
from trace.errors import ConfigError


def _unknown_keys(node: Any, typed: Any, at: str = "") -> Iterator[str]:
    if isinstance(node, DictConfig) and isinstance(typed, dict):
        for key, value in typed.items():
            yield from _unknown_keys(node._get_node(key), value, f"{at}.{key}")
    if not isinstance(node, DictConfig) or not dataclasses.is_dataclass(typed):
        return
    names = {f.name for f in dataclasses.fields(typed)}
    for key in node:
        path = f"{at}.{key!s}" if at else str(key)
        if key not in names:
            yield path
        else:
            yield from _unknown_keys(node._get_node(key), getattr(typed, str(key)), path)


def to_typed(composed: DictConfig | ListConfig) -> Root:
    """Turns what Hydra composed into the checked `Root`.

    Raises:
        ConfigError: a value is missing, wrong, or stands under a key that nothing reads.
    """
    tree = OmegaConf.create(composed)  # a copy: the caller's tree keeps its hydra node
    assert isinstance(tree, DictConfig)
    OmegaConf.set_readonly(tree, False)
    OmegaConf.set_struct(tree, False)
    tree.pop("hydra", None)
    if missing := sorted(OmegaConf.missing_keys(tree)):
        first = missing[0]
        raise ConfigError(f"{first}: no value. Give one on the command line: {first}=…")
    tree.output_dir = str(_expanded(tree.output_dir, "output_dir"))
    for slot in _slots(tree):
        try:
            OmegaConf.to_object(OmegaConf.select(tree, slot))
        except ConfigError as error:  # a model does not know where it stands
            raise ConfigError(re.sub(r"\bmodel(?=[.=/])", slot, str(error))) from error
    typed = OmegaConf.to_object(tree)
    assert isinstance(typed, Root)
    for key in _unknown_keys(tree, typed):
        raise ConfigError(f"{key}: no such key{nearest(key, _keys(typed))}")
    return typed


def _slots(tree: DictConfig) -> list[str]:
    """The keys that hold a further model."""
    panels = [(at, OmegaConf.select(tree, at) or {}) for at in MODEL_PANELS]
    keys = [*MODEL_SLOTS, *(f"{at}.{name}" for at, panel in panels for name in panel)]
    return [key for key in keys if isinstance(OmegaConf.select(tree, key), DictConfig)]


def check_files(settings: Root) -> None:
    """Finds out whether the files that a configuration names are there.

    Raises:
        ConfigError: one is not.
    """
    named: dict[str, str | None] = {
        "benchmark.path": getattr(settings.benchmark, "path", None),
        "benchmark.base": getattr(settings.benchmark, "base", None),
        "benchmark.builder.s_eval": _at(settings, "benchmark.builder.s_eval"),
        "benchmark.builder.wildchat": _at(settings, "benchmark.builder.wildchat"),
        "task.capability": getattr(settings.task, "capability", None),
        "scoring.labelled": settings.scoring.labelled,
        "judgements": settings.judgements,
        "annotate.source": settings.annotate.source,
        "annotate.export": settings.annotate.export,
        "annotate.imported": settings.annotate.imported,
        "probe.run": settings.probe.run,
        "probe.activations": settings.probe.activations,
        "steering.vector": settings.steering.vector,
        "judges.exclusions": getattr(settings.judges, "exclusions", None),
    }
    named |= {f"{k}.replies": getattr(m, "replies", None) for k, m in _models(settings).items()}
    for key, path in named.items():
        if path is not None and not _expanded(path, key).exists():
            raise ConfigError(f"{key}: {path} does not exist. Check the path.")


def _expanded(path: str, key: str) -> Path:
    """The path with `~` replaced."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:  # ~name of nobody
        raise ConfigError(f"{key}: {path} names a home that nobody has. Give a path.") from error


def _models(settings: Root) -> dict[str, Any]:
    """Every model of a configuration by the key where it stands."""
    models: dict[str, Any] = {"model": settings.model}
    models |= {slot: _at(settings, slot) for slot in MODEL_SLOTS}
    for panel in MODEL_PANELS:
        models |= {f"{panel}.{n}": model for n, model in (_at(settings, panel) or {}).items()}
    return models


def _at(typed: Any, key: str) -> Any:
    """What stands under a dotted key; None where it leads nowhere."""
    for name in key.split("."):
        typed = getattr(typed, name, None)
    return typed


def _keys(typed: Any, at: str = "") -> Iterator[str]:
    for f in dataclasses.fields(typed):
        path = f"{at}.{f.name}" if at else f.name
        yield path
        if dataclasses.is_dataclass(value := getattr(typed, f.name)):
            yield from _keys(value, path)


def nearest(word: str, choices: Iterable[str]) -> str:
    """A sentence that offers the choices nearest to `word`; empty when none is near."""
    near = difflib.get_close_matches(word, sorted(set(choices) - {word}), n=3, cutoff=0.6)
    return f". Did you mean {' or '.join(near)}?" if near else "."
