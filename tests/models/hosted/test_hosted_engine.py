"""The engine before a server that misbehaves on demand."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, hear_interrupts
from tests.models.hosted.help import ask, drain, flat, right, settings
from tests.models.hosted.server import NAME, Server, serving
from trace.errors import ConfigError, TraceError
from trace.models.complete import complete
from trace.models.hosted.engine import OpenAIModel
from trace.models.hosted.fault import address
from trace.models.log import CompletionLog
from trace.models.open import open_model
from trace.records import Completion, Request

KEY = "planted-key-0123456789"


def first(fault: str) -> Any:
    return lambda prompt, attempt: fault if attempt == 1 and prompt == "item 3" else ""


def always(fault: str, *items: int) -> Any:
    prompts = {f"item {i}" for i in items}
    return lambda prompt, attempt: fault if not prompts or prompt in prompts else ""


@pytest.mark.parametrize(
    "fault",
    ["429", "429 after", "429 date", "500", "503", "reset", "hang", "cut", "half", "html", "empty",
     "null", "stray", "slow", "drip"],
)  # fmt: skip
def test_a_fault_is_tried_again_and_answered_once(fault: str) -> None:
    requests = ask(8)
    with serving(Server(fault=first(fault))) as server:
        model = OpenAIModel(settings(server.url))
        began = time.monotonic()
        made = flat(model.generate(requests, {}))
        seconds = time.monotonic() - began
    assert sorted(c.key for c in made) == sorted(r.key(model.identity) for r in requests)
    by_key = {c.key: c for c in made}
    assert [by_key[r.key(model.identity)].text for r in requests] == list(map(right, requests))
    assert {c.engine for c in made} == {f"openai_compatible {NAME}"}
    assert server.faults[fault] == 1
    assert model.usage["attempts"] == 8 + (fault != "slow")
    if fault in ("429 after", "429 date"):
        assert seconds >= (1.0 if fault == "429 after" else 0.0), "the rest asked for was cut short"


@pytest.mark.parametrize("fault", ["500", "null", "empty", "half", "reset", "429"])
def test_what_never_works_becomes_an_error_and_no_verdict(fault: str, tmp_path: Path) -> None:
    with serving(Server(fault=always(fault, 3))) as server, CompletionLog(tmp_path) as log:
        model = OpenAIModel(settings(server.url, attempts=2))
        made = complete(model, ask(6), log, lambda completion: None)
    assert [c.finish for c in made] == ["stop"] * 3 + ["error"] + ["stop"] * 2
    assert made[3].text == ""
    assert "after 2 attempts" in (made[3].error or "")
    assert server.seen["item 3"] == 2
    assert made[3].key not in log.read([c.key for c in made])


def test_a_stream_that_drips_is_cut_off_by_the_time_out_of_the_whole() -> None:
    with serving(Server(fault=always("drip", 0))) as server:
        [made] = flat(OpenAIModel(settings(server.url, attempts=1)).generate(ask(1), {}))
    assert "no reply within model.engine.timeout=1 seconds" in (made.error or "")


def test_another_refusal_is_not_tried_again() -> None:
    with serving(Server(fault=always("400", 3))) as server:
        made = flat(OpenAIModel(settings(server.url)).generate(ask(6), {}))
    assert server.seen["item 3"] == 1
    assert [c.error for c in made if c.finish == "error"] == ["HTTP 400: planted"]


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


def test_a_redirection_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", KEY)
    with serving(Server()) as other, serving(Server(redirect=other.url)) as server:
        model = OpenAIModel(settings(server.url, api_key_env="PLANTED"))
        with pytest.raises(TraceError, match=rf"HTTP 307: it sends us to {other.url}"):
            flat(model.generate(ask(10), {}))
        assert other.seen.total() == 0


@pytest.mark.parametrize("kind", ["application/json; charset=iso-8859-1", "text/x; charset=hex"])
def test_json_is_utf_8_whatever_the_header_calls_it(kind: str) -> None:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        body["choices"][0]["message"]["content"] = "caf\u00e9 \u5b89"
        return body

    with serving(Server(kind=kind, change=change)) as server:
        [made] = flat(OpenAIModel(settings(server.url)).generate(ask(1), {}))
    assert made.text == "caf\u00e9 \u5b89"


def test_half_a_surrogate_pair_does_not_keep_a_prompt_from_being_sent() -> None:
    half = Request(messages=({"role": "user", "content": "a\ud83d b"},))
    with serving(Server()) as server:
        [made] = flat(OpenAIModel(settings(server.url)).generate([half], {}))
        assert list(server.seen) == ["a\ufffd b"]
    assert made.key == half.key(OpenAIModel(settings(server.url)).identity)


@pytest.mark.parametrize(
    "url", ["http://", "http://host:99999/v1", "http://[::1/v1", "http://host:abc/v1",
            "http://host:0/v1", "http://host/v1?api-version=1"],
)  # fmt: skip
def test_an_address_that_nothing_can_be_sent_to_is_refused_before_the_run(url: str) -> None:
    with pytest.raises(ConfigError, match=r"model\.base_url=.*no request can be sent there"):
        OpenAIModel(settings(url)).prepare(ask(1)[0])


def test_names_of_an_openai_account_are_told_to_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-planted")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-planted")
    with serving(Server()) as server:
        flat(OpenAIModel(settings(server.url)).generate(ask(1), {}))
    assert "planted" not in str(server.headers)


def test_a_rest_of_hours_stops_the_run_instead() -> None:
    with serving(Server(fault=always("429 hours"))) as server:
        with pytest.raises(TraceError, match="wait for 7200 seconds"):
            flat(OpenAIModel(settings(server.url)).generate(ask(4), {}))
        assert server.seen.total() <= 4


def test_death_half_way_and_return(tmp_path: Path) -> None:
    requests = ask(120)
    with serving(Server(latency=0.02)) as server, CompletionLog(tmp_path) as log:
        model = OpenAIModel(settings(server.url))
        died = False

        def progress(completion: Completion) -> None:
            nonlocal died
            if not died:
                died = True
                loop = server.loop  # type: ignore[attr-defined]
                asyncio.run_coroutine_threadsafe(server.die(1.0), loop)

        made = complete(model, requests, log, progress)
    assert [c.text for c in made] == [right(request) for request in requests]


def test_a_key_is_sent_and_stands_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "of-somebody-else")
    with serving(Server(key=KEY)) as server:
        model = OpenAIModel(settings(server.url, api_key_env="PLANTED"))
        model.prepare(ask(1)[0])
        made = flat(model.generate(ask(3), {}))
        assert len(made) == 3
        assert KEY not in f"{model.identity} {made} {model.usage}"
        monkeypatch.delenv("PLANTED")
        with pytest.raises(ConfigError, match="PLANTED"):
            model.prepare(ask(1)[0])
    with serving(Server()) as server:
        flat(OpenAIModel(settings(server.url)).generate(ask(2), {}))
        assert not any("authorization" in headers for headers in server.headers)


def test_a_key_that_the_server_quotes_is_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", KEY)
    with serving(Server(fault=always(f"400 {KEY}", 0))) as server:
        made = flat(OpenAIModel(settings(server.url, api_key_env="PLANTED")).generate(ask(2), {}))
    error = next(c.error for c in made if c.error)
    assert "[redacted]" in error
    assert KEY not in error


def test_the_identity_holds_no_credential_and_opening_picks_the_engine() -> None:
    assert address("https://user:pw@host:1/v1/?key=x#y") == "https://host:1/v1"
    assert isinstance(open_model(settings()), OpenAIModel)
    one, other = OpenAIModel(settings()), OpenAIModel(settings(extra_body={"top_k": 1}))
    same = OpenAIModel(settings(concurrency=3, timeout=9.0, price={"input": 1, "output": 1}))
    assert one.identity == same.identity != other.identity


def test_two_snapshots_are_not_merged(tmp_path: Path) -> None:
    requests = ask(30)
    with serving(Server(fingerprint="fp_1")) as server, CompletionLog(tmp_path) as log:
        model = OpenAIModel(settings(server.url))
        complete(model, requests[:10], log, lambda completion: None)
        server.fingerprint = "fp_2"  # the same snapshot on another machine
        made = complete(model, requests[:20], log, lambda completion: None)
        assert {c.engine for c in made} == {
            f"openai_compatible {NAME} (fp_1)",
            f"openai_compatible {NAME} (fp_2)",
        }
        assert len(model.usage["served"]) == 1
        server.model = "snap-2026-06-01"
        with pytest.raises(TraceError, match=rf"20 answers of this run .*\(model\.id={NAME}\)"):
            complete(model, requests, log, lambda completion: None)
        with CompletionLog(tmp_path) as again:
            assert len(again.read([r.key(model.identity) for r in requests])) == 20


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


def test_scores_are_read_from_a_server_that_tells_them() -> None:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        told = [{"token": "Safe", "logprob": -0.2}, {"token": "Un", "logprob": -1.8}]
        tokens = [
            {"token": '{"verdict": "', "logprob": 0.0, "top_logprobs": []},
            {"token": "Safe", "logprob": -0.2, "top_logprobs": told},
        ]
        body["choices"][0] |= {"logprobs": {"content": tokens}, "finish_reason": "length"}
        return body

    request = Request(
        messages=({"role": "user", "content": "x"},),
        labels=('Safe"', 'Unsafe"'),
        prefix='{"verdict": "',
    )
    with serving(Server(change=change)) as server:
        [made] = flat(OpenAIModel(settings(server.url, logprobs=20)).generate([request], {}))
        with pytest.raises(ConfigError, match=r"protocol\.answer=generate"):
            OpenAIModel(settings(server.url)).prepare(request)
        assert server.seen.total() == 1
    assert made.scores is not None
    assert {label: score.logprob for label, score in made.scores.items()} == (
        pytest.approx({'Safe"': -0.2, 'Unsafe"': -1.8})
    )


ASKING = """
import signal, sys
from pathlib import Path
from tests.models.hosted.help import ask, settings
from trace.models.complete import complete
from trace.models.hosted.engine import OpenAIModel
from trace.models.hosted.fault import address
from trace.models.log import CompletionLog
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, interrupt)  # as trace.run does
with CompletionLog(Path(sys.argv[2])) as log:
    complete(OpenAIModel(settings(sys.argv[1], timeout=30.0)), ask(200), log,
             lambda completion: print("done", flush=True))
"""


def logged(folder: Path) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in folder.glob("*.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_what_came_and_the_rest_is_asked(
    tmp_path: Path, sent: signal.Signals
) -> None:
    command = [sys.executable, "-c", ASKING]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with serving(Server(latency=0.1)) as server:
        place = [server.url, str(tmp_path)]
        process = subprocess.Popen(
            [*command, *place],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=hear_interrupts,
        )
        assert process.stdout is not None
        for _ in range(40):
            assert process.stdout.readline() == b"done\n"
        process.send_signal(sent)
        _, errors = process.communicate(timeout=30)
        assert process.returncode != 0
        assert b"KeyboardInterrupt" in errors
        assert b"never retrieved" not in errors
        kept, answered = logged(tmp_path), server.answered.total()
        assert 40 <= kept < 200
        assert answered - kept <= 64, "more was lost than can have been under way"
        server.answered.clear()
        ran = subprocess.run([*command, *place], cwd=ROOT, env=environment, check=True, timeout=60,
                             stdout=subprocess.PIPE)  # fmt: skip
        assert server.answered.total() == 200 - kept
        assert ran.stdout.count(b"done") == 200
    assert logged(tmp_path) == 200
