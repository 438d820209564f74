"""Finished run directories, read back and checked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from trace.errors import DataError
from trace.records import Json, Verdict, digest
from trace.report.asked import component, settings, unusual, weights
from trace.report.runs import Observation, Run
from trace.stats.classification import confusion
from trace.tracking.files import read_jsonl

FILES = ("config.yaml", "manifest.json", "metrics.json", "records.jsonl")
"""What a finished run directory holds."""

AGAIN = "Remove the directory and type its command again: what was answered is in the log."


def finished(path: Path) -> bool:
    """Whether the run directory is complete and not being worked on."""
    if not all((path / name).is_file() for name in FILES):
        return False
    return bool(_json(path / "manifest.json").get("ended"))


def study_of(path: Path) -> str | None:
    """The benchmark that a run directory evaluates something on; None if it is none."""
    if not all((path / name).is_file() for name in ("config.yaml", "manifest.json")):
        return None
    kept = config_of(path)
    task, benchmark = kept.get("task", {}), kept.get("benchmark", {})
    return benchmark.get("name") if task.get("name") == "evaluate" else None


def read(path: Path) -> Run | None:
    """Reads a finished run directory; None if no judge was tested in it.

    Raises:
        DataError: a file cannot be read, or the records are not those of the metrics.
    """
    config, manifest, metrics = config_of(path), _json(path / FILES[1]), _json(path / FILES[2])
    try:
        if config["task"]["name"] != "evaluate" or "confusion" not in metrics["breakdowns"]:
            return None
        shown = metrics["breakdowns"]["confusion"]
        labels = tuple(shown["labels"])
        model = config["model"]
        if panel := config.get("judges"):
            model = {"name": panel["name"], "kind": "panel", "family": None, "parameters": None}
        run = Run(
            path=path,
            digest=manifest["run"],
            benchmark=config["benchmark"]["name"],
            model=model["name"],
            kind=model["kind"],
            family=model["family"],
            parameters=model["parameters"],
            protocol=config["protocol"]["name"],
            variant=", ".join(unusual(config)),
            wording=config["protocol"].get("variant", "plain"),
            settings=settings(config),
            own_prompt=bool(model.get("guard") or config.get("judges")),
            weights="" if config.get("judges") else weights(model, manifest),
            condition=component(config),
            guard=model.get("guard"),
            base=model.get("base"),
            trained_on=model.get("trained_on"),
            quotes=config["protocol"].get("evidence", False),
            metrics=metrics["metrics"],
            labels=labels,
            epochs=config["epochs"],
            data=manifest["data"],
            prompt=manifest["prompt"],
            observations=tuple(_observations(path, config["protocol"]["answers"], labels)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: is of another version ({error!r}). {AGAIN}") from None
    _check(run, shown["counts"])
    return run


def _observations(path: Path, answers: str, labels: tuple[str, ...]) -> Iterator[Observation]:
    for line in read_jsonl(path / "records.jsonl"):
        gold = line["gold"]
        binary = labels[0] if gold["label"] == "safe" else labels[-1]
        yield Observation(
            id=line["id"],
            epoch=line["epoch"],
            gold={"binary": binary, "domain": gold["domain"], "class": gold["class"]}[answers],
            class_=gold["class"] or gold["domain"] or gold["label"],
            cluster=line["sample"]["cluster"],
            verdict=Verdict.from_json(line["verdict"]),
            key=digest([c["key"] for c in _completions(line)]),
            reply=next((c["text"] for c in _completions(line)), ""),
            sample=line["sample"],
        )


def _completions(line: Mapping[str, Json]) -> list[Json]:
    if "completion" in line:
        return [line["completion"]]
    return [one for made in line["completions"].values() for one in made]


def _check(run: Run, counts: list[list[int]]) -> None:
    """The records are complete, and those that the metrics were made of."""
    if not run.observations:
        raise DataError(f"{run.path}: records.jsonl is empty. {AGAIN}")
    times = Counter((o.id, o.epoch) for o in run.observations)
    ids = {o.id for o in run.observations}
    wanted = {(i, e) for i in ids for e in range(run.epochs)}
    if wrong := sorted({i for (i, _), n in times.items() if n > 1}):
        raise DataError(f"{run.path}: {_some(wrong)} stand twice in one epoch. {AGAIN}")
    if wrong := sorted({i for i, _ in wanted ^ times.keys()}):
        raise DataError(f"{run.path}: {_some(wrong)} lack one of {run.epochs} epochs. {AGAIN}")
    gold, label = zip(*((o.gold, o.verdict.label) for o in run.observations), strict=True)
    if strange := {*gold, *filter(None, label)} - set(run.labels):
        raise DataError(f"{run.path}: {_some(sorted(strange))} are no labels of it. {AGAIN}")
    if confusion(gold, label, run.labels) != counts:
        raise DataError(
            f"{run.path}: records.jsonl ({len(gold)} lines) and metrics.json "
            f"({sum(map(sum, counts))} samples) do not agree. {AGAIN}"
        )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def config_of(path: Path) -> dict[str, Any]:
    """The configuration that a run directory keeps.

    Raises:
        DataError: it cannot be read.
    """
    file = path / "config.yaml"
    try:
        tree = OmegaConf.to_container(OmegaConf.load(file))
    except (OSError, YAMLError, OmegaConfBaseException, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read ({type(error).__name__}). {AGAIN}") from None
    if not isinstance(tree, dict):
        raise DataError(f"{file}: holds no configuration. {AGAIN}")
    return {str(key): value for key, value in tree.items()}


def _json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: cannot be read ({type(error).__name__}). {AGAIN}") from None
    if not isinstance(value, dict):
        raise DataError(f"{file}: holds no table. {AGAIN}")
    return value
