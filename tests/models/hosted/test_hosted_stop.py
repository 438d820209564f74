"""What stops a run, because every request would meet it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.models.hosted.faults import always
from tests.models.hosted.help import ask, drain, flat, settings
from tests.models.hosted.server import Server, serving
from trace.errors import TraceError
from trace.models.complete import complete
from trace.models.hosted.engine import OpenAIModel
from trace.models.log import CompletionLog
from trace.records import Completion


def test_a_refusal_of_everything_stops_the_run() -> None:
    with serving(Server(fault=always("422"))) as server:
        with pytest.raises(TraceError, match="the first 8 requests were refused: HTTP 422"):
            flat(OpenAIModel(settings(server.url)).generate(ask(100), {}))
        assert server.seen.total() < 30


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("401", "api_key_env"),
        ("404", "model.id"),
        ("402", "Top up"),
        ("429 insufficient_quota", "Top"),
    ],
)
def test_what_every_request_would_meet_stops_the_run(fault: str, says: str) -> None:
    """An expired key, a wrong model's name, an empty account: what came before is kept."""
    came: list[Completion] = []
    with serving(Server(fault=always(fault, *range(20, 200)))) as server:
        with pytest.raises(TraceError, match=says):
            drain(OpenAIModel(settings(server.url)).generate(ask(200), {}), came)
        assert server.seen.total() < 60
    assert len(came) == 20


def test_where_no_server_is_the_run_stops_at_once() -> None:
    says = r"model\.base_url=http://127\.0\.0\.1:1/v1: the first 8 attempts .*Start the server"
    model = OpenAIModel(settings(max_requests=20))  # of eight attempts a request: 800
    with pytest.raises(TraceError, match=says):
        flat(model.generate(ask(100), {}))


def test_what_is_no_api_stops_the_run_and_is_shown() -> None:
    with serving(Server(fault=always("html"))) as server:
        with pytest.raises(TraceError, match=r"first 8 attempts .*Bad gateway.*ends in /v1"):
            flat(OpenAIModel(settings(server.url)).generate(ask(100), {}))
        assert server.seen.total() < 20


def test_a_rest_of_hours_stops_the_run_instead() -> None:
    with serving(Server(fault=always("429 hours"))) as server:
        with pytest.raises(TraceError, match="wait for 7200 seconds"):
            flat(OpenAIModel(settings(server.url)).generate(ask(4), {}))
        assert server.seen.total() <= 4


def test_a_budget_of_requests_stops_and_the_same_command_goes_on(tmp_path: Path) -> None:
    requests = ask(25)
    with serving(Server()) as server:
        model = OpenAIModel(settings(server.url, max_requests=10))
        for expected in (10, 20):
            with CompletionLog(tmp_path) as log:
                with pytest.raises(TraceError, match=r"max_requests=10.*same command goes on"):
                    complete(model, requests, log, lambda completion: None)
                assert len(log.read([r.key(model.identity) for r in requests])) == expected
        with CompletionLog(tmp_path) as log:
            assert len(complete(model, requests, log, lambda completion: None)) == 25
        assert server.seen.total() == 25


def test_a_budget_of_money_is_spent_and_not_exceeded() -> None:
    came: list[Completion] = []
    # 100 tokens in and 10 out cost 0.0002 USD; the most that a request may cost is 0.0106.
    price = {"input": 1.0, "output": 10.0, "cached": 0.1}
    with serving(Server()) as server:
        model = OpenAIModel(settings(server.url, price=price, max_cost_usd=0.02))
        with pytest.raises(TraceError, match=r"max_cost_usd=0\.02") as raised:
            drain(model.generate(ask(500), {}), came)
    assert model.usage["usd"] == pytest.approx(len(came) * 0.0002)
    assert 0.0095 < model.usage["usd"] <= 0.02
    assert f"{len(came)} answers, for {model.usage['usd']:.4g} USD" in str(raised.value)


@pytest.mark.parametrize(
    "extra", [{"max_completion_tokens": 10_000}, {"tools": [{"description": "x" * 10_000}]}]
)
def test_what_is_added_to_a_request_counts_in_the_budget(extra: dict[str, Any]) -> None:
    price = {"input": 1.0, "output": 1.0}  # ten thousand tokens: 0.01 USD
    with serving(Server()) as server:
        model = OpenAIModel(settings(server.url, price=price, max_cost_usd=0.005, extra_body=extra))
        with pytest.raises(TraceError, match=r"a single request may cost up to 0\.01"):
            flat(model.generate(ask(1), {}))
        assert server.seen.total() == 0
