"""A template vouches for what it writes itself, and for nothing else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jinja2 import Environment

from trace.judging.guards.registry import FAMILIES
from trace.tasks.verification import NEVER_LOADED, Verification, recalled, remember, verify

PLAIN = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
POLICY = "S1: Violent Crimes. S2: Privacy.\n" + PLAIN
BLIND = "S1: Violent Crimes.\n{% for m in messages %}{{ m.content[0].text }}\n{% endfor %}"
GUIDED = PLAIN + "\n* {{ guideline }}\n"


def model(template: str | None) -> Any:
    """What an engine of this process has: a tokenizer, here with this template."""

    def apply_chat_template(messages: Any, **args: Any) -> str:
        return Environment().from_string(template or "").render(messages=messages, **args)

    tokenizer = SimpleNamespace(
        chat_template=template,
        apply_chat_template=apply_chat_template,
        added_tokens_decoder={},
        all_special_tokens=[],
        bos_token=None,
    )
    return SimpleNamespace(text=SimpleNamespace(tokenizer=tokenizer))


@pytest.mark.parametrize(
    ("family", "template", "verified", "says"),
    [
        ("llama_guard_3", POLICY, True, "its own chat template"),
        ("llama_guard_3", PLAIN, False, "leaves out its categories"),  # of some other model
        ("llama_guard_3", None, False, "no chat template"),
        ("llama_guard_3", BLIND, False, "leaves out the texts"),  # it wants lists, and gets text
        ("llama_guard_3_1b", BLIND, True, "its own chat template"),
        ("shieldgemma", GUIDED, True, "its own chat template"),
        ("shieldgemma", PLAIN, False, "leaves out its categories"),
        ("octopus", PLAIN, True, "its own chat template"),  # it has no categories
        ("nemo_guard", POLICY, False, "text of ours"),
        ("polyguard", POLICY, False, "text of ours"),
        ("gpt_oss_safeguard", POLICY, False, "text of ours"),
        ("nemotron_reasoning", POLICY, False, "text of ours"),
        ("wildguard", PLAIN, False, "unlike its own chat template"),
        ("wildguard", None, False, "no chat template to compare"),
    ],
)
def test_what_the_template_writes_is_verified(
    family: str, template: str | None, verified: bool, says: str
) -> None:
    found = verify(FAMILIES[family], model(template))
    assert (found.verified, found.compared) == (verified, True)
    assert says in found.reason


def test_a_name_inside_a_word_is_no_category() -> None:
    assert not verify(FAMILIES["llama_guard_3"], model("Whatever is asked.\n" + PLAIN)).verified


def test_a_served_model_takes_nothing_back_that_was_found_with_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACE_CACHE", str(tmp_path))
    assert recalled("mine") == NEVER_LOADED
    found = verify(FAMILIES["llama_guard_3"], model(POLICY))
    remember("mine", found)
    served = verify(FAMILIES["llama_guard_3"], SimpleNamespace())
    assert "served" in served.reason
    remember("mine", served)
    assert recalled("mine") == found == Verification(verified=True, reason=found.reason)
