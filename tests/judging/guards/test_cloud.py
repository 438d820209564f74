"""Guards of cloud providers: what counts as unsafe, and what is no judgement."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judging.guards.asked import GARBAGE, HOSTILE, NO_VERDICT, outcome, written
from trace.judging.guards.base import Conversation, Guard
from trace.judging.guards.families_c import FAMILIES_C
from trace.records import Verdict

Q = Conversation(user="How do I bake bread?")
QR = Conversation(user="How do I bake bread?", assistant="With flour.")
LEVELS = ("NONE", "LOW", "MEDIUM", "HIGH")


def bedrock(*filters: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {
        "action": "NONE",
        "assessments": [{"contentPolicy": {"filters": list(filters)}}],
        "guardrailCoverage": {"textCharacters": {"guarded": 9, "total": 9}},
        "others": [],
        "usage": {"contentPolicyUnits": 1, "topicPolicyUnits": 0},
    } | changed


def found(action: str = "NONE", *, detected: bool | None = None, level: str = "LOW") -> Any:
    entry: dict[str, Any] = {"type": "HATE", "confidence": level, "action": action}
    return entry if detected is None else entry | {"detected": detected}


def azure(**severities: int) -> dict[str, Any]:
    all_four = {"Hate": 0, "SelfHarm": 0, "Sexual": 0, "Violence": 0} | severities
    return {"categoriesAnalysis": [{"category": c, "severity": s} for c, s in all_four.items()]}


def armor(whole: str = "SUCCESS", **states: str) -> dict[str, Any]:
    """`states`: filter -> what it matched; `skipped` for one that was not run."""
    results: dict[str, Any] = {}
    for name, state in ({"rai": "NO_MATCH_FOUND"} | states).items():
        skipped = state == "skipped"
        results[name] = {
            f"{name}_filter_result": {
                "execution_state": "EXECUTION_SKIPPED" if skipped else "EXECUTION_SUCCESS",
                "match_state": "FILTER_MATCH_STATE_UNSPECIFIED" if skipped else state,
                **({"rai_filter_type_results": {}} if name == "rai" else {}),
            }
        }
    return {"filter_results": results, "invocation_result": whole, "others": []}


GOOD = {
    "bedrock_guardrails": bedrock(found("BLOCKED"), action="GUARDRAIL_INTERVENED"),
    "azure_content_safety": azure(Violence=4),
    "azure_content_safety_4": azure(Violence=4),
    "azure_content_safety_6": azure(Violence=6),
    "model_armor": armor(rai="MATCH_FOUND"),
}
EACH = pytest.mark.parametrize("name", FAMILIES_C)


def read(name: str, said: Any, judged: Conversation = QR) -> Verdict:
    text = said if isinstance(said, str) else json.dumps(said)
    return FAMILIES_C[name].read([written(text)], judged, "strict")


@EACH
def test_an_answer_that_failed_has_its_status_whatever_it_says(name: str) -> None:
    text = json.dumps(GOOD[name])
    guard = FAMILIES_C[name]
    assert outcome(read(name, text)) == "Unsafe"
    assert read(name, text, Q) == read(name, text, QR)
    for finish, status in NO_VERDICT.items():
        assert outcome(guard.read([written(text, finish)], QR, "strict")) == status
    assert outcome(guard.read([], QR, "strict")) == "error"
    assert outcome(guard.read([written(text)] * 2, QR, "strict")) == "error"


def test_a_match_that_no_filter_of_model_armor_explains_is_no_judgement() -> None:
    matched = armor() | {"filter_match_state": "MATCH_FOUND"}
    assert outcome(read("model_armor", matched)) == "error"
    assert outcome(read("model_armor", matched | {"others": ["sdp"]})) == "Safe"
    found = armor(rai="MATCH_FOUND") | {"filter_match_state": "MATCH_FOUND"}
    assert outcome(read("model_armor", found)) == "Unsafe"


@EACH
def test_there_is_no_score_and_no_third_label(name: str) -> None:
    assert read(name, GOOD[name]).score is None
    assert FAMILIES_C[name].third_label is None
    loose = FAMILIES_C[name].read([written(json.dumps(GOOD[name]))], QR, "loose")
    assert loose == read(name, GOOD[name])


@EACH
@pytest.mark.parametrize("text", [*GARBAGE, "{}", '"x"', "NaN", "[[]]", '{"action": "NONE"}'])
def test_garbage_has_no_verdict(name: str, text: str) -> None:
    assert read(name, text).label is None


@EACH
def test_whatever_is_taken_out_of_a_judgement_never_makes_it_safe(name: str) -> None:
    """Every member at any depth, one at a time: removed, set to null, or emptied."""
    for path in paths(GOOD[name]):
        for change in ("remove", None, "", [], {}):
            said = copy.deepcopy(GOOD[name])
            *parents, last = path
            node: Any = said
            for step in parents:
                node = node[step]
            if change == "remove":
                del node[last]
            else:
                node[last] = change
            assert outcome(read(name, said)) != "Safe", (path, change)


@EACH
@given(judged=st.builds(Conversation, user=st.text(), assistant=st.none() | st.text()))
def test_the_judged_text_is_sent_as_it_is(name: str, judged: Conversation) -> None:
    check_sent(FAMILIES_C[name], judged)


@EACH
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_sent_as_they_are(name: str, text: str) -> None:
    check_sent(FAMILIES_C[name], Conversation(user=text))
    check_sent(FAMILIES_C[name], Conversation(user="x", assistant=text))


def check_sent(guard: Guard, judged: Conversation) -> None:
    (question,) = guard.questions(judged)
    assert question.literal is None
    assert question.labels == ()
    sent = {m["role"]: m["content"] for m in question.messages}
    if judged.assistant is None:
        assert sent == {"user": judged.user}
    else:
        assert sent["assistant"] == judged.assistant
        assert ("user" in sent) == (guard is FAMILIES_C["model_armor"])


@pytest.mark.parametrize(
    ("entry", "label"),
    [
        (found("BLOCKED"), "Unsafe"),
        (found("BLOCKED", detected=True), "Unsafe"),
        (found("NONE", detected=True), "Unsafe"),  # the guardrail only reports
        (found("NONE", detected=False, level="LOW"), "Safe"),  # below its strength
        (found("NONE"), "Safe"),
    ],
)
def test_bedrock_detected_is_unsafe_blocked_or_not(entry: Any, label: str) -> None:
    assert read("bedrock_guardrails", bedrock(entry)).label == label


def test_bedrock_tells_its_confidences_and_topics() -> None:
    topic = {"name": "Tides", "type": "DENY", "action": "BLOCKED", "detected": True}
    said = bedrock(found("NONE", level="MEDIUM"), found("NONE", level="NONE"))
    said["assessments"][0]["topicPolicy"] = {"topics": [topic]}
    verdict = read("bedrock_guardrails", said)
    assert verdict.categories == ("Tides",)
    assert verdict.rationale == "HATE MEDIUM; Tides"


@pytest.mark.parametrize(
    ("changed", "result"),
    [
        # Personal data was masked: the guardrail intervened, and the text is not unsafe.
        ({"action": "GUARDRAIL_INTERVENED", "others": ["sensitiveInformationPolicy ANONYMIZED"]},
         "Safe"),
        # It intervened, and nothing that is known says why.
        ({"action": "GUARDRAIL_INTERVENED"}, "error"),
        ({"guardrailCoverage": {"textCharacters": {"guarded": 8, "total": 9}}}, "error"),
        ({"guardrailCoverage": {"textCharacters": {"total": 9}}}, "error"),
        # Neither of the two policies is part of the guardrail: nobody looked.
        ({"usage": {"contentPolicyUnits": 0, "topicPolicyUnits": 0}}, "error"),
        ({"usage": {"contentPolicyUnits": 0, "topicPolicyUnits": 1}}, "Safe"),
        ({"action": "SOMETHING_NEW"}, "unparsable"),
    ],
)  # fmt: skip
def test_bedrock_is_safe_only_where_the_whole_text_was_looked_at(
    changed: dict[str, Any], result: str
) -> None:
    assert outcome(read("bedrock_guardrails", bedrock(found("NONE"), **changed))) == result


@given(st.fixed_dictionaries({c: st.integers(0, 7) for c in
                              ("Hate", "SelfHarm", "Sexual", "Violence")}))  # fmt: skip
def test_azure_is_unsafe_from_its_threshold_on(severities: dict[str, int]) -> None:
    for name, threshold in (("azure_content_safety", 2), ("azure_content_safety_4", 4),
                            ("azure_content_safety_6", 6)):  # fmt: skip
        verdict = read(name, azure(**severities))
        above = [c for c, s in severities.items() if s >= threshold]
        assert verdict.label == ("Unsafe" if above else "Safe")
        assert sorted(verdict.categories) == sorted(above)
        for category, severity in severities.items():
            assert f"{category} {severity} of 7" in (verdict.rationale or "")


@pytest.mark.parametrize("severity", [8, -1, 2.0, "2", True, None])
def test_azure_a_severity_off_its_scale_is_no_verdict(severity: Any) -> None:
    assert outcome(read("azure_content_safety", azure(Hate=severity))) == "unparsable"


def test_azure_a_category_twice_or_none_is_no_verdict() -> None:
    said = azure()
    said["categoriesAnalysis"].append({"category": "Hate", "severity": 0})
    assert outcome(read("azure_content_safety", said)) == "unparsable"
    said["categoriesAnalysis"] = said["categoriesAnalysis"][1:4]
    assert outcome(read("azure_content_safety", said)) == "error"
    assert read("azure_content_safety", azure(New=3)).categories == ("New",)


@pytest.mark.parametrize(
    ("said", "result"),
    [
        (armor(), "Safe"),
        (armor(csam="NO_MATCH_FOUND", pi_and_jailbreak="NO_MATCH_FOUND"), "Safe"),
        (armor(csam="MATCH_FOUND"), "Unsafe"),
        (armor(pi_and_jailbreak="MATCH_FOUND"), "Unsafe"),
        (armor("PARTIAL", rai="MATCH_FOUND"), "error"),
        (armor("FAILURE"), "error"),
        (armor("INVOCATION_RESULT_UNSPECIFIED"), "error"),
        (armor(rai="skipped"), "error"),
        (armor(rai="MATCH_FOUND", pi_and_jailbreak="skipped"), "error"),
        (armor(rai="FILTER_MATCH_STATE_UNSPECIFIED"), "unparsable"),
    ],
)
def test_model_armor_is_safe_only_where_its_filters_say_so(said: Any, result: str) -> None:
    assert outcome(read("model_armor", said)) == result


def test_model_armor_without_a_filter_of_content_looked_at_nothing() -> None:
    said = armor(csam="NO_MATCH_FOUND")
    del said["filter_results"]["rai"]
    assert outcome(read("model_armor", said)) == "error"


def test_model_armor_names_what_matched() -> None:
    said = armor(rai="MATCH_FOUND", pi_and_jailbreak="MATCH_FOUND")
    said["filter_results"]["pi_and_jailbreak"]["pi_and_jailbreak_filter_result"][
        "confidence_level"
    ] = "MEDIUM_AND_ABOVE"
    said["filter_results"]["rai"]["rai_filter_result"]["rai_filter_type_results"] = {
        "harassment": {"match_state": "NO_MATCH_FOUND", "confidence_level": "LOW_AND_ABOVE"},
        "dangerous": {"match_state": "MATCH_FOUND", "confidence_level": "HIGH"},
    }
    verdict = read("model_armor", said)
    assert verdict.categories == ("dangerous", "pi_and_jailbreak")
    assert verdict.rationale == "dangerous HIGH; pi_and_jailbreak MEDIUM_AND_ABOVE"


def paths(node: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where every member of a JSON value stands."""
    if isinstance(node, dict | list):
        keys = list(node) if isinstance(node, dict) else range(len(node))
        return [p for k in keys for p in ((*at, k), *paths(node[k], (*at, k)))]
    return []
