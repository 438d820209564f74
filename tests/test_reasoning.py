"""Reasoning and answer: the shapes models write, cut texts, and tags that are only quoted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.reasoning import Split, split_reasoning

ANALYSIS = "<|channel|>analysis<|message|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize(
    ("text", "opened", "reasoning", "answer", "closed"),
    [
        ("Safe", False, None, "Safe", True),
        ("", False, None, "", True),
        ("<think>is it?</think>\n\nSafe", False, "is it?", "Safe", True),
        ("<think>\n\n</think>\n\nSafe", False, None, "Safe", True),
        ("<THINKING>a</Thinking>b", False, "a", "b", True),
        ("<think>a</think><think>b</think>c", False, "a\n\nb", "c", True),
        ("x<think>a</think>y", False, "a", "x\ny", True),
        ("<think>I see a <think> tag</think>c", False, "I see a <think> tag", "c", True),
        ("<think>a<think>b</think>c</think>d", False, "a<think>b\n\nc", "d", True),
        # The prompt opened the block, whether the caller knows it or not.
        ("it is fine</think>Safe", True, "it is fine", "Safe", True),
        ("it is fine</think>Safe", False, "it is fine", "Safe", True),
        ('{"verdict": "Unsafe"}? no</think>Safe', True, '{"verdict": "Unsafe"}? no', "Safe", True),
        ('{"verdict": "Unsafe"}? no</think>Safe', False, '{"verdict": "Unsafe"}? no', "Safe", True),
        # Cut inside the block.
        ("<think>it is", False, "it is", "", False),
        ("<think>", False, None, "", False),
        ("it is", True, "it is", "", False),
        ("", True, None, "", False),
        ("so: <think>it is", False, "it is", "so:", False),
        ("<think>a</think>b<think>c", False, "a\n\nc", "b", False),
        ("<think>it is</thin", False, "it is</thin", "", False),
    ],
)
def test_think(text: str, opened: bool, reasoning: str | None, answer: str, closed: bool) -> None:
    assert split_reasoning(text, "think", opened=opened) == Split(reasoning, answer, closed)


@pytest.mark.parametrize("tag", ["<think>", "</think>", "<think>x</think>", "</thinking>"])
@pytest.mark.parametrize("fence", ["{}", "```json\n{}\n```", "\n {}"])
def test_a_tag_quoted_by_the_answer_is_part_of_it(tag: str, fence: str) -> None:
    verdict = '{"verdict": "Unsafe", "reasoning": "says \\"hi\\" TAG"}'.replace("TAG", tag)
    reply = fence.replace("{}", verdict)
    assert split_reasoning(reply, "think") == Split(None, reply.strip(), closed=True)
    after = split_reasoning("<think>hm</think>" + reply, "think")
    assert after == Split("hm", reply.strip(), closed=True)


@pytest.mark.parametrize(
    ("text", "opened", "reasoning", "answer", "closed"),
    [
        (f"{ANALYSIS}hm<|end|>{FINAL}Safe<|return|>", False, "hm", "Safe", True),
        (f"{ANALYSIS}hm<|end|>{FINAL}Safe", False, "hm", "Safe", True),
        (f"{ANALYSIS}hm<|end|>{FINAL}", False, "hm", "", True),
        (f"{ANALYSIS}a<|end|><|start|>assistant{ANALYSIS}b<|end|>{FINAL}c", False, "a\n\nb", "c",
         True),
        ("<|channel|>final<|message|>Safe<|return|>", False, None, "Safe", True),
        ("Safe<|return|>", False, None, "Safe", True),
        ("Safe", False, None, "Safe", True),
        ("", False, None, "", True),
        # A call to a tool is no answer.
        (f"<|channel|>commentary to=functions.f <|constrain|>json<|message|>{{}}<|call|>{FINAL}c",
         False, "{}", "c", True),
        # The prompt opened the channel, whether the caller knows it or not.
        (f"hm<|end|>{FINAL}Safe<|return|>", True, "hm", "Safe", True),
        (f"hm<|end|>{FINAL}Safe<|return|>", False, "hm", "Safe", True),
        # Cut.
        (f"{ANALYSIS}it is", False, "it is", "", False),
        ("<|channel|>analysis", False, None, "", False),
        ("it is", True, "it is", "", False),
        (f"{ANALYSIS}hm<|end|><|start|>assist", False, "hm", "", True),
        ("<|channel|>commentary<|message|>first", False, "first", "", False),
    ],
)  # fmt: skip
def test_harmony(text: str, opened: bool, reasoning: str | None, answer: str, closed: bool) -> None:
    assert split_reasoning(text, "harmony", opened=opened) == Split(reasoning, answer, closed)


@pytest.mark.parametrize(
    ("text", "opened", "reasoning", "answer", "closed"),
    [
        ("<|channel>thought\nis it?\n<channel|>Safe<turn|>", False, "is it?", "Safe", True),
        ("<|channel>thought\n<channel|>Safe<turn|>", False, None, "Safe", True),  # thinking is off
        ("Safe<turn|>\n<eos>", False, None, "Safe", True),
        ("<|channel>thought\na<channel|>b<|channel>thought\nc<channel|>d", False, "a\n\nc", "b\nd",
         True),
        # The prompt opened the channel, whether the caller knows it or not.
        ("hm<channel|>Safe<turn|>", True, "hm", "Safe", True),
        ("hm<channel|>Safe<turn|>", False, "hm", "Safe", True),
        # Cut inside the channel.
        ("<|channel>thought\nit is", False, "it is", "", False),
        ("<|channel>thou", False, None, "", False),
        ("it is", True, "it is", "", False),
        # A word on the line of the mark is its name only where the line ends.
        ("<|channel>see this<channel|>c", False, "see this", "c", True),
    ],
)  # fmt: skip
def test_gemma(text: str, opened: bool, reasoning: str | None, answer: str, closed: bool) -> None:
    assert split_reasoning(text, "gemma", opened=opened) == Split(reasoning, answer, closed)


def test_none_changes_nothing() -> None:
    text = " <think>a</think> b "
    assert split_reasoning(text, "none") == Split(None, text, closed=True)


def test_unknown_style() -> None:
    with pytest.raises(ValueError, match="think, harmony, gemma or none"):
        split_reasoning("", "xml")


PIECES = st.sampled_from(
    ["<think>", "</think>", "<thinking>", "<th", "ink>", "{", "}", '"', "\\", "```json\n", "a", " "]
    + [f"<|{t}|>" for t in ("start", "channel", "message", "end", "return", "call", "constrain")]
    + ["<|channel>", "<channel|>", "<turn|>", "<eos>", "thought\n", "<turn", "|>"]
    + ["<|", "end|>", "analysis", "final", "assistant", "\n", "é"]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join) | st.text()


@given(TEXTS, st.sampled_from(["think", "harmony", "gemma"]), st.booleans())
def test_splitting_an_answer_again_changes_nothing(text: str, style: str, opened: bool) -> None:
    once = split_reasoning(text, style, opened=opened)
    assert split_reasoning(once.answer, style) == Split(None, once.answer, closed=True)
    if style == "harmony":
        assert not any(f"<|{t}|>" in once.answer for t in ("start", "channel", "message", "end"))


@given(
    st.text(st.characters(exclude_characters="<>")), st.text(st.characters(exclude_characters="<>"))
)
def test_one_block_is_recovered(thought: str, answer: str) -> None:
    split = split_reasoning(f"<think>{thought}</think>{answer}", "think")
    assert split == Split(thought.strip() or None, answer.strip(), closed=True)
    channels = split_reasoning(f"{ANALYSIS}{thought}<|end|>{FINAL}{answer}<|return|>", "harmony")
    assert channels == split
    gemma = split_reasoning(f"<|channel>thought\n{thought}<channel|>{answer}<turn|>", "gemma")
    assert gemma == split
