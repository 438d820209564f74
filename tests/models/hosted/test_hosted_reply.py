from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.hosted.help import ask, settings
from trace.errors import ConfigError
from trace.models.hosted.body import body, check_labels
from trace.models.hosted.fault import Fault
from trace.models.hosted.reply import Reply, engine_of, read_reply, served_name
from trace.models.hosted.scores import Unreadable, label_scores
from trace.records import Request, Sampling

KEY = "ab" * 32
REQUEST = ask(1)[0]
PREFIX = '{"verdict": "'
LABELS = ('Safe"', 'Unsafe"')
SCORED = Request(messages=REQUEST.messages, labels=LABELS, prefix=PREFIX)


def reply(content: Any = "yes", finish: Any = "stop", **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content} | message
    return {
        "model": "snap-2026-01-01",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "finish_reason": finish, "message": said}],
        "usage": {
            "prompt_tokens": 30,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 20},
        },
    }


def read(raw: Any, request: Request = REQUEST, **model: Any) -> Reply | Fault:
    return read_reply(raw, settings(**model), request, KEY, 0.5)


def answer(raw: Any, **model: Any) -> Any:
    found = read(raw, **model)
    assert isinstance(found, Reply), found
    return found.completion


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


def token(text: str, *others: tuple[str, float], logprob: float = -0.1) -> dict[str, Any]:
    told = [{"token": t, "logprob": p} for t, p in ((text, logprob), *others)]
    return {"token": text, "logprob": logprob, "top_logprobs": told}


BEGUN = [token("{"), token('"verdict'), token('":'), token(' "')]


def test_the_score_is_the_mass_of_the_tokens_that_begin_a_label() -> None:
    last = token("Safe", ("Un", -3.0), ("Uns", -4.0), ("S", -5.0), ("Safety", -2.0), ("U", -9.0))
    scores = label_scores([*BEGUN, last, token('"')], PREFIX, LABELS)
    assert scores[LABELS[0]].logprob == pytest.approx(math.log(math.exp(-0.1) + math.exp(-5.0)))
    three = math.log(math.exp(-3.0) + math.exp(-4.0) + math.exp(-9.0))
    assert scores[LABELS[1]].logprob == pytest.approx(three)
    assert {score.tokens for score in scores.values()} == {1}


def test_white_space_of_the_prefix_does_not_count() -> None:
    begun = [token("\n"), token('{"'), token('verdict":"')]
    assert label_scores([*begun, token("Safe", ("Un", -3.0))], PREFIX, LABELS)


@pytest.mark.parametrize(
    "tokens",
    [
        [*BEGUN, token("Safe", ("Safety", -1.0))],  # a label is not among the alternatives
        [*BEGUN, token("Safe", ("Un", -math.inf))],
        [token("The"), token(" item"), token(" is"), token(" Safe", ("Un", -1.0))],
        [token('{"verdict": "Sa'), token("fe", ("x", -1.0))],  # reaches over the end of the prefix
        BEGUN,
        [],
    ],
)
def test_what_is_not_told_is_not_guessed(tokens: list[Any]) -> None:
    with pytest.raises(Unreadable):
        label_scores(tokens, PREFIX, LABELS)
    raw = reply()
    raw["choices"][0]["logprobs"] = {"content": tokens}
    found = read(raw, SCORED, logprobs=20)
    assert isinstance(found, Fault)
    assert found.kind == "refused"
    assert "protocol.answer=generate" in found.text


def test_a_server_without_alternatives_is_not_asked_for_scores() -> None:
    with pytest.raises(ConfigError, match=r"model\.logprobs=0"):
        check_labels(settings(), SCORED)
    check_labels(settings(logprobs=20), SCORED)
    alike = Request(messages=REQUEST.messages, labels=('Leak"', 'Lie"'), prefix=PREFIX)
    with pytest.raises(ConfigError, match="begin alike"):
        check_labels(settings(logprobs=20), alike)


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


@pytest.mark.parametrize("told", ["absent", None, {}, {"content": None}, {"content": []}])
def test_a_server_without_log_probabilities_is_asked_once_and_told(told: Any) -> None:
    body = reply()
    if told != "absent":
        body["choices"][0]["logprobs"] = told
    found = read(body, SCORED, logprobs=20)
    assert isinstance(found, Fault)
    assert found.kind == "refused"
    assert "reports no log-probabilities" in found.text
    assert "protocol.answer=generate" in found.text


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_log_probabilities_that_are_no_numbers_are_no_scores(value: float) -> None:
    told = [{"token": "Safe", "logprob": -1.0}, {"token": "S", "logprob": value}]
    tokens = [
        {"token": PREFIX, "logprob": 0.0, "top_logprobs": []},
        {"token": "Un", "logprob": -0.5, "top_logprobs": told},
    ]
    with pytest.raises(Unreadable, match="not numbers"):
        label_scores(tokens, PREFIX, LABELS)


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
