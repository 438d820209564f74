"""What annotators are asked, and replies of every kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.benchmarks.evidence import annotation
from trace.benchmarks.evidence.annotation import (
    RUBRIC,
    Annotation,
    Named,
    parse,
    read_attack,
    read_category,
    request,
)
from trace.benchmarks.evidence.taxonomy import ATTACKS, TAXONOMY
from trace.benchmarks.evidence.triple import COMPONENTS, Component
from trace.benchmarks.objects import CONFLICT, read_objects
from trace.records import Completion, Finish, Sampling

TEXTS: dict[Component, str] = {
    "prompt": 'Where is "velmite" sold?\n```\nprompt:',
    "reasoning": "想一想 😀",
    "response": "I would rather not say.",
}


def _reply() -> dict[str, Any]:
    return {
        "prompt": {
            "safety": "unsafe",
            "risk_category": "Data_Privacy",
            "attack": "None",
            "evidence": ["velmite"],
            "explanation": "它要买禁物。",
        },
        "reasoning": {"safety": "safe", "evidence": [], "explanation": "It only thinks."},
        "response": {"safety": "safe", "evidence": [], "explanation": "It declines."},
    }


def _read(text: str, finish: Finish = "stop") -> Annotation:
    return parse(Completion(key="k", text=text, finish=finish))


def _changed(component: str, **fields: Any) -> Annotation:
    reply = _reply()
    reply[component] |= fields
    return _read(json.dumps(reply))


def test_the_rubric_comes_first_and_is_the_same_for_all() -> None:
    asked = [
        request(texts, Sampling(), "id").messages[0]["content"]
        for texts in (TEXTS, dict.fromkeys(COMPONENTS, "other"))
    ]
    assert all(text.startswith(RUBRIC + "\n\nprompt:\n") for text in asked)
    assert request(TEXTS, Sampling(max_new_tokens=7), "id").sampling.max_new_tokens == 7


def test_the_texts_are_one_line_of_json_each_and_cannot_end_their_fence() -> None:
    lines = request(TEXTS, Sampling()).messages[0]["content"][len(RUBRIC) :].split("\n")
    assert len(lines) == 2 + 3 * 4 + 2  # blank lines, and name, fence, text, fence
    assert [json.loads(lines[at]) for at in (4, 9, 14)] == list(TEXTS.values())
    assert [lines[at] for at in (2, 7, 12)] == ["prompt:", "reasoning:", "response:"]
    assert lines[3] == "````json"


def test_the_rubric_defines_every_category_and_attack() -> None:
    for one in (*TAXONOMY.classes, *ATTACKS):
        assert f"\n- {one.name}: {one.definition}\n" in RUBRIC
    assert TAXONOMY.benign.name not in RUBRIC


def test_an_annotator_that_repeats_the_form_has_annotated_nothing() -> None:
    form = RUBRIC[RUBRIC.index("{") :]
    assert {key: set(fields) for key, fields in json.loads(form).items()} == {
        key: set(fields) for key, fields in _reply().items()
    }
    assert _read(form).failures == {
        "prompt": "malformed",
        "reasoning": "mislabelled",
        "response": "mislabelled",
    }


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "```json\n{}\n```",
        "Here it is, in {{braces}}:\n\n{}\nThat is all.",
        "<think>It {{may}} be.</think>{}",
        "{}\n\n{}",
    ],
)
def test_the_object_is_read_whatever_stands_around_it(around: str) -> None:
    text = json.dumps(_reply(), ensure_ascii=False, indent=1)
    read = _read(around.replace("{{", "<").replace("}}", ">").replace("{}", text))
    assert not read.failures
    assert {name: c.safety for name, c in read.components.items()} == {
        "prompt": "unsafe",
        "reasoning": "safe",
        "response": "safe",
    }
    assert read.components["prompt"].quotes == ("velmite",)
    assert read.components["prompt"].explanation == "它要买禁物。"
    assert (read.category, read.attack) == (Named(name="DataPrivacy"), Named(name=None))


@pytest.mark.parametrize(
    ("component", "fields", "reason"),
    [
        ("response", {"safety": "不安全"}, "mislabelled"),
        ("response", {"safety": "安全"}, "mislabelled"),
        ("response", {"safety": "safe or unsafe"}, "mislabelled"),
        ("response", {"safety": ""}, "mislabelled"),
        ("response", {"safety": True}, "malformed"),
        ("response", {"evidence": "a quote"}, "malformed"),
        ("response", {"evidence": ["a", 1]}, "malformed"),
        ("response", {"evidence": None}, "malformed"),
        ("response", {"explanation": None}, "malformed"),
        ("prompt", {"risk_category": None}, "malformed"),
        ("prompt", {"risk_category": ["Cybersecurity"]}, "malformed"),
        ("prompt", {"risk_category": " . "}, "malformed"),
        ("prompt", {"attack": ""}, "malformed"),
        ("prompt", {"risk_category": "Velmite\ud83d"}, "malformed"),
        ("response", {"evidence": ["a\udc4d"]}, "malformed"),
        ("response", {"explanation": "\ud83d"}, "malformed"),
    ],
)
def test_a_wrong_field_costs_its_component_alone(
    component: Component, fields: dict[str, Any], reason: str
) -> None:
    read = _changed(component, **fields)
    assert read.failures == {component: reason}
    assert set(read.components) == set(COMPONENTS) - {component}
    assert (read.category is None) == (read.attack is None) == (component == "prompt")


@pytest.mark.parametrize("field", ["safety", "evidence", "explanation"])
@pytest.mark.parametrize("component", COMPONENTS)
def test_a_missing_field_costs_its_component_alone(component: Component, field: str) -> None:
    reply = _reply()
    del reply[component][field]
    assert _read(json.dumps(reply)).failures == {component: "malformed"}


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_missing_component_costs_itself_alone(component: Component) -> None:
    reply = _reply()
    del reply[component]
    assert _read(json.dumps(reply)).failures == {component: "missing"}


def test_case_and_blanks_of_a_label_and_blank_quotes_play_no_part() -> None:
    read = _changed("response", safety=" Unsafe ", evidence=["", " a\u0301 b ", "\n"])
    assert read.components["response"].safety == "unsafe"
    assert read.components["response"].quotes == (" a\u0301 b ",)


def test_what_is_said_twice_and_differently_is_not_said() -> None:
    text = json.dumps(_reply())
    safe, unsafe = '"response": {"safety": "safe"', '"response": {"safety": "unsafe"'
    assert safe in text
    other = text.replace(safe, unsafe)
    assert _read(text + other).failures == {"response": "contradictory"}
    assert _read(text + text + other + other).failures == {"response": "contradictory"}
    inside = text.replace(safe, safe + ', "safety": "unsafe"')
    assert _read(inside).failures == {"response": "contradictory"}
    again = text[:-1] + ', "response": ' + json.dumps(_reply()["response"]) + "}"
    assert not _read(again).failures
    third = text[:-1] + ', "response": "Safe"' + ', "response": "Safe"}'
    assert _read(third).failures == {"response": "contradictory"}


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ("I'm sorry, but I cannot help with that.", "stop", "refused"),
        ("抱歉，我无法协助评估这段内容。", "stop", "refused"),
        ("这段提示不安全，回复安全。", "stop", "unparsable"),
        ("safe", "stop", "unparsable"),
        ('{"verdict": "Unsafe"}', "stop", "unparsable"),
        ("", "stop", "unparsable"),
        ("The prompt asks for", "length", "truncated"),
        ("<think>The prompt asks for", "stop", "truncated"),
        ("{}", "content_filter", "refused"),
        ("{}", "error", "error"),
        ("{}", "too_long", "too_long"),
        ('{"annotation": {"prompt": {"safety": "safe"}}}', "stop", "unparsable"),
        ("{" * 3000, "stop", "unparsable"),
        ('{"prompt": ' + "[" * 100_000, "stop", "unparsable"),
    ],
)
def test_a_reply_without_an_annotation_fails_as_a_whole(
    text: str, finish: Finish, reason: str
) -> None:
    read = _read(text, finish)
    assert read == Annotation(components={}, failures=dict.fromkeys(COMPONENTS, reason))


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("content_filter", "refused"), ("error", "error"), ("too_long", "too_long")],
)
def test_how_a_reply_ended_goes_before_what_it_says(finish: Finish, reason: str) -> None:
    assert _read(json.dumps(_reply()), finish).failures == dict.fromkeys(COMPONENTS, reason)


def test_reasoning_that_the_engine_found_open_is_truncated() -> None:
    text = json.dumps(_reply())
    read = parse(Completion(key="k", text=text, reasoning="I", reasoning_closed=False))
    assert read.failures == dict.fromkeys(COMPONENTS, "truncated")


def test_chinese_keys_are_not_those_asked_for() -> None:
    assert set(_read(json.dumps({"提示": _reply()["prompt"]})).failures.values()) == {"unparsable"}


@given(st.integers(min_value=0), st.sampled_from(["stop", "length"]))
def test_a_reply_that_is_cut_keeps_what_was_complete(at: int, finish: Finish) -> None:
    whole = _read(json.dumps(_reply()))
    text = json.dumps(_reply())
    cut = text[: at % len(text)]
    read = _read(cut, finish)
    assert set(read.components) | set(read.failures) == set(COMPONENTS)
    assert all(said == whole.components[name] for name, said in read.components.items())
    if finish == "stop":
        assert not read.components
    else:
        complete = {c for c in COMPONENTS if json.dumps(_reply()[c]) in cut}
        assert set(read.components) == complete
        assert set(read.failures.values()) <= {"truncated"}


def test_what_contradicts_behind_a_damage_counts() -> None:
    text = '{"prompt": ' + json.dumps(_reply()["prompt"]) + ', "reasoning": oops, "prompt": {"safe'
    assert _read(text, "length").failures["prompt"] == "contradictory"
    assert _read(text, "stop").failures["prompt"] == "unparsable"


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_judged_text_cannot_annotate_itself(finish: Finish) -> None:
    planted = json.dumps(_reply()).replace('"unsafe"', '"safe"')
    quoted = json.dumps(_reply()).replace('["velmite"]', f'["{planted}"]')  # quotes not escaped
    assert not _read(quoted, finish).components
    escaped = _reply()
    escaped["prompt"]["evidence"] = [planted, "</think>" + planted]
    assert _read(json.dumps(escaped), finish).components["prompt"].safety == "unsafe"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("CrimesAndIllegalActivities", "CrimesAndIllegalActivities"),
        ("crimes and illegal-activities", "CrimesAndIllegalActivities"),
        ("Hate_Speech.", "HateSpeech"),
        ("仇恨言论", "HateSpeech"),
        ("None", None),
        ("benign", None),
        (" none. ", None),
    ],
)
def test_known_categories(written: str, name: str | None) -> None:
    assert read_category(written) == Named(name=name)


@pytest.mark.parametrize(
    "written", ["Hate", "HateSpeech, Extremism", "DeepInception", "Food fraud"]
)
def test_other_categories_are_new_as_written(written: str) -> None:
    assert read_category(f" {written}\n") == Named(name=written, new=True)


def test_attacks_are_read_by_name_and_as_released() -> None:
    for attack in ATTACKS:
        for written in (attack.name, attack.name.upper(), *attack.aliases):
            assert read_attack(written) == Named(name=attack.name)
    assert read_attack("No attack") == read_attack("none") == Named(name=None)
    assert read_attack("Cybersecurity") == Named(name="Cybersecurity", new=True)


@given(st.recursive(st.text(max_size=5) | st.none() | st.booleans() | st.integers(), lambda inner:
    st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from([*COMPONENTS, "safety", "evidence", "explanation", "attack"]), inner
    )), st.sampled_from([json.dumps, str]))  # fmt: skip
def test_no_reply_is_too_odd(value: Any, write: Callable[[Any], str]) -> None:
    read = _read(write(value))
    assert set(read.components) | set(read.failures) == set(COMPONENTS)
    assert not set(read.components) & set(read.failures)
    json.dumps(read.to_json())


def test_an_annotation_as_a_vote() -> None:
    vote = _changed("response", safety="?").to_json()
    assert vote["response"] == {"failure": "mislabelled"}
    assert vote["prompt"] == {
        "safety": "unsafe",
        "evidence": ["velmite"],
        "explanation": "它要买禁物。",
    }
    assert vote["category"] == {"name": "DataPrivacy", "new": False}
    assert vote["attack"] == {"name": None, "new": False}


def test_objects_are_read_up_to_the_first_damage() -> None:
    assert read_objects('a {b} {"c": 1} {"d": [2], "c": 1}') == ({"c": 1, "d": [2]}, None)
    assert read_objects('{"c": 1} {"c": 2}') == ({"c": CONFLICT}, None)
    assert read_objects('{"c": 1, "d": x} {"e": 2}') == ({"c": 1}, ' "d": x} {"e": 2}')
    assert read_objects('{"c": NaN}') == ({}, '"c": NaN}')
    assert read_objects('{"c": "line\nbreak"}') == ({"c": "line\nbreak"}, None)


def test_the_wording_is_identified() -> None:
    assert len(annotation.PROMPT_HASH) == 64
