"""Names are taken out of responses, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from trace.benchmarks.cross_lab.masking import DEVELOPERS, MODELS, masked

PANEL = ("claude_opus_4_5", "deepseek_v4_pro", "gemini_3_1_pro", "gpt_5", "grok_4_20",
         "llama_3_3_70b_turbo")  # fmt: skip
SPOKEN = ("Claude Opus 4.5", "DeepSeek V4 Pro", "DeepSeek-V4", "Gemini 3.1 Pro", "GPT-5", "GPT 5",
          "Grok 4.20", "Llama 3.3 70B Turbo", "Llama-3.3-70B-Instruct-Turbo", "Claude 4.5",
          "Qwen2.5-7B-Instruct-Q4_K_M", "GPT-4o-mini", "SmolLM2-135M-Instruct",
          "meta-llama/Llama-3.3-70B-Instruct", "ChatGPT", "chat gpt", "Deep Seek",
          "Google's Gemini", "Meta Llama", "xAI's Grok", "通义千问")  # fmt: skip
ORDINARY = (
    "Ask Claude, the baker, and his sister Gemma.",
    "He is a Gemini; she read Bard of Avon in Nova Scotia.",
    "Put it in tools such as Google Sheets, order it from Amazon.",
    "The ideas cohere, the mistral blows, a llama 3 years old, to grok it.",
    "At a meta level, phi is 1.618; metaphors and philosophy.",
    "A mock exam, and the respondent may mock a friend by my own rule.",
    "Use the command respectfully, and be the copilot.",
)
prose = st.text(st.sampled_from("abc XYZ.,'\"*-_/()0123456789\n’“是"), max_size=40)
names = st.sampled_from((*SPOKEN, *MODELS, *DEVELOPERS))
frames = st.sampled_from(("", "I'm ", "I am **", "As ", "trained by ", "my name is ", "Ask "))


@given(prose, st.sampled_from(SPOKEN), prose)
def test_no_full_name_of_the_panel_remains(before: str, name: str, after: str) -> None:
    text = f"{before} {name}, {after}"
    assert name.casefold() not in masked(text, PANEL).text.casefold()


@given(prose, names, prose)
def test_a_speaker_that_names_itself_is_masked(before: str, name: str, after: str) -> None:
    found = masked(f"{before} I'm {name}. {after}", PANEL)
    assert found.found
    assert f"I'm {name}." not in found.text


@given(st.lists(st.one_of(prose, st.tuples(frames, names).map("".join)), max_size=6).map(" ".join))
def test_masking_twice_is_masking_once(text: str) -> None:
    once = masked(text, PANEL)
    assert masked(once.text, PANEL).text == once.text


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_words_stay(text: str) -> None:
    taking_part = (*PANEL, "mock", "respondent", "mock_a", "own_rule", "hf", "a")
    assert masked(text, taking_part).text == text


@given(prose)
def test_what_names_nobody_stays_as_it_is(text: str) -> None:
    assert masked(text, PANEL).text == text


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("I'm **Claude**, made by Anthropic.", "I'm **[model]**, made by [developer]."),
        ("As Gemini, I think so.", "As [model], I think so."),
        ("As Google does", "As Google does"),
        ("I am an AI assistant developed by Google.",
         "I am an AI assistant developed by [developer]."),
        ("I am a large language model, trained by Google.",
         "I am a large language model, trained by [developer]."),
        ("I am not ChatGPT.", "I am not [model]."),
        ("OpenAI's GPT-5's tone", "[developer]'s [model]'s tone"),
        ("a GPT-based, OpenAI-compatible tool", "a [model], [developer]-compatible tool"),
        ("ask Grok about Llama", "ask [model] about [model]"),
        ("我是DeepSeek。", "我是[model]。"),
        ("See openai/gpt-5 or qwen_2_5.", "See [developer]/[model] or [model]."),
    ],
)  # fmt: skip
def test_what_goes_and_what_stays(text: str, without: str) -> None:
    assert masked(text, PANEL).text == without


def test_what_was_taken_out_is_listed_in_order() -> None:
    found = masked("Anthropic made me: I am Claude, and not GPT-5 of OpenAI.").found
    assert found == ("Anthropic", "Claude", "GPT-5", "OpenAI")


def test_the_name_of_a_seat_goes_however_it_is_joined() -> None:
    text = "tiny_9, tiny-9, Tiny 9 and tiny 9 inches"
    assert masked(text, ["tiny_9"]).text == "[model], [model], [model] and [model] inches"
    assert masked("my local_llm, local llm", ["local_llm"]).text == "my [model], local llm"


def test_a_name_that_is_a_word_goes_where_a_speaker_names_itself() -> None:
    assert masked("I'm Respondent, the respondent.", ["respondent"]).text == (
        "I'm [model], the respondent."
    )


def test_a_long_response_takes_no_long_time() -> None:
    """Quadratic patterns would take minutes."""
    for piece in ("GPT" + "1" * 50, "gpt-", "I'm ", "GPT 4 4 ", "Meta ", "claude-1.1.1"):
        masked(piece * (100_000 // len(piece)), PANEL)


def test_the_laboratories_of_the_study_are_known_by_what_they_are_called() -> None:
    """conf/judges/cross_lab.yaml names them: a seventh needs no change here if it has a digit."""
    panel = yaml.safe_load((Path(ROOT) / "conf/judges/cross_lab.yaml").read_text("utf-8"))
    seats = [next(iter(one.values())) for one in panel["defaults"][1:]]
    assert set(seats) == set(PANEL)
    for seat in seats:
        assert masked(f"{seat} said", seats).text == "[model] said"
        assert masked(f"{seat.replace('_', ' ')} said", seats).text == "[model] said"
