from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from trace.models.hosted.fault import Fault, of_status, retry_after, said


def openai(message: str, code: str | None = None) -> dict[str, Any]:
    return {"message": message, "type": "invalid_request_error", "param": None, "code": code}


@pytest.mark.parametrize(
    ("status", "kind"),
    [(429, "limited"), (503, "limited"), (529, "limited"), (500, "failed"), (502, "failed"),
     (504, "failed"), (408, "failed"), (400, "refused"), (403, "refused"), (409, "refused"),
     (422, "refused"), (401, "fatal"), (402, "fatal"), (404, "fatal")],
)  # fmt: skip
def test_a_status_says_what_follows(status: int, kind: str) -> None:
    found = of_status(status, openai("no"), {})
    assert isinstance(found, Fault)
    assert found.kind == kind
    assert f"HTTP {status}: no" in found.text


@pytest.mark.parametrize(
    "body",
    [  # the wording of OpenAI, vLLM, llama.cpp, Anthropic, Gemini, OpenRouter
        openai("This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
        openai("max_tokens is too large: 1024. This model's maximum context length is 2048 tokens"),
        {
            "message": "the request exceeds the available context size",
            "type": "exceed_context_size",
        },
        openai("prompt is too long: 210000 tokens > 200000 maximum"),
        [{"error": {"message": "The input token count (1100000) exceeds the maximum number"}}],
        openai("This endpoint's maximum context length is 32768 tokens."),
    ],
)
def test_too_long_is_told_from_other_refusals(body: Any) -> None:
    assert of_status(400, body, {}) == "too_long"


@pytest.mark.parametrize(
    ("status", "body"),
    [  # Azure, OpenAI, DashScope, DeepSeek, OpenRouter
        (400, openai("The response was filtered", "content_filter")),
        (400, openai("Invalid prompt: it was flagged", "invalid_prompt")),
        (400, openai("Input data may contain inappropriate content", "data_inspection_failed")),
        (400, openai("Content Exists Risk")),
        (403, openai("Your input was flagged") | {"metadata": {"reasons": ["violence"]}}),
    ],
)
def test_a_providers_filter_is_told_from_other_refusals(status: int, body: Any) -> None:
    assert of_status(status, body, {}) == "content_filter"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_another_place_is_told_and_nobody_goes_there(status: int) -> None:
    found = of_status(status, None, {"location": "https://me:pw@other.test/v1/x?key=k#f"})
    assert isinstance(found, Fault)
    assert found.kind == "fatal"
    assert "https://other.test/v1/x. Correct model.id or model.base_url" in found.text
    assert "pw" not in found.text
    assert "key" not in found.text
    for broken in ({}, {"location": "http://[::1"}):
        assert isinstance(of_status(status, None, broken), Fault)


def test_an_empty_account_is_not_waited_for() -> None:
    found = of_status(429, openai("You exceeded your current quota", "insufficient_quota"), {})
    assert isinstance(found, Fault)
    assert found.kind == "fatal"


def test_the_rest_is_read_in_all_its_forms() -> None:
    assert retry_after({"retry-after": "7"}) == 7
    assert retry_after({"retry-after": "0.25"}) == 0.25
    assert retry_after({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    beyond = f"Wed, 21 Oct 2015 07:28:00 +{'9' * 20}"  # a time zone that no date can have
    for nothing in ("", "soon", "nan", "inf", "1e400", beyond):
        assert retry_after({"retry-after": nothing}) is None
    assert retry_after({}) is None
    assert retry_after({"retry-after": "-3"}) == 0
    theirs = datetime(2020, 1, 1, tzinfo=UTC)  # a server whose clock is years behind
    later = format_datetime(theirs + timedelta(seconds=20), usegmt=True)
    headers = {"retry-after": later, "date": format_datetime(theirs, usegmt=True)}
    assert retry_after(headers) == 20
    assert retry_after({"retry-after": later}) == 0
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 50 < (retry_after({"retry-after": soon}) or 0) <= 60


def test_the_servers_words_are_one_line_of_bounded_length() -> None:
    assert said({"error": {"message": "a\n  b"}}) == "a b"
    assert said({"detail": "Not Found"}) == "Not Found"
    assert said("<html>\nBad gateway") == "<html> Bad gateway"
    assert said(None) == ""
    assert len(said("x" * 5000)) < 320
