"""A finished run in the format of Inspect's logs, which `inspect view` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trace.errors import ConfigError
from trace.records import Json, digest
from trace.report.inspect_sample import SCORE, Exported, sample_of
from trace.tracking.files import atomic_path
from trace.tracking.secrets import redact


def check_installed() -> None:
    """Whether there is anything that writes such logs.

    Raises:
        ConfigError: there is not.
    """
    if find_spec("inspect_ai") is None:
        raise ConfigError(
            "task=export: inspect_ai is not installed. Type: pip install '.[inspect]'"
        )


def write_log(path: Path, log: Mapping[str, Any]) -> None:
    """Writes a log in the format that the ending of `path` names: `.eval` or `.json`.

    Args:
        path: the file.
        log: as `log_of` makes it.
    """
    from inspect_ai.log import EvalLog, write_eval_log

    with atomic_path(path) as temporary:
        write_eval_log(EvalLog.model_validate(log), str(temporary))


def log_of(run: Exported) -> dict[str, Any]:
    """The whole log as plain data: a function of the run directory, without credentials.

    Ids are hashes and times those of the run, so that the same run gives the same log. A lone
    surrogate, which Inspect cannot write, becomes its escape.
    """
    log = {
        "status": "success",
        "eval": _spec(run),
        "results": _results(run),
        "stats": {
            "started_at": run.manifest["started"],
            "completed_at": run.manifest["ended"],
        },
        "samples": [
            sample_of(run, line, target)
            for line, target in zip(run.lines, run.targets, strict=True)
        ],
    }
    cleaned: dict[str, Any] = _encodable(redact(log))
    return cleaned


def _spec(run: Exported) -> dict[str, Any]:
    config, manifest = run.config, run.manifest
    whole, code, drawn = manifest["run"], manifest.get("code") or {}, config["sampling"]
    parts = {"condition": config["condition"]["name"], "protocol": config["protocol"]["name"]}
    ids = list(dict.fromkeys(line["id"] for line in run.lines))
    told = ("run", "command", "data", "model", "judge", "judges", "prompt", "licence", "notes")
    revision = {"type": "git", "origin": "", "commit": code.get("commit"),
                "dirty": code.get("dirty")}  # fmt: skip
    return {
        "eval_id": whole[:22],
        "run_id": digest([whole, "run"])[:22],
        "task_id": digest([whole, "task"])[:22],
        "created": manifest["started"],
        "task": config["benchmark"]["name"],
        "task_display_name": " ".join((config["benchmark"]["name"], *parts.values())),
        "task_args": parts,
        "dataset": {
            "name": config["benchmark"]["name"],
            "samples": len(ids),
            "sample_ids": ids,
        },
        "model": run.measured,
        "model_generate_config": {
            "temperature": drawn["temperature"],
            "top_p": drawn["top_p"],
            "max_tokens": drawn["max_new_tokens"],
            "seed": drawn["seed"],
        },
        "config": {"epochs": config["epochs"]},
        "revision": revision if code.get("commit") else None,
        "packages": dict(manifest.get("packages") or {}),
        "metadata": {key: manifest[key] for key in told if key in manifest}
        | {"config": dict(config)},
    }


def _results(run: Exported) -> dict[str, Any]:
    scored = sum(line["verdict"]["status"] == "ok" for line in run.lines)
    defined = {name: one for name, one in run.metrics.items() if one["value"] is not None}
    undefined = {name: one for name, one in run.metrics.items() if name not in defined}
    statuses = Counter(line["verdict"]["status"] for line in run.lines)
    return {
        "total_samples": len(run.lines),
        "completed_samples": len(run.lines),
        "scores": [
            {
                "name": SCORE,
                "scorer": "trace",
                "scored_samples": scored,
                "unscored_samples": len(run.lines) - scored,
                "metrics": {
                    name: {
                        "name": name,
                        "value": one["value"],
                        "metadata": {key: value for key, value in one.items() if key != "value"},
                    }
                    for name, one in defined.items()
                },
                "metadata": {"statuses": dict(sorted(statuses.items())), "undefined": undefined},
            }
        ],
    }


def _encodable(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value
