"""The nouns that travel: sample, request, completion, verdict, record.

Each is immutable and plain data, so that it can be written as one JSON line and read back equal.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Json: TypeAlias = Any
"""Anything `json.loads` can return."""

Status: TypeAlias = Literal[
    "ok", "unparsable", "refused", "truncated", "too_long", "error", "unsupported"
]
Finish: TypeAlias = Literal["stop", "length", "too_long", "content_filter", "error"]


def canonical(value: Json) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text. NaN is refused."""
    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )


def digest(value: Json) -> str:
    """The sha256 of the canonical JSON of `value`, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """What the benchmark says about a sample. `label` is None where a respondent is studied."""

    label: Literal["safe", "unsafe"] | None
    domain: str | None = None
    class_: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The shape that stands in records.jsonl."""
        return {"label": self.label, "domain": self.domain, "class": self.class_}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One benchmark item.

    `view` is the whitelist of what a judge may see: section name -> text or JSON, in the order
    shown. `cluster` names the source that several samples share (resampled together). `meta` is
    what breakdowns need; no judge sees it.
    """

    id: str
    gold: Gold
    view: Mapping[str, Json]
    cluster: str
    meta: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A continuous piece of a text: `source[start:end] == text`, in Unicode code points."""

    start: int
    end: int
    text: str


