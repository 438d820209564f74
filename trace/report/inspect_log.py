"""A finished run in the format of Inspect's logs, which `inspect view` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trace.errors import ConfigError
from trace.records import Completion, Json, Request, digest
from trace.tracking.files import atomic_path
from trace.tracking.secrets import redact

SCORE = "verdict"
"""What the one score of every sample is called."""

_STOPS = {"stop": "stop", "length": "max_tokens", "too_long": "model_length",
          "content_filter": "content_filter"}  # fmt: skip
_ROLES = {"developer": "system", "system": "system", "assistant": "assistant"}
_SHOWN = ("id", "epoch", "verdict", "judges", "completion", "completions", "response")
"""Fields of a record that have a place of their own in a sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What a run directory holds, and what is known beside it.

    `config` and `manifest` are its files, `metrics` those of metrics.json, `lines` the records.
    `targets` has the right label of each line under the protocol, None where there is none.
    `asked` maps the key of a completion to its request, as far as that could be put together.
    """

    config: Mapping[str, Json]
    manifest: Mapping[str, Json]
    metrics: Mapping[str, Json]
    lines: Sequence[Json]
    targets: Sequence[str | None]
    asked: Mapping[str, Request]

    @property
    def measured(self) -> str:
        """Who is measured: a respondent, or who judges, alone or as a panel."""
        panel = self.config["judges"]
        who = panel if panel and "response" not in self.lines[0] else self.config["model"]
        return str(who["name"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    by: str
    request: Request | None
    completion: Completion


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
            _sample(run, line, target) for line, target in zip(run.lines, run.targets, strict=True)
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


def _sample(run: Exported, line: Json, target: str | None) -> dict[str, Any]:
    turns = list(_turns(run, line))
    unique = digest([run.manifest["run"], line["id"], line["epoch"]])[:16]
    first: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    choices: list[dict[str, Any]] = []
    for turn in turns:
        choice, start = _choice(turn), len(messages)
        messages += [*_said(turn.request), choice["message"]]
        for n, message in enumerate(messages[start:], start):
            message["id"] = f"{unique}-{n}"  # else Inspect draws one
        first = first or messages[start:-1]
        choices.append(choice)
    gold = line["gold"]
    return {
        "id": line["id"],
        "epoch": line["epoch"] + 1,
        "uuid": unique,
        "input": first or line.get("question", line["id"]),
        "target": target or "",
        "messages": messages,
        "output": _output(turns, choices),
        "scores": {SCORE: _score(line)},
        "metadata": {
            "gold": gold["label"],
            "class": gold["class"],
            "domain": gold["domain"],
            "evidence": line["verdict"]["evidence"],
            **{k: v for k, v in line.items() if k not in (*_SHOWN, "gold", "sample")},
            "sample": line["sample"],
        },
    }


def _turns(run: Exported, line: Json) -> Iterator[_Turn]:
    """What was asked of whom, and answered; of a respondent only what it was asked itself."""
    if "response" in line:
        made = {run.config["model"]["name"]: [line["response"]]}
    elif "completion" in line:
        made = {run.measured: [line["completion"]]}
    else:
        made = line["completions"]
    for name, completions in made.items():
        for one in filter(None, completions):
            completion = Completion.from_json(one)
            yield _Turn(by=name, request=run.asked.get(completion.key), completion=completion)


def _said(request: Request | None) -> list[dict[str, Any]]:
    """The messages of a request; of a literal prompt, one."""
    if request is None:
        return []
    roles = [message["role"] for message in request.messages] or ["user"]
    return [
        {"role": _ROLES.get(role, "user"), "content": text, "source": "input"}
        for role, text in zip(roles, request.texts, strict=True)
    ]


def _choice(turn: _Turn) -> dict[str, Any]:
    completion = turn.completion
    content: Json = completion.text
    if completion.reasoning is not None:
        content = [
            {"type": "reasoning", "reasoning": completion.reasoning},
            {"type": "text", "text": completion.text},
        ]
    return {
        "message": {
            "role": "assistant",
            "content": content,
            "source": "generate",
            "model": turn.by,
        },
        "stop_reason": _STOPS.get(completion.finish, "unknown"),
    }


def _output(turns: Sequence[_Turn], choices: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    made = [turn.completion for turn in turns]
    read, written = (sum(getattr(c, f"{k}_tokens") for c in made) for k in ("prompt", "completion"))
    thought = [c.reasoning_tokens for c in made if c.reasoning_tokens is not None]
    return {
        "model": ", ".join(dict.fromkeys(turn.by for turn in turns)),
        "choices": list(choices),
        "usage": {
            "input_tokens": read,
            "output_tokens": written,
            "total_tokens": read + written,
            "reasoning_tokens": sum(thought) if thought else None,
        },
        "error": next((c.error for c in made if c.error), None),
        "metadata": {
            "likelihoods": [
                {label: score.logprob for label, score in c.scores.items()}
                for c in made
                if c.scores is not None
            ],
        },
    }


def _score(line: Json) -> dict[str, Any]:
    """The verdict. One without a label is no number, as `Score.unscored` writes it."""
    verdict = line["verdict"]
    scored = verdict["status"] == "ok"
    return {
        "value": verdict["label"] if scored else float("nan"),
        "answer": verdict["label"],
        "reason": None if scored else verdict["status"],
        "explanation": verdict["rationale"],
        "metadata": {**verdict, "judges": line["judges"], **_replies(line)},
    }


def _replies(line: Json) -> dict[str, Json]:
    """What the judges of a respondent wrote; those of samples are what the output shows."""
    if "response" not in line:
        return {}
    return {key: line[key] for key in ("completion", "completions") if key in line}


def _encodable(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value
