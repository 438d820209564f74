"""The engine before a server that misbehaves on demand."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.models.hosted.faults import always, first
from tests.models.hosted.help import ask, flat, right, settings
from tests.models.hosted.server import NAME, Server, serving
from trace.errors import ConfigError, TraceError
from trace.models.complete import complete
from trace.models.hosted.engine import OpenAIModel
from trace.models.hosted.fault import address
from trace.models.log import CompletionLog
from trace.models.open import open_model
from trace.records import Completion, Request

KEY = "planted-key-0123456789"


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


def test_a_server_too_slow_for_many_is_asked_by_fewer(caplog: pytest.LogCaptureFixture) -> None:
    """Alone a request takes 0.05 s, so that 20 at once all outlast the second's limit."""
    with serving(Server(work=0.05)) as server:
        model = OpenAIModel(settings(server.url, concurrency=64))
        made = flat(model.generate(ask(120), {}))
    assert [c.finish for c in made] == ["stop"] * 120
    [said] = [r.message for r in caplog.records if "Going on with fewer" in r.message]
    assert "model.engine.concurrency" in said


def test_another_refusal_is_not_tried_again() -> None:
    with serving(Server(fault=always("400", 3))) as server:
        made = flat(OpenAIModel(settings(server.url)).generate(ask(6), {}))
    assert server.seen["item 3"] == 1
    assert [c.error for c in made if c.finish == "error"] == ["HTTP 400: planted"]


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
