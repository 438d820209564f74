"""The fields of a request, and requests that a server cannot take."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.hosted.help import settings
from tests.models.hosted.replies import (
    KEY,
    PREFIX,
    REQUEST,
    SCORED,
)
from trace.errors import ConfigError
from trace.models.hosted.body import body, check_request
from trace.records import Request, Sampling


def test_a_server_without_alternatives_is_not_asked_for_scores() -> None:
    with pytest.raises(ConfigError, match=r"model\.logprobs=0"):
        check_request(settings(), SCORED)
    check_request(settings(logprobs=20), SCORED)
    alike = Request(messages=REQUEST.messages, labels=('Leak"', 'Lie"'), prefix=PREFIX)
    with pytest.raises(ConfigError, match="begin alike"):
        check_request(settings(logprobs=20), alike)


def test_the_fields_say_what_the_request_says() -> None:
    greedy = body(settings(), REQUEST, KEY)
    assert greedy == {
        "model": "snap", "messages": [{"role": "user", "content": "item 0"}],
        "temperature": 0.0, "max_tokens": 1024,
    }  # fmt: skip
    drawn = Request(
        messages=REQUEST.messages,
        sampling=Sampling(temperature=0.7, top_p=0.9, stop=("END",)),
        template_args={"enable_thinking": False},
    )
    changed = settings(
        extra_body={"temperature": None, "reasoning_effort": "low"},
        max_tokens_field="max_completion_tokens",
    )
    fields = body(changed, drawn, KEY)
    assert "temperature" not in fields
    assert fields["max_completion_tokens"] == 1024
    assert fields["reasoning_effort"] == "low"
    assert fields["chat_template_kwargs"] == {"enable_thinking": False}
    assert (fields["top_p"], fields["stop"]) == (0.9, ["END"])
    assert fields["seed"] != body(changed, drawn, "cd" * 32)["seed"], "repeats must differ"
    scored = body(settings(logprobs=20), SCORED, KEY)
    assert (scored["logprobs"], scored["top_logprobs"]) == (True, 20)
    assert scored["max_tokens"] < 40


@pytest.mark.parametrize(
    "given",
    [
        {"extra_body": {"n": 2}},
        {"extra_body": {"temperature": 1.0}},
        {"extra_body": {"max_tokens": None}},
        {"max_cost_usd": 1.0},
        {"api_key_env": "sk-planted-key"},
    ],
)
def test_settings_that_cannot_work_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as raised:
        settings(**given)
    assert "sk-planted-key" not in str(raised.value)
