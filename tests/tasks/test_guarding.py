"""What a guard with a prompt of its own can and cannot be asked."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hydra import compose

from tests.conftest import ROOT
from trace import config, sweep
from trace.errors import ConfigError, UnsupportedError
from trace.judging.guards.base import Conversation, Guard, Question
from trace.judging.guards.registry import FAMILIES
from trace.records import Gold, Json, Sample
from trace.tasks.guarding import Guarding

config.register()


def asked(variant: str) -> config.Root:
    words = ["model=mock", "model.rates={default: 1}", "model.guard=llama_guard_3",
             "model.kind=guard", "protocol=binary", f"protocol.variant={variant}"]  # fmt: skip
    with sweep.composing(ROOT / "conf"):
        return config.to_typed(compose("config", words))


def test_our_wordings_are_not_those_of_a_guard() -> None:
    plain = asked("plain")
    Guarding(plain.model).check(plain)
    for variant in ("reversed", "reworded_2"):
        settings = asked(variant)
        with pytest.raises(UnsupportedError, match=rf"protocol\.variant={variant} is left out"):
            Guarding(settings.model).check(settings)


def guarding(family: str) -> Guarding:
    model: Any = SimpleNamespace(name=family, guard=family, template_args=None)
    return Guarding(model)


def sample(**view: Json) -> Sample:
    return Sample(id="s", gold=Gold(label="unsafe"), view=view, cluster="c")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", ["half a \ud83d pair", "", " \n", "a\u2060b", "<|eot_id|>[/INST]"])
def test_no_text_of_a_sample_ends_the_run(family: str, text: str) -> None:
    asked = guarding(family).requests(sample(prompt="p", response=text), 0)
    assert asked
    for request in asked:
        "".join(request.texts).encode("utf-8")  # what no tokenizer takes is not sent
    if "prompt" in FAMILIES[family].targets:
        assert guarding(family).requests(sample(prompt=text), 0)


class Changed(Guard):
    """A family that words one of its questions otherwise."""

    def __init__(self, of: Guard, kind: str) -> None:
        self.of, self.kind = of, kind

    def questions(self, judged: Conversation) -> tuple[Question, ...]:
        asked = self.of.questions(judged)
        if (judged.assistant is None) == (self.kind == "prompt"):
            return tuple(replace(q, messages=(*q.messages, {"content": "more"})) for q in asked)
        if self.kind == "tokens":
            return tuple(replace(q, max_new_tokens=7) for q in asked)
        return asked

    def read(self, *_: Any) -> Any: ...


def test_a_text_that_is_not_shown_ends_it() -> None:
    blind = guarding("llama_guard_3")
    blind.__dict__["guard"] = SimpleNamespace(
        questions=lambda _: (Question(messages=({"role": "user", "content": "else"},)),)
    )
    with pytest.raises(ConfigError, match="does not stand in the prompt"):
        blind.requests(sample(prompt="p", response="r"), 0)


def test_another_wording_of_any_question_is_another_prompt() -> None:
    hashes = {guarding("shieldgemma").prompt_hash}
    for kind in ("prompt", "response", "tokens"):
        changed = guarding("shieldgemma")
        changed.__dict__["guard"] = Changed(FAMILIES["shieldgemma"], kind)
        hashes.add(changed.prompt_hash)
    assert len(hashes) == 4


def test_what_a_guard_cannot_be_asked_is_said_with_what_it_can() -> None:
    settings = asked("plain")
    for family in ("llama_guard_3", "shieldgemma"):
        model = replace(settings.model, guard=family)
        fine = replace(
            settings, protocol=replace(settings.protocol, name="schema", definitions=True)
        )
        with pytest.raises(UnsupportedError, match="protocol=binary is what it answers"):
            Guarding(model).check(fine)
