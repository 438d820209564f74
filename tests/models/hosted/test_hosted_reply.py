from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.hosted.replies import (
    KEY,
    answer,
    read,
    reply,
)
from trace.models.hosted.fault import Fault
from trace.models.hosted.reply import Reply, engine_of, served_name


def test_an_answer_is_read_with_its_counts_and_its_maker() -> None:
    found = read(reply())
    assert isinstance(found, Reply)
    assert found.tokens is not None
    assert (found.tokens.prompt, found.tokens.completion, found.tokens.cached) == (30, 5, 20)
    made = found.completion
    assert (made.key, made.text, made.finish, made.seconds) == (KEY, "yes", "stop", 0.5)
    assert made.engine == "openai_compatible snap-2026-01-01 (fp_1)"


@given(
    st.text(alphabet=st.characters(exclude_characters="()")).map(str.strip),
    st.none() | st.just("fp"),
)
def test_the_served_name_is_read_back(name: str, fingerprint: str | None) -> None:
    assert served_name(engine_of({"model": name, "system_fingerprint": fingerprint})) == name


@pytest.mark.parametrize(
    ("raw", "finish", "text"),
    [
        (reply("", "stop"), "stop", ""),
        (reply("ye", "length"), "length", "ye"),
        (reply(None, "content_filter"), "content_filter", ""),
        (reply(None, "stop", refusal="No."), "content_filter", "No."),
        ({"error": {"code": 400, "message": "maximum context length is 8"}}, "too_long", ""),
    ],
)
def test_how_an_answer_ends(raw: Any, finish: str, text: str) -> None:
    assert (answer(raw).finish, answer(raw).text) == (finish, text)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (reply(None), "malformed"),
        (reply([{"type": "text", "text": "x"}]), "malformed"),
        (reply("cut", None), "malformed"),
        (reply("cut", "insufficient_system_resource"), "malformed"),
        (reply() | {"choices": []}, "malformed"),
        (reply() | {"choices": None}, "malformed"),
        (reply() | {"choices": [{}]}, "malformed"),
        ({"error": {"code": 502, "message": "upstream"}}, "failed"),
        ({"error": {"code": 429, "message": "slow"}}, "limited"),
        ({"error": "broken"}, "malformed"),
        ({}, "malformed"), ([], "malformed"), ("no", "malformed"), (None, "malformed"),
    ],
)  # fmt: skip
def test_what_is_no_answer_becomes_none(raw: Any, kind: str) -> None:
    found = read(raw)
    assert isinstance(found, Fault)
    assert found.kind == kind


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "error", "usage", "finish_reason"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_nothing_that_a_server_sends_breaks_it_or_becomes_a_verdict(raw: Any) -> None:
    found = read(raw)
    assert (
        isinstance(found, Fault)
        or found.completion.finish in ("content_filter", "too_long")
        or (isinstance(raw["choices"][0]["message"]["content"], str))
    )


def test_reasoning_comes_from_its_field_or_from_tags() -> None:
    tagged = answer(reply("<think>hm</think>yes"))
    assert (tagged.text, tagged.reasoning) == ("yes", "hm")
    field = answer(reply("yes", reasoning_content="hm"), reasoning_field="reasoning_content")
    assert (field.text, field.reasoning, field.reasoning_closed) == ("yes", "hm", True)
    assert answer(reply("yes", reasoning_content="hm")).reasoning is None
    cut = answer(reply(None, "length", reasoning="hm"), reasoning_field="reasoning")
    assert (cut.text, cut.reasoning, cut.reasoning_closed) == ("", "hm", False)


@pytest.mark.parametrize(
    "usage",
    [None, [1], {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 30},
     {"prompt_tokens": -30, "completion_tokens": 5}, {"prompt_tokens": 30, "completion_tokens": -5},
     {"prompt_tokens": math.inf, "completion_tokens": 5}, {"prompt_tokens": "many"},
     {"prompt_tokens": math.nan, "completion_tokens": 5}],
)  # fmt: skip
def test_a_count_that_cannot_be_is_none(usage: Any) -> None:
    """Negative counts would pay a budget back."""
    found = read(reply() | {"usage": usage})
    assert isinstance(found, Reply)
    assert found.tokens is None
    assert (found.completion.prompt_tokens, found.completion.completion_tokens) == (0, 0)


@pytest.mark.parametrize("cached", [10**9, -1, math.inf, "x"])
def test_no_more_is_cached_than_was_read(cached: Any) -> None:
    usage = {"prompt_tokens": 30, "completion_tokens": 5}
    found = read(reply() | {"usage": usage | {"prompt_tokens_details": {"cached_tokens": cached}}})
    assert isinstance(found, Reply)
    assert found.tokens is not None
    assert found.tokens.cached == (30 if cached == 10**9 else 0)


@pytest.mark.parametrize(
    ("told", "counted"), [(3, 3), (0, 0), (10**9, 5), (-1, None), (math.nan, None), ("x", None)]
)
def test_hidden_reasoning_is_counted_where_the_server_tells(told: Any, counted: int | None) -> None:
    usage = {"prompt_tokens": 30, "completion_tokens": 5}
    details = {"completion_tokens_details": {"reasoning_tokens": told}}
    found = read(reply() | {"usage": usage | details})
    assert isinstance(found, Reply)
    assert found.completion.reasoning_tokens == counted
    silent = read(reply() | {"usage": usage})
    assert isinstance(silent, Reply)
    assert silent.completion.reasoning_tokens is None


def test_reasoning_in_a_field_that_was_not_named_is_pointed_at() -> None:
    found = read(reply(None, "length", reasoning_content="Hmm"))
    assert isinstance(found, Fault)
    assert "Give model.reasoning_field=reasoning_content" in found.text
    named = read(reply(None, "length", reasoning="Hmm"), reasoning_field="reasoning")
    assert isinstance(named, Reply)


@pytest.mark.parametrize("body", [[], "x", None, 3, {"choices": 3}])
def test_other_json_is_no_completion_and_is_shown(body: Any) -> None:
    found = read(body)
    assert isinstance(found, Fault)
    assert found.kind == "malformed"
    assert repr(json.dumps(body))[1:-1] in found.text
