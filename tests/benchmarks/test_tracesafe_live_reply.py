from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.benchmarks.tracesafe.call_syntax import WrittenCall
from trace.benchmarks.tracesafe.live.reply import Reply, read_reply

LS = WrittenCall(name="ls", positional=(), keywords={"a": True})
CD = WrittenCall(name="cd", positional=(), keywords={"folder": "x"})
ONE = '{"name": "ls", "arguments": {"a": true}}'
TWO = '[{"name": "ls", "arguments": {"a": true}}, {"name": "cd", "arguments": {"folder": "x"}}]'


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (TWO, (LS, CD)),
        (ONE, (LS,)),
        (f"  {ONE}\n", (LS,)),
        ('{"type": "function", "id": "1", "name": "ls", "parameters": {"a": true}}', (LS,)),
        ('[{"name": "pwd"}]', (WrittenCall(name="pwd", positional=(), keywords={}),)),
        (f"```json\n{TWO}\n```", (LS, CD)),
        (f"I look around.\n```\n{ONE}\n```\nThat is all.", (LS,)),
        (f"```\nls: no such file\n```\n```python\n{TWO}\n```", (LS, CD)),
        ("```python\n[ls(a=True), cd(folder='x')]\n```", (LS, CD)),
        (f"<tool_call>\n{ONE}\n</tool_call>", (LS,)),
        (
            f"First this.\n<tool_call>{ONE}</tool_call>\n"
            '<tool_call>{"name": "cd", "arguments": {"folder": "x"}}</tool_call>',
            (LS, CD),
        ),
        ("[ls(a=True), cd(folder='x')]", (LS, CD)),
        ("ls(a=True), cd(folder='x')", (LS, CD)),
        ("[cd('x')]", (WrittenCall(name="cd", positional=("x",), keywords={}),)),
        (
            '[{"name": "echo", "arguments": {"content": "<tool_call> ```\\n[f()]\\n```"}}]',
            (
                WrittenCall(
                    name="echo",
                    positional=(),
                    keywords={"content": "<tool_call> ```\n[f()]\n```"},
                ),
            ),
        ),
    ],
)
def test_calls_are_read_in_their_order(text: str, calls: tuple[WrittenCall, ...]) -> None:
    assert read_reply(text) == Reply(calls=calls)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "[]",
        "```json\n[]\n```",
        "The file was moved.",
        "File(s) moved.",
        "Which folder (of the two) do you mean?",
        "It says:\n```\ntotal 3\n```",
        'The key is called "name": it holds a text.',
    ],
)
def test_words_and_the_empty_list_end_the_turn(text: str) -> None:
    assert read_reply(text) == Reply()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[{"name": "ls", "arguments": {"a": true}', "it is neither JSON nor calls"),
        ('{"name": "ls", "arguments"', "it is not valid JSON"),
        (ONE + "\n" + ONE, "it is not valid JSON"),
        ("[{'name': 'ls'}]", "it is neither JSON nor calls"),
        ('["ls"]', "an item of the list is no call"),
        ('{"tool": "ls", "args": {}}', "a call has no name"),
        ('{"name": "", "arguments": {}}', "a call has no name"),
        ('{"name": ["ls"], "arguments": {}}', "a call has no name"),
        ('{"name": "ls", "args": {}}', "a call has fields"),
        ('{"name": "ls", "arguments": {}, "parameters": {}}', "a call has fields"),
        ('{"name": "ls", "arguments": [true]}', "the arguments of a call are no object"),
        ('{"name": "ls", "arguments": "{}"}', "the arguments of a call are no object"),
        ('{"name": "ls", "name": "rm", "arguments": {}}', "an object has a key twice"),
        ('{"name": "ls", "arguments": {"a": 1, "a": 2}}', "an object has a key twice"),
        ('{"name": "f", "arguments": {"x": NaN}}', "an argument is no JSON value"),
        ('{"name": "f", "arguments": {"x": 1e999}}', "an argument is no JSON value"),
        ('{"name": "f", "arguments": {"x": "\\ud800"}}', "an argument is no JSON value"),
        ("[f(x={1, 2})]", "an argument is no JSON value"),
        ("[f(x=b'1')]", "an argument is no JSON value"),
        ("[f(x=1e999)]", "an argument is no JSON value"),
        ("[f((1, 2))]", "an argument is no JSON value"),
        ("[f(x={1: 2})]", "an argument is no JSON value"),
        ("[f(x=1, x=2)]", "a call has an argument twice"),
        ("[f(g(1))]", "it is neither JSON nor calls"),
        ("[f(x=y)]", "it is neither JSON nor calls"),
        ("[f(**{'a': 1})]", "it is neither JSON nor calls"),
        ("__import__('os').getcwd()", "it is neither JSON nor calls"),
        ("cd(folder=documents)", "it is neither JSON nor calls"),
        ("[f(), 1]", "it is neither JSON nor calls"),
        (f"<tool_call>{ONE}", "a tool_call tag stands alone"),
        (f"{ONE}</tool_call>", "it is not valid JSON"),
        ("<tool_call>ls(a=True)</tool_call>", "it is not valid JSON"),
        (f"```\n{ONE}\n```\nIt said: none.\n```\n{ONE}\n```", "calls stand in several"),
        (f"I look around.\n{TWO}", "calls stand among other text"),
        ("I look around.\n[ls(a=True)]", "calls stand among other text"),
        ("cd(folder='x'", "it is neither JSON nor calls"),
        ("cd(folder='x') goes there.", "it is neither JSON nor calls"),
        ("ls()\npwd()", "it is neither JSON nor calls"),
        (f"```json\n{ONE}", "calls stand among other text"),
    ],
)
def test_what_is_almost_a_call_is_said_to_be_unreadable(text: str, why: str) -> None:
    reply = read_reply(text)
    assert not reply.calls
    assert (reply.unreadable or "").startswith(why)


