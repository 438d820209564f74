"""Model Armor: its SDK over REST before a stub server, with its own message types."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.cloud.clouds import CLOUDS, TEMPLATE, armor_reply, flat, model_armor
from tests.models.cloud.stub import Stub, serving
from trace.models.hosted.fault import Fault

CLOUD = CLOUDS["model_armor"]


def skipped(words: str) -> dict[str, Any]:
    items = [{"message_type": "ERROR", "message": words}]
    inspect = {"execution_state": "EXECUTION_SKIPPED", "message_items": items}
    return {"sdp": {"sdp_filter_result": {"inspect_result": inspect}}}


def test_a_prompt_is_sent_alone_and_a_response_with_its_prompt() -> None:
    def reply(body: dict[str, Any], attempt: int) -> Any:
        return 200, armor_reply(response="modelResponseData" in body), {}

    with serving(Stub(reply)) as stub:
        requests = [CLOUD.request("hello"), CLOUD.request("hello", "hi")]
        made = flat(model_armor(stub.url, concurrency=1).generate(requests, {}))
    prompt, response = stub.bodies
    assert prompt["userPromptData"] == {"text": "hello"}
    assert response["modelResponseData"] == {"text": "hi"}
    assert response["userPrompt"] == "hello"
    assert [path.partition("?")[0] for path in stub.paths] == [
        f"/v1/{TEMPLATE}:sanitizeUserPrompt",
        f"/v1/{TEMPLATE}:sanitizeModelResponse",
    ]
    assert [CLOUD.read(c).label for c in made] == ["Safe", "Safe"]


def test_the_endpoint_is_that_of_the_templates_location(monkeypatch: pytest.MonkeyPatch) -> None:
    import google.auth
    from google.auth.credentials import AnonymousCredentials

    monkeypatch.setattr(google.auth, "default", lambda **_: (AnonymousCredentials(), "p"))
    client = model_armor().service.client  # type: ignore[attr-defined]
    assert client.api_endpoint == "modelarmor.us-central1.rep.googleapis.com"
    assert client.transport.kind == "rest"


@pytest.mark.parametrize("whole", ["PARTIAL", "FAILURE", "INVOCATION_RESULT_UNSPECIFIED"])
@pytest.mark.parametrize("unsafe", [True, False])
def test_a_judgement_of_some_filters_is_none_whatever_matched(whole: str, unsafe: bool) -> None:
    reply = armor_reply(unsafe, whole=whole, **skipped("no permission"))
    with serving(Stub(lambda body, attempt: (200, reply, {}))) as stub:
        (made,) = flat(model_armor(stub.url, attempts=2).generate([CLOUD.request("hello")], {}))
        assert len(stub.bodies) == 2
    assert made.finish == "error"
    assert made.error is not None
    assert f"{whole} (sdp: EXECUTION_SKIPPED no permission)" in made.error
    assert CLOUD.read(made).status == "error"


def test_a_skipped_filter_counts_though_the_whole_is_said_to_have_succeeded() -> None:
    reply = armor_reply(**skipped("no permission"))
    with serving(Stub(lambda body, attempt: (200, reply, {}))) as stub:
        (made,) = flat(model_armor(stub.url, attempts=1).generate([CLOUD.request("hello")], {}))
    assert made.finish == "error"


def test_a_filter_that_was_skipped_for_the_length_is_too_long() -> None:
    reply = armor_reply(whole="PARTIAL", **skipped("Prompt exceeds the token limit."))
    with serving(Stub(lambda body, attempt: (200, reply, {}))) as stub:
        (made,) = flat(model_armor(stub.url).generate([CLOUD.request("hello")], {}))
        assert len(stub.bodies) == 1
    assert CLOUD.read(made).status == "too_long"


def test_what_is_found_in_the_text_is_not_kept() -> None:
    inspect = {"execution_state": "EXECUTION_SUCCESS", "match_state": "MATCH_FOUND",
               "findings": [{"info_type": "PLANTED_KIND"}]}  # fmt: skip
    reply = armor_reply(sdp={"sdp_filter_result": {"inspect_result": inspect}})
    with serving(Stub(lambda body, attempt: (200, reply, {}))) as stub:
        (made,) = flat(model_armor(stub.url).generate([CLOUD.request("hello")], {}))
    assert "PLANTED_KIND" not in made.text
    assert '"others":["sdp"]' in made.text
    assert CLOUD.read(made).label == "Safe"  # personal data is not what is asked about


@pytest.mark.parametrize(("retryable", "kind"), [(True, "failed"), (False, "fatal")])
def test_a_refused_sign_in_stops_the_run_and_a_broken_one_does_not(
    retryable: bool, kind: str
) -> None:
    from google.auth.exceptions import RefreshError

    found = model_armor().service.fault(RefreshError("planted", retryable=retryable))
    assert isinstance(found, Fault)
    assert found.kind == kind
