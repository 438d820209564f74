"""What holds of all three services: every fault is a status, and nothing that failed is safe."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.models.cloud.clouds import CLOUDS, SECRETS, Cloud, flat
from tests.models.cloud.stub import Stub, serving
from trace import config
from trace.errors import ConfigError, TraceError
from trace.models.cloud.engine import CloudModel
from trace.models.complete import complete
from trace.models.log import CompletionLog
from trace.models.open import open_model
from trace.records import Request

EACH = pytest.mark.parametrize("cloud", CLOUDS.values(), ids=list(CLOUDS))


@EACH
@pytest.mark.parametrize("unsafe", [True, False])
def test_a_judgement_is_logged_as_it_came_and_read(cloud: Cloud, unsafe: bool) -> None:
    with serving(Stub(lambda body, attempt: (200, cloud.reply(unsafe), {}))) as stub:
        model = cloud.model(stub.url)
        request = cloud.request("hello")
        (made,) = flat(model.generate([request], {}))
    assert made.key == request.key(model.identity)
    assert made.finish == "stop"
    assert made.text == json.dumps(
        json.loads(made.text), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    verdict = cloud.read(made)
    assert verdict.label == ("Unsafe" if unsafe else "Safe")
    assert verdict.score is None
    assert (model.usage["attempts"], model.usage["answers"]) == (1, 1)
    for secret in SECRETS.values():
        assert secret not in json.dumps(made.to_json()) + json.dumps(dict(model.identity))


@EACH
def test_many_requests_are_answered_once_each(cloud: Cloud) -> None:
    def reply(body: dict[str, Any], attempt: int) -> Any:
        time.sleep(0.01)
        return 200, cloud.reply("item 7" in json.dumps(body)), {}

    requests = [cloud.request(f"item {i:02} item 7" if i == 7 else f"item {i:02}")
                for i in range(40)]  # fmt: skip
    with serving(Stub(reply)) as stub:
        model = cloud.model(stub.url, timeout=30.0)
        made = {c.key: c for c in flat(model.generate(requests, {}))}
        assert len(stub.bodies) == 40
    labels = [cloud.read(made[r.key(model.identity)]).label for r in requests]
    assert [i for i, label in enumerate(labels) if label == "Unsafe"] == [7]
    for thread in threading.enumerate():
        if thread.name.startswith(cloud.family):
            thread.join(30)  # it was told to end, and may need a moment
            assert not thread.is_alive()


@EACH
@pytest.mark.parametrize(
    "fault", ["429", "429 after", "500", "503", "cut", "half", "empty", "hang"]
)
def test_a_passing_fault_is_tried_again(cloud: Cloud, fault: str) -> None:
    with serving(Stub(failing(cloud, fault, times=1))) as stub:
        model = cloud.model(stub.url)
        began = time.monotonic()
        (made,) = flat(model.generate([cloud.request("hello")], {}))
        seconds = time.monotonic() - began
        assert len(stub.bodies) == 2
    assert cloud.read(made).label == "Unsafe"
    if fault == "429 after":
        assert seconds >= 1.0, "the rest asked for was cut short"


@EACH
@pytest.mark.parametrize("fault", ["429", "500", "cut", "half", "empty", "400"])
def test_a_fault_that_stays_is_an_error_and_never_safe(
    cloud: Cloud, fault: str, tmp_path: Path
) -> None:
    with serving(Stub(failing(cloud, fault, times=99))) as stub, CompletionLog(tmp_path) as log:
        model = cloud.model(stub.url, attempts=2)
        (made,) = complete(model, [cloud.request("hello")], log, lambda c: None)
        assert len(stub.bodies) == (1 if fault == "400" else 2)
    assert (made.finish, made.text) == ("error", "")
    assert made.error
    assert cloud.read(made).status == "error"
    assert list(tmp_path.iterdir()) == []  # errors are not logged


@EACH
def test_too_long_for_the_service_is_too_long_and_not_asked_again(
    cloud: Cloud, tmp_path: Path
) -> None:
    words = "The input text exceeds the limit of characters."
    refusal = cloud.error(400, "ValidationException", words)
    request = cloud.request("hello")
    with serving(Stub(lambda body, attempt: refusal)) as stub:
        for _ in range(2):
            with CompletionLog(tmp_path) as log:
                (made,) = complete(cloud.model(stub.url), [request], log, lambda c: None)
            assert cloud.read(made).status == "too_long"
        assert len(stub.bodies) == 1


@EACH
def test_a_quota_is_not_taken_for_the_length_of_a_text(cloud: Cloud) -> None:
    words = "Input text exceeds the quota of characters per second."
    refusal = cloud.error(400, "ServiceQuotaExceededException", words)
    with serving(Stub(lambda body, attempt: refusal)) as stub:
        (made,) = flat(cloud.model(stub.url).generate([cloud.request("hello")], {}))
    assert made.finish == "error"


@EACH
@pytest.mark.parametrize(("status", "says"), [(403, "403"), (404, "Correct model.id")])
def test_what_every_request_would_meet_stops_the_run(cloud: Cloud, status: int, says: str) -> None:
    secrets = " ".join(SECRETS.values())
    refusal = cloud.error(status, "Denied", f"no {secrets}\n\nThe Canonical String {secrets}")
    with serving(Stub(lambda body, attempt: refusal)) as stub:
        model = cloud.model(stub.url, concurrency=1, timeout=30.0)
        with pytest.raises(TraceError, match=says) as caught:
            flat(model.generate([cloud.request(f"item {i}") for i in range(20)], {}))
        assert len(stub.bodies) == 1
    assert "Canonical" not in str(caught.value)
    for secret in SECRETS.values():
        assert secret not in str(caught.value)


@EACH
def test_an_interrupted_run_goes_on_where_it_was(cloud: Cloud, tmp_path: Path) -> None:
    requests = [cloud.request(f"item {i}") for i in range(12)]
    with serving(Stub(lambda body, attempt: (200, cloud.reply(), {}))) as stub:
        with (
            CompletionLog(tmp_path) as log,
            pytest.raises(TraceError, match="max_requests=5"),
        ):
            complete(cloud.model(stub.url, max_requests=5), requests, log, lambda c: None)
        assert len(stub.bodies) == 5
        with CompletionLog(tmp_path) as log:
            made = complete(cloud.model(stub.url), requests, log, lambda c: None)
        assert len(stub.bodies) == 12
        with CompletionLog(tmp_path) as log:
            again = complete(cloud.model(stub.url), requests, log, lambda c: None)
        assert len(stub.bodies) == 12
    assert again == made
    assert {cloud.read(c).label for c in made} == {"Safe"}


@EACH
def test_labels_and_literal_prompts_are_refused(cloud: Cloud) -> None:
    for request in (Request(labels=("a", "b")), Request(literal="x")):
        with pytest.raises(ConfigError, match="judges texts as they are"):
            cloud.model().prepare(request)


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [
        ("bedrock", "boto3", "boto3"),
        ("azure", "azure.ai.contentsafety", "azure-ai-contentsafety"),
        ("model_armor", "google.cloud.modelarmor_v1", "google-cloud-modelarmor"),
    ],
)
def test_a_missing_sdk_is_named(
    name: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    cloud = CLOUDS[name]
    with pytest.raises(ConfigError, match=rf"{package}.*\[cloud\]"):
        cloud.model().prepare(cloud.request("hello"))


@pytest.mark.parametrize(
    ("name", "variable", "says"),
    [
        ("bedrock", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
        ("azure", "CONTENT_SAFETY_KEY", "model.api_key_env=CONTENT_SAFETY_KEY"),
        ("model_armor", "", "GOOGLE_APPLICATION_CREDENTIALS"),
    ],
)
def test_missing_credentials_are_named_before_anything_is_asked(
    name: str, variable: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable:
        monkeypatch.delenv(variable)
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    cloud = CLOUDS[name]
    with pytest.raises(ConfigError, match=says):
        cloud.model().prepare(cloud.request("hello"))


@EACH
def test_a_configuration_opens_the_service(cloud: Cloud) -> None:
    settings = cloud.model().settings
    opened = open_model(settings)
    assert isinstance(opened, CloudModel)
    assert opened.identity == cloud.model().identity


def test_an_engine_of_a_cloud_runs_no_other_model() -> None:
    settings = config.Model(name="m", id="org/m", engine=config.BedrockEngine())
    with pytest.raises(ConfigError, match="model/engine=bedrock does not run model=m"):
        open_model(settings)


def failing(cloud: Cloud, fault: str, times: int) -> Any:
    """A reply for the stub that goes wrong so many times, then is right."""

    def reply(body: dict[str, Any], attempt: int) -> Any:
        right = cloud.reply(True)
        if attempt > times:
            return 200, right, {}
        if fault[:1] in "45":
            status, code, headers = cloud.error(int(fault[:3]), "Planted", "planted")
            return status, code, headers | ({"Retry-After": "1"} if "after" in fault else {})
        if fault == "hang":
            time.sleep(1.3)
            return 200, right, {}
        whole = json.dumps(right).encode()
        return {"cut": None, "half": (200, whole[: len(whole) // 2], {}), "empty": (200, {}, {})}[
            fault
        ]

    return reply
