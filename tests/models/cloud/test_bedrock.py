"""Bedrock against botocore's own service model: what is sent and what is read are valid there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.models.cloud.clouds import CLOUDS, USAGE, bedrock, bedrock_reply, flat
from tests.models.cloud.stub import Stub, serving
from trace.errors import TraceError
from trace.models.cloud.engine import CloudModel
from trace.models.cloud.service import Judgement, Texts
from trace.models.hosted.fault import Fault

pytest.importorskip("boto3")
from botocore.stub import Stubber

CLOUD = CLOUDS["bedrock"]
NAME = {"type": "NAME", "match": "Ada", "action": "ANONYMIZED", "detected": True}
PERSONAL = {"sensitiveInformationPolicy": {"piiEntities": [NAME], "regexes": []}}


def expected(source: str, text: str) -> dict[str, Any]:
    return {
        "guardrailIdentifier": "abc123",
        "guardrailVersion": "1",
        "source": source,
        "content": [{"text": {"text": text}}],
        "outputScope": "FULL",
    }


def answered(reply: dict[str, Any], texts: Texts, source: str = "INPUT") -> Any:
    """What `judge` makes of a reply; the stubber holds both against the service model."""
    model = bedrock()
    with Stubber(model.service.client) as stubber:  # type: ignore[attr-defined]
        stubber.add_response("apply_guardrail", reply, expected(source, texts.judged))
        found = model.service.judge(texts)
        stubber.assert_no_pending_responses()
    return found


def test_a_prompt_is_an_input_and_a_response_an_output_alone() -> None:
    answered(bedrock_reply(), Texts(prompt="hello"))
    answered(bedrock_reply(), Texts(prompt="hello", response="hi"), "OUTPUT")


def test_what_is_found_in_the_text_is_not_kept() -> None:
    words = {"customWords": [{"match": "Ada", "action": "BLOCKED"}], "managedWordLists": []}
    reply = bedrock_reply(
        action="GUARDRAIL_INTERVENED",
        outputs=[{"text": "{NAME}"}],
        assessments=[PERSONAL | {"wordPolicy": words}],
    )
    found = answered(reply, Texts(prompt="Ada"))
    assert isinstance(found, Judgement)
    assert "Ada" not in json.dumps(found.said)
    assert found.said["others"] == ["sensitiveInformationPolicy ANONYMIZED", "wordPolicy BLOCKED"]
    assert found.said["usage"] == USAGE


def test_a_part_of_the_text_is_not_the_text() -> None:
    covered = {"textCharacters": {"guarded": 4, "total": 5}}
    found = answered(bedrock_reply(guardrailCoverage=covered), Texts(prompt="hello"))
    assert isinstance(found, Fault)
    assert "only 4 of 5 characters" in found.text


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ThrottlingException", 429, "limited"),
        ("ServiceUnavailableException", 503, "limited"),
        ("InternalServerException", 500, "failed"),
        ("AccessDeniedException", 403, "fatal"),
        ("ResourceNotFoundException", 404, "fatal"),
        ("ValidationException", 400, "refused"),
        ("ServiceQuotaExceededException", 400, "refused"),
    ],
)
def test_every_error_of_the_service_model_is_told_apart(code: str, status: int, kind: str) -> None:
    model = bedrock()
    client = model.service.client  # type: ignore[attr-defined]
    shapes = client.meta.service_model.operation_model("ApplyGuardrail").error_shapes
    assert {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in shapes}[code] == (
        status
    )
    with Stubber(client) as stubber:
        stubber.add_client_error("apply_guardrail", code, "planted", http_status_code=status)
        with pytest.raises(client.exceptions.ClientError) as caught:
            model.service.judge(Texts(prompt="hello"))
    found = model.service.fault(caught.value)
    assert isinstance(found, Fault)
    assert found.kind == kind
    assert code in found.text


def test_a_bedrock_key_does_instead_of_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "planted-bearer-token")
    bedrock().prepare(CLOUD.request("hello"))
    with serving(Stub(lambda body, attempt: (200, bedrock_reply(), {}))) as stub:
        (made,) = flat(bedrock(stub.url, attempts=1).generate([CLOUD.request("hello")], {}))
        assert stub.bodies == []
    assert made.error is not None
    assert "requires an HTTPS endpoint" in made.error  # botocore did choose the key


def test_a_server_that_is_not_there_ends_the_run() -> None:
    model: CloudModel = bedrock("http://127.0.0.1:1", attempts=1)
    with pytest.raises(TraceError, match="8 requests in a row found no answer"):
        flat(model.generate([CLOUD.request(f"item {i}") for i in range(30)], {}))
    assert model.usage["attempts"] < 30
