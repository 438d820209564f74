"""Azure: its SDK before a stub server on the loopback."""

from __future__ import annotations

import pytest

from tests.models.cloud.clouds import CLOUDS, azure, azure_reply, flat
from tests.models.cloud.stub import Stub, serving

CLOUD = CLOUDS["azure"]


def test_what_is_sent_is_the_judged_text_alone() -> None:
    with serving(Stub(lambda body, attempt: (200, azure_reply(), {}))) as stub:
        requests = [CLOUD.request("hello"), CLOUD.request("hello", "hi \udc80 雪")]
        flat(azure(stub.url, concurrency=1).generate(requests, {}))
    assert stub.bodies == [
        {"text": "hello", "outputType": "EightSeverityLevels"},
        {"text": "hi \\udc80 雪", "outputType": "EightSeverityLevels"},
    ]
    assert stub.paths == ["/contentsafety/text:analyze?api-version=2023-10-01"] * 2
    assert stub.headers[0]["ocp-apim-subscription-key"] == "planted-key-of-azure"


def test_the_same_response_to_two_prompts_is_one_question() -> None:
    model = azure()
    keys = {CLOUD.request(prompt, "hi").key(model.identity) for prompt in ("one", "two")}
    assert len(keys) == 1


@pytest.mark.parametrize(("characters", "finish"), [(10_000, "stop"), (10_001, "too_long")])
def test_a_text_above_the_limit_is_neither_sent_nor_cut(characters: int, finish: str) -> None:
    text = "𝔸" * characters  # one code point each, two UTF-16 units
    with serving(Stub(lambda body, attempt: (200, azure_reply(), {}))) as stub:
        model = azure(stub.url)
        (made,) = flat(model.generate([CLOUD.request("short", text)], {}))
        assert model.usage["attempts"] == len(stub.bodies)
        assert [body["text"] for body in stub.bodies] == ([text] if finish == "stop" else [])
    assert made.finish == finish
    if finish == "too_long":
        assert CLOUD.read(made).status == "too_long"


NAN = b'{"categoriesAnalysis": [{"category": "Hate", "severity": NaN}]}'


@pytest.mark.parametrize("body", [b"[1]", b'{"categoriesAnalysis": null}', b'"x"', b"<html>", NAN])
def test_a_reply_that_is_none_is_an_error(body: bytes) -> None:
    with serving(Stub(lambda _, attempt: (200, body, {}))) as stub:
        (made,) = flat(azure(stub.url, attempts=2).generate([CLOUD.request("hello")], {}))
        assert len(stub.bodies) == 2
    assert (made.finish, CLOUD.read(made).status) == ("error", "error")


def test_a_category_that_is_missing_is_no_judgement() -> None:
    reply = azure_reply()
    reply["categoriesAnalysis"].pop()
    with serving(Stub(lambda _, attempt: (200, reply, {}))) as stub:
        (made,) = flat(azure(stub.url).generate([CLOUD.request("hello")], {}))
    assert CLOUD.read(made).status == "error"
