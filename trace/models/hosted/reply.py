"""From the body of a reply to a completion, or to the fault that it is none."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from trace import config
from trace.models.hosted.fault import Fault, of_status, said
from trace.models.hosted.scores import Unreadable, first_behind, label_scores
from trace.reasoning import split_reasoning
from trace.records import Completion, Finish, Json, Request

_FINISH: dict[Json, Finish] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length"), "length"),
    **dict.fromkeys(
        ("content_filter", "safety", "prohibited_content", "blocklist", "recitation", "refusal"),
        "content_filter",
    ),
}
_ENGINE = re.compile(r"openai_compatible(?: (?P<name>(?!\().*?))?(?: \([^()]*\))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Tokens of one reply, as the server counted them.

    `cached` are part of `prompt`, `reasoning` of `completion`; the latter is None where it does not
    tell.
    """

    prompt: int
    completion: int
    cached: int = 0
    reasoning: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer. `tokens` is None where the server does not count them."""

    completion: Completion
    tokens: Tokens | None


def read_reply(
    body: Json, settings: config.HostedModel, request: Request, key: str, seconds: float
) -> Reply | Fault:
    """Reads the decoded JSON of a reply with status 200.

    An empty text is an answer; a missing one (`content: null`) is none, unless the provider's
    filter took it or the tokens ran out within the reasoning. A `refusal` of the message counts as
    the provider's filter. An unknown `finish_reason` is a fault: the text may have been cut.
    """
    try:
        return _read(body, settings, request, key, seconds)
    except Unreadable as error:
        return Fault(kind="refused", text=f"{error}. Try protocol.answer=generate", billed=True)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        what = f"{type(error).__name__} {error}, in {beginning(json.dumps(body))}"
        return Fault(kind="malformed", text=f"not a chat completion ({what})", billed=True)


def beginning(text: str) -> str:
    """The first words of something unexpected, to be shown."""
    words = " ".join(text[:400].split())
    return repr(words if len(words) <= 80 else words[:80] + "…")


def engine_of(body: Mapping[str, Json]) -> str:
    """How a completion names its maker: the served model's own name, and its fingerprint."""
    name, fingerprint = body.get("model") or "", body.get("system_fingerprint")
    mark = f"({fingerprint})" if fingerprint else ""
    return " ".join(part for part in ("openai_compatible", str(name), mark) if part)


def served_name(engine: str) -> str:
    """The served model's own name in what `engine_of` made; empty where the server told none."""
    match = _ENGINE.fullmatch(engine)
    return (match["name"] if match else None) or ""


def _read(
    body: Json, settings: config.HostedModel, request: Request, key: str, seconds: float
) -> Reply | Fault:
    if error := body.get("error"):  # OpenRouter reports a failing provider with status 200
        status = error.get("code") if isinstance(error, Mapping) else None
        if not isinstance(status, int) or not 400 <= status < 600:
            return Fault(kind="malformed", text=said(error), billed=True)
        found = of_status(status, error, {})
        if isinstance(found, Fault):
            return found
        made = Completion(key=key, finish=found, engine=engine_of(body), seconds=seconds)
        return Reply(completion=made, tokens=_tokens(body))
    if not body["choices"]:
        return Fault(kind="malformed", text="a reply without choices", billed=True)
    choice = body["choices"][0]
    message = choice["message"]
    tokens = _tokens(body)
    made = Completion(
        key=key,
        engine=engine_of(body),
        seconds=seconds,
        prompt_tokens=tokens.prompt if tokens else 0,
        completion_tokens=tokens.completion if tokens else 0,
        reasoning_tokens=tokens.reasoning if tokens else None,
    )
    finish = _FINISH.get(str(choice.get("finish_reason")).lower())
    refusal = message.get("refusal")
    if finish == "content_filter" or refusal:
        text = refusal or message.get("content") or ""
        made = replace(made, text=str(text), finish="content_filter")
        return Reply(completion=made, tokens=tokens)
    if finish is None:
        text = f"finish_reason is {choice.get('finish_reason')!r}"
        return Fault(kind="malformed", text=text, billed=True)
    if request.labels:
        told = (choice.get("logprobs") or {}).get("content")
        if not told:
            raise Unreadable("the server reports no log-probabilities, so model.logprobs is 0 here")
        scores = label_scores(told, request.prefix, request.labels)
        top = first_behind(told, request.prefix)["token"]
        return Reply(completion=replace(made, scores=scores, top=top), tokens=tokens)
    thought = message.get(settings.reasoning_field) if settings.reasoning_field else None
    content = message.get("content")
    if content is None and not (thought and finish == "length"):
        return Fault(kind="malformed", text=_no_content(message, finish), billed=True)
    if not isinstance(content, str | None) or not isinstance(thought, str | None):
        return Fault(kind="malformed", text="a message whose content is no text", billed=True)
    split = split_reasoning(content or "", settings.reasoning)
    made = replace(
        made,
        text=split.answer,
        reasoning=(thought or "").strip() or split.reasoning,
        reasoning_closed=split.closed and not (thought and finish == "length" and not content),
        finish=finish,
    )
    return Reply(completion=made, tokens=tokens)


def _no_content(message: Mapping[str, Json], finish: Finish) -> str:
    text = "a message whose content is null"
    for name in ("reasoning_content", "reasoning"):
        if isinstance(message.get(name), str):
            more = "; the tokens ran out in it" if finish == "length" else ""
            text += f", beside its {name}{more}. Give model.reasoning_field={name}"
            break
    return text


def _tokens(body: Mapping[str, Json]) -> Tokens | None:
    """What the server counted; None where that cannot be: no prompt is empty."""
    usage = body.get("usage")
    if not isinstance(usage, Mapping):
        return None
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if not prompt or completion is None:
        return None
    cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
    reasoning = _detail(usage, "completion_tokens_details", "reasoning_tokens")
    return Tokens(
        prompt=prompt,
        completion=completion,
        cached=min(cached or 0, prompt),
        reasoning=None if reasoning is None else min(reasoning, completion),
    )


def _detail(usage: Mapping[str, Json], of: str, name: str) -> int | None:
    details = usage.get(of)
    return _count(details, name) if isinstance(details, Mapping) else None


def _count(counts: Mapping[str, Json], name: str) -> int | None:
    value = counts.get(name)
    if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return int(value)
