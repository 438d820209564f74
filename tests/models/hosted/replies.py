"""Replies as a server gives them, and how they are read."""

from __future__ import annotations

from typing import Any

from tests.models.hosted.help import ask, settings
from trace.models.hosted.fault import Fault
from trace.models.hosted.reply import Reply, read_reply
from trace.records import Request

KEY = "ab" * 32
REQUEST = ask(1)[0]
PREFIX = '{"verdict": "'
LABELS = ('Safe"', 'Unsafe"')
SCORED = Request(messages=REQUEST.messages, labels=LABELS, prefix=PREFIX)


def reply(content: Any = "yes", finish: Any = "stop", **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content} | message
    return {
        "model": "snap-2026-01-01",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "finish_reason": finish, "message": said}],
        "usage": {
            "prompt_tokens": 30,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 20},
        },
    }


def read(raw: Any, request: Request = REQUEST, **model: Any) -> Reply | Fault:
    return read_reply(raw, settings(**model), request, KEY, 0.5)


def answer(raw: Any, **model: Any) -> Any:
    found = read(raw, **model)
    assert isinstance(found, Reply), found
    return found.completion


def token(text: str, *others: tuple[str, float], logprob: float = -0.1) -> dict[str, Any]:
    told = [{"token": t, "logprob": p} for t, p in ((text, logprob), *others)]
    return {"token": text, "logprob": logprob, "top_logprobs": told}


BEGUN = [token("{"), token('"verdict'), token('":'), token(' "')]
