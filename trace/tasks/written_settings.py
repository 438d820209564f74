"""The configuration that a run wrote, as typed objects again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from trace import config
from trace.config.benchmarks import MODEL_PANELS, MODEL_SLOTS

_ONE_SCHEMA = ("task", "protocol", "sampling", "scoring", "tracking", "annotate")
_UNREAD = {"probe": config.Probe, "steering": config.Steering, "trainer": config.Trainer}
"""Groups that no evaluation reads."""
_SHARED = {"hf": "base", "vllm": "base", "openai_compatible": "hosted"}
"""Engine -> the schema of its models, where that has another name."""


def typed_again(written: Mapping[str, Any]) -> config.Root:
    """What `config.plain` and the YAML of a run directory made plain, typed and checked.

    A file holds no types: benchmark and engines are told by their names, and the rest by these.

    Args:
        written: what config.yaml holds; it is left as it is.

    Raises:
        TraceError: a value is no longer allowed.
        OmegaConfBaseException, ConfigLoadError, KeyError, TypeError: keys or names are those of
            another version.
    """
    tree = OmegaConf.to_container(OmegaConf.create(dict(written)))
    assert isinstance(tree, dict)
    groups: dict[str, Any] = {str(key): value for key, value in tree.items()}
    for slot in ("model", *MODEL_SLOTS):
        _replace(groups, slot)
    for panel in MODEL_PANELS:
        for name in _at(groups, panel) or {}:
            _replace(groups, f"{panel}.{name}")
    benchmark = _schema("benchmark", groups["benchmark"]["name"], groups["benchmark"])
    groups |= {name: _schema(name, "base", groups[name]) for name in _ONE_SCHEMA}
    groups |= {name: OmegaConf.structured(kind) for name, kind in _UNREAD.items()}
    groups["benchmark"] = benchmark
    groups["condition"] = _schema("condition", _condition(benchmark), groups["condition"])
    if groups["judges"] is not None:
        groups["judges"] = _schema("judges", "base", groups["judges"])
    return config.to_typed(OmegaConf.merge(OmegaConf.structured(config.Root), groups))


def _schema(group: str, name: str, values: Any) -> DictConfig:
    node = ConfigStore.instance().load(f"schema/{group}/{name}.yaml").node
    merged = OmegaConf.merge(node, values)
    assert isinstance(merged, DictConfig)
    return merged


def _condition(benchmark: DictConfig) -> str:
    kind = OmegaConf.get_type(benchmark)
    assert kind is not None
    assert issubclass(kind, config.Benchmark)
    if kind.has_wordings:
        return "wording"
    return "rag" if kind.retrieves else "base"


def _at(groups: Any, key: str) -> Any:
    """What stands under a dotted key; None where it leads nowhere."""
    for name in key.split("."):
        groups = groups.get(name) if isinstance(groups, dict) else None
    return groups


def _replace(groups: dict[str, Any], key: str) -> None:
    """Types the model under a dotted key, where there is one."""
    if (model := _at(groups, key)) is None:
        return
    group, _, name = key.rpartition(".")
    engine = model["engine"]["name"]
    typed = {**model, "engine": _schema("engine", engine, model["engine"])}
    (_at(groups, group) if group else groups)[name] = _schema(
        "model", _SHARED.get(engine, engine), typed
    )
