from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trace.records import Json
from trace.tracking.secrets import REDACTED, redact, redact_command

secrets = st.text(st.characters(exclude_characters="[]\0", exclude_categories=["Cs"]), min_size=8)
usable = secrets.filter(lambda s: len(s.strip()) >= 8 and s.strip() not in REDACTED)
anything = st.recursive(
    st.none() | st.integers() | st.booleans() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (key, *strings(item))
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "PGPASSWORD",
     "client_secret", "KEY", "GITHUBTOKEN", "DB_PASS", "MYAPIKEY"],
)  # fmt: skip
def test_values_of_credentials_are_taken_out(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "p1anted-value")
    assert redact({"a": ["say p1anted-value twice: p1anted-value"], "p1anted-value": 1}) == {
        "a": [f"say {REDACTED} twice: {REDACTED}"],
        REDACTED: 1,
    }


@pytest.mark.parametrize("name", ["HOME", "MONKEY", "TOKENIZERS_PARALLELISM", "PASSAGE", "EDITOR"])
def test_other_variables_are_left_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "harmless-value")
    assert redact(["harmless-value"]) == ["harmless-value"]


def test_short_values_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "true")
    assert redact("it is true") == "it is true"


def test_of_two_that_begin_alike_the_whole_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "abcdefgh")
    monkeypatch.setenv("B_KEY", "abcdefghijkl")
    assert redact("abcdefghijkl") == REDACTED


@given(secret=usable, value=anything, before=st.text(), after=st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_string_keeps_a_secret(
    monkeypatch: pytest.MonkeyPatch, secret: str, value: Any, before: str, after: str
) -> None:
    monkeypatch.setenv("PLANTED_SECRET", secret)
    planted = {"value": value, before: [before + secret + after, {secret: (secret,)}]}
    assert not [s for s in strings(redact(planted)) if secret.strip() in s]


@given(value=anything)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_without_secrets_nothing_changes(monkeypatch: pytest.MonkeyPatch, value: Any) -> None:
    monkeypatch.setattr("os.environ", {"PATH": "/usr/bin:/bin"})
    if not any("://" in s for s in strings(value)):
        assert redact(value) == value


def test_fields_named_like_credentials_and_users_in_urls() -> None:
    config = {
        "model": {"api_key": "abc", "base_url": "https://user:pa55@host:8000/v1"},
        "eos_token": "</s>",
        "key": "9f86d081",
        "max_new_tokens": 8,
        "see": "https://example.org/@user",
    }
    assert redact(config) == {
        "model": {"api_key": REDACTED, "base_url": f"https://{REDACTED}@host:8000/v1"},
        "eos_token": "</s>",
        "key": "9f86d081",
        "max_new_tokens": 8,
        "see": "https://example.org/@user",
    }


def test_a_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "p1anted-value")
    typed = [
        "python", "-m", "trace.run", "model=hf", "+model.api_key=abc", "--token=xyz",
        "note=p1anted-value", f"x=sk-{'a' * 20}", f"y=hf_{'b' * 30}", "sampling.max_new_tokens=8",
    ]  # fmt: skip
    assert redact_command(typed) == [
        "python", "-m", "trace.run", "model=hf", f"+model.api_key={REDACTED}",
        f"--token={REDACTED}", f"note={REDACTED}", f"x={REDACTED}", f"y={REDACTED}",
        "sampling.max_new_tokens=8",
    ]  # fmt: skip