texts = st.text(st.characters(codec="utf-8"), max_size=20)
scalars = st.none() | st.booleans() | st.integers() | texts
scalars |= st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
identifiers = st.from_regex(r"[a-z_][a-z0-9_]{0,9}", fullmatch=True).map(lambda s: f"x{s}")
calls_made = st.lists(
    st.tuples(identifiers, st.dictionaries(identifiers, values, max_size=3)), min_size=1, max_size=3
)


def _as_json(calls: list[tuple[str, dict[str, Any]]]) -> list[str]:
    return [json.dumps({"name": name, "arguments": args}) for name, args in calls]


def _as_python(calls: list[tuple[str, dict[str, Any]]]) -> str:
    written = (f"{n}({', '.join(f'{k}={v!r}' for k, v in args.items())})" for n, args in calls)
    return f"[{', '.join(written)}]"


@given(calls_made)
def test_every_way_of_writing_calls_is_read_back(calls: list[tuple[str, dict[str, Any]]]) -> None:
    expected = Reply(
        calls=tuple(WrittenCall(name=n, positional=(), keywords=args) for n, args in calls)
    )
    listed = f"[{', '.join(_as_json(calls))}]"
    tagged = "\n".join(f"<tool_call>\n{one}\n</tool_call>" for one in _as_json(calls))
    assert read_reply(listed) == expected
    assert read_reply(f"Here:\n```json\n{listed}\n```\n") == expected
    assert read_reply(_as_python(calls)) == expected
    if not any("tool_call>" in one for one in _as_json(calls)):
        assert read_reply(tagged) == expected


pieces = ["[", "]", "{", "}", "(", ")", '"name"', '"arguments"', ":", ",", "ls", "'", '"', "\\",
          "\n", "```", "```json\n", "<tool_call>", "</tool_call>", "1", "=", "\x00", "\ud800",
          "-", "lambda", "*", " "]  # fmt: skip


@given(st.text() | st.lists(st.sampled_from(pieces), max_size=30).map("".join))
def test_garbage_never_raises(text: str) -> None:
    reply = read_reply(text)
    assert not (reply.calls and reply.unreadable)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 50_000, "f(" * 9_000 + ")" * 9_000, f"f({'-' * 9_000}1)"],
    ids=["lists", "objects", "calls", "signs"],
)
def test_depth_never_raises(text: str) -> None:
    assert read_reply(text).unreadable


def test_a_prefix_of_calls_is_never_read_as_other_calls() -> None:
    for end in range(1, len(TWO)):
        assert not read_reply(TWO[:end]).calls
    for end in range(len(python := "[ls(a=True), cd(folder='x')]")):
        assert not read_reply(python[:end]).calls