def united(spans: Iterable[Span], source: str) -> tuple[Span, ...]:
    """The spans in order, with those that overlap or touch made one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted((span.start, span.end) for span in spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(Span(start=s, end=e, text=source[s:e]) for s, e in joined)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How tokens are drawn. At temperature 0 (greedy) `top_p` and `seed` play no part."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_new_tokens: int = 1024
    seed: int = 42
    stop: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """What of the sampling can change a completion."""
        out: dict[str, Json] = {
            "temperature": self.temperature,
            "max_new_tokens": self.max_new_tokens,
            "stop": list(self.stop),
        }
        if self.temperature > 0:
            out |= {"top_p": self.top_p, "seed": self.seed}
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """A vector that is added to the residual stream while a request is answered (steering).

    `vector` is the sha256 of the stored vector, which is added `alpha` times behind the decoder
    layer `layer`: at all tokens, or only where the answer's tokens are chosen (`generated`: the
    last token of the prompt and all that follow).
    """

    vector: str
    layer: int
    alpha: float
    tokens: Literal["all", "generated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All that a model is asked: messages for its chat template, or the whole prompt as text.

    A `literal` prompt stands without the beginning-of-sequence token, which the engine adds.

    With `labels` nothing is generated: the likelihood of each label string after `prefix` (the
    forced beginning of the answer) is returned instead. `planted` tells the mock engine, and no
    other, what is right (trace.models.mock.plant); like `sample` it is not part of the key.
    `reply` is which of its replies a mock deals; it is part of the key where it is set, and so is
    `push`, how the model is steered.
    """

    messages: tuple[Mapping[str, Json], ...] = ()
    literal: str | None = None
    sampling: Sampling = Sampling()
    labels: tuple[str, ...] = ()
    prefix: str = ""
    template_args: Mapping[str, Json] = field(default_factory=dict)
    epoch: int = 0
    sample: str = ""
    planted: str | None = None
    reply: int | None = None
    push: Push | None = None

    @property
    def texts(self) -> list[str]:
        """The text of each message; or the literal prompt alone."""
        if self.literal is not None:
            return [self.literal]
        contents = [message["content"] for message in self.messages]
        return [c if isinstance(c, str) else "".join(part["text"] for part in c) for c in contents]

    def key(self, identity: Mapping[str, Json]) -> str:
        """The sha256 of the whole request and of the model that is asked."""
        return digest(
            {
                "messages": [dict(m) for m in self.messages],
                "sampling": None if self.labels else self.sampling.to_json(),
                "labels": list(self.labels),
                "prefix": self.prefix,
                "template_args": dict(self.template_args),
                "epoch": self.epoch,
                "model": dict(identity),
            }
            | ({} if self.reply is None else {"reply": self.reply})
            | ({} if self.literal is None else {"literal": self.literal})
            | ({} if self.push is None else {"push": dataclasses.asdict(self.push)})
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelScore:
    """The summed log-likelihood (nats) of a label string and its number of tokens."""

    logprob: float
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a model returned. `scores` is set when the request had labels, `text` otherwise.

    `top` is the likeliest token where the labels begin: if it begins none of them, the model would
    have written something else.

    `reasoning` is None when the model gave none; `reasoning_closed` is False when it ran out of
    tokens inside it. `reasoning_tokens` are those completion tokens that a server says went into
    reasoning, hidden or not; None where it does not tell. `seconds`, `engine` and `batch_rows`
    describe how it was made and are kept in the log only.
    """

    key: str
    text: str = ""
    reasoning: str | None = None
    reasoning_closed: bool = True
    finish: Finish = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int | None = None
    scores: Mapping[str, LabelScore] | None = None
    top: str | None = None
    error: str | None = None
    engine: str = ""
    batch_rows: int = 0
    seconds: float = 0.0

    def to_json(self) -> dict[str, Json]:
        """One line of the completion log."""
        line = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        if self.scores is not None:
            line["scores"] = {
                label: {"logprob": score.logprob, "tokens": score.tokens}
                for label, score in self.scores.items()
            }
        return line

    @classmethod
    def from_json(cls, line: Mapping[str, Json]) -> Completion:
        """Reads a line of the completion log back. Unknown fields are an error."""
        scores = line.get("scores")
        return cls(
            **{k: v for k, v in line.items() if k != "scores"},
            scores=scores and {label: LabelScore(**score) for label, score in scores.items()},
        )

    def in_record(self) -> dict[str, Json]:
        """The part that is a function of the request alone, for records.jsonl."""
        line = self.to_json()
        kept = ("key", "text", "reasoning", "finish", "prompt_tokens", "completion_tokens",
                "reasoning_tokens", "scores", "error")  # fmt: skip
        return {k: line[k] for k in kept}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A parsed judgement. Only status `ok` carries a label; `score` is P(unsafe).

    `categories` are a guard's own codes, as it wrote them, and `evidence` the pieces of the sample
    that it quoted, as it wrote them too.
    """

    status: Status
    label: str | None = None
    score: float | None = None
    evidence: tuple[str, ...] = ()
    rationale: str | None = None
    categories: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.status == "ok") != (self.label is not None):
            raise ValueError(f"a verdict has a label exactly when it is ok: {self}")

    def to_json(self) -> dict[str, Json]:
        """The shape that stands in records.jsonl; `categories` only where there are any."""
        line = dataclasses.asdict(self) | {"evidence": list(self.evidence) or None}
        return {k: list(v) if k == "categories" else v for k, v in line.items() if v != ()}

    @classmethod
    def from_json(cls, line: Mapping[str, Json]) -> Verdict:
        """Reads `to_json` back. Unknown fields are an error."""
        lists = {k: tuple(line.get(k) or ()) for k in ("categories", "evidence")}
        return cls(**{**line, **lists})


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One line of records.jsonl: a sample, and how it was judged.

    `verdict` is the one that is scored: of the only judge, or of the panel. `answers` are the
    completions of each judge; one that is asked several things about a sample has several, a rule
    has none. `identities` hash what tells each judge from others. `excluded` are judges
    whose vote was set aside.
    """

    id: str
    gold: Gold
    condition: str
    protocol: str
    verdict: Verdict
    judges: Mapping[str, Verdict]
    answers: Mapping[str, tuple[Completion, ...]]
    cluster: str
    epoch: int = 0
    identities: Mapping[str, str] = field(default_factory=dict)
    excluded: frozenset[str] = frozenset()
    meta: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """The line, with the key names of the files on disk."""
        return {
            "id": self.id,
            "gold": self.gold.to_json(),
            "condition": self.condition,
            "protocol": self.protocol,
            "epoch": self.epoch,
            "verdict": self.verdict.to_json(),
            "judges": {
                name: {**verdict.to_json(), "model": self.identities.get(name)}
                | ({"excluded": True} if name in self.excluded else {})
                for name, verdict in self.judges.items()
            },
            **self._completions(),
            "sample": {"cluster": self.cluster, **self.meta},
        }

    def _completions(self) -> dict[str, Json]:
        """`completion` where there is one, else `completions` by judge."""
        lines = {name: [c.in_record() for c in made] for name, made in self.answers.items()}
        if len(lines) == 1 and len(*lines.values()) == 1:
            return {"completion": next(iter(lines.values()))[0]}
        return {"completions": lines}
