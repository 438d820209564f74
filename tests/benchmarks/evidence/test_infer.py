"""What respondents are asked, and which of their replies make a triple."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from trace import config
from trace.benchmarks.evidence import infer
from trace.benchmarks.evidence.infer import Answered
from trace.benchmarks.evidence.prompts import Prompt
from trace.records import Completion, Finish, Request, Sampling

SAMPLING = Sampling(temperature=0.7, max_new_tokens=64, seed=42)
MOCK = config.MockModel(
    name="someone", family="Mock", replies="unread.jsonl", engine=config.MockEngine()
)
PLAIN = replace(MOCK, reasoning="none")


def prompt(text: str) -> Prompt:
    return Prompt(
        text=text,
        language="en",
        category=None,
        attack=None,
        source="test",
        licence="CC0-1.0",
        provenance={},
    )


PROMPTS = [prompt("How does bread rise?"), prompt("Name a river.")]


class Asked:
    """Keeps what it is asked, and deals completions."""

    def __init__(self, *made: Completion) -> None:
        self.made = list(made)
        self.rounds: list[list[Request]] = []

    def __call__(self, requests: Sequence[Request]) -> list[Completion]:
        self.rounds.append(list(requests))
        return [self.made.pop(0) for _ in requests]


def done(
    text: str = "Yeast.",
    reasoning: str | None = "It is about bread.",
    *,
    closed: bool = True,
    finish: Finish = "stop",
) -> Completion:
    return Completion(
        key="k", text=text, reasoning=reasoning, reasoning_closed=closed, finish=finish
    )


def own(made: Completion) -> Answered:
    return infer.infer(PROMPTS[:1], "r", MOCK, SAMPLING, Asked(made))[0]


def test_a_reasoning_model_is_asked_once_a_prompt_with_the_prompt_as_it_stands() -> None:
    asked = Asked(done(), done("The Danube."))
    answered = infer.infer(PROMPTS, "r", MOCK, SAMPLING, asked)
    (requests,) = asked.rounds
    assert [r.messages for r in requests] == [
        ({"role": "user", "content": p.text},) for p in PROMPTS
    ]
    assert [a.response for a in answered] == ["Yeast.", "The Danube."]
    assert [(a.reasoning, a.origin, a.invalid) for a in answered] == [
        ("It is about bread.", "own", None)
    ] * 2
    assert (answered[0].respondent.name, answered[0].respondent.family) == ("r", "Mock")


def test_seeds_differ_by_prompt_and_are_part_of_the_key() -> None:
    first, second = infer.first_requests(PROMPTS, MOCK, SAMPLING)
    assert first.sampling.seed != second.sampling.seed
    assert first.sampling == replace(SAMPLING, seed=first.sampling.seed)
    assert [first, second] == infer.first_requests(PROMPTS, MOCK, SAMPLING)
    assert second == infer.first_requests(PROMPTS[1:], MOCK, SAMPLING)[0]  # not of its place
    other = infer.first_requests(PROMPTS, MOCK, replace(SAMPLING, seed=43))[0]
    assert other.key({}) != first.key({})
    assert all(0 <= r.sampling.seed < 2**31 for r in (first, second, other))


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (done(closed=False, text="", finish="length"), "trace not closed"),
        (done(closed=False, text="So:", finish="length"), "trace not closed"),
        (done(reasoning=None), "no trace"),
        (done(reasoning="  \n"), "no trace"),
        (done(text=" "), "no response"),
        (done(text="", finish="length"), "no response"),
        (done(text="", reasoning=None, finish="too_long"), "too long"),
        (done(text="No.", reasoning=None, finish="content_filter"), "refused by the provider"),
        (done(text="", reasoning=None, closed=False, finish="error"), "error"),
        (done(text="Yeast \ud83d."), "half a character"),
        (done(reasoning="Of bread \udc4d."), "half a character"),
    ],
)
def test_what_makes_a_triple_invalid(made: Completion, reason: str) -> None:
    answered = own(made)
    assert answered.invalid == reason
    assert infer.invalid_counts([answered, own(done())]) == {"r": {reason: 1}}


def test_a_response_that_ran_into_the_limit_is_kept_and_marked() -> None:
    assert own(done(finish="length")).cut
    assert own(done(finish="length")).invalid is None
    assert not own(done()).cut


def test_reasoning_is_elicited_from_a_model_that_has_none() -> None:
    asked = Asked(done("It asks about bread.", None), done("A river is asked.", None),
                  done("Yeast.", None), done("The Danube.", None, finish="length"))  # fmt: skip
    answered = infer.infer(PROMPTS, "r", PLAIN, SAMPLING, asked)
    thinking, answering = asked.rounds
    for first, second, source in zip(thinking, answering, PROMPTS, strict=True):
        assert first.messages[-1]["content"].endswith(source.text)
        assert "do not answer" in first.messages[-1]["content"]
        assert second.messages[0] == first.messages[0]
        assert [m["role"] for m in second.messages] == ["user", "assistant", "user"]
    assert answering[1].messages[1]["content"] == "A river is asked."
    seeds = [r.sampling.seed for r in (*thinking, *answering)]
    assert len(set(seeds)) == 4
    assert [(a.origin, a.reasoning, a.response, a.cut) for a in answered] == [
        ("elicited", "It asks about bread.", "Yeast.", False),
        ("elicited", "A river is asked.", "The Danube.", True),
    ]
    assert len(answered[0].keys) == 2


def test_elicited_thoughts_that_fail_are_not_answered() -> None:
    asked = Asked(done("It goes on and", None, finish="length"), done(" ", None))
    answered = infer.infer(PROMPTS, "r", PLAIN, SAMPLING, asked)
    assert [a.invalid for a in answered] == ["trace not closed", "no trace"]
    assert len(asked.rounds) == 1


def test_a_prompt_is_data_whatever_it_holds() -> None:
    hostile = prompt("{text} %s ${oops} {{ x }}")
    (request,) = infer.first_requests([hostile], PLAIN, SAMPLING)
    assert request.messages[0]["content"] == infer.THINK + hostile.text


def test_a_server_with_a_field_of_its_own_for_reasoning_is_not_asked_twice() -> None:
    served = config.HostedModel(
        name="s", id="s", reasoning="none", reasoning_field="reasoning_content",
        base_url="http://127.0.0.1:1/v1", engine=config.OpenAIEngine(),
    )  # fmt: skip
    assert infer.origin(served) == "own"
    assert infer.origin(PLAIN) == "elicited"


@pytest.mark.parametrize(
    ("family", "told"),
    [("Qwen3", "Qwen"), ("Gemma", "Gemma"), ("gpt-oss", "gpt-oss"), (None, "someone")],
)
def test_a_family_is_told_without_its_generation(family: str | None, told: str) -> None:
    assert infer.respondent("x", replace(MOCK, family=family)).family == told
