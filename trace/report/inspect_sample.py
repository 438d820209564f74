"""One sample of an Inspect log: what was asked, what was answered, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trace.records import Completion, Json, Request, digest

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


def sample_of(run: Exported, line: Json, target: str | None) -> dict[str, Any]:
    """A line of records.jsonl as an Inspect sample; `target` is its right label, or None."""
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
