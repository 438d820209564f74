"""The four protocols over made-up taxonomies: what is shown, and that data stays data."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.benchmarks.tracesafe.taxonomy import TAXONOMY
from trace.config import Condition, Protocol
from trace.config.groups import Variant
from trace.judging.parse import parse_verdict
from trace.judging.protocols import JudgeProtocol, judge_protocol, section
from trace.judging.taxonomy import Category, Domain, Taxonomy
from trace.judging.wording import WORDINGS
from trace.records import Gold, LabelScore, Sample


def category(name: str) -> Category:
    return Category(name=name, definition=f"what {name} means")


def taxonomy(*domains: tuple[str, tuple[str, ...]], benign: str = "Benign") -> Taxonomy:
    return Taxonomy(
        name="made-up",
        benign=category(benign),
        domains=tuple(
            Domain(category=category(domain), classes=tuple(map(category, classes)))
            for domain, classes in domains
        ),
    )


TOOLS = taxonomy(("Leaks", ("KeyLeak", "NameLeak")), ("Ghosts", ("GhostTool",)))
FOOD = taxonomy(("Spoilt", ('"Best" before', "Mould")), ("Sharp {0} %s", ("Glass", "Glass ware")))
SETTINGS = {
    "binary": Protocol(name="binary", definitions=False, answers="binary"),
    "schema": Protocol(name="schema", definitions=True, answers="binary"),
    "coarse": Protocol(name="coarse", definitions=True, answers="domain"),
    "fine": Protocol(name="fine", definitions=True, answers="class"),
}
SAMPLE = Sample(
    id="sample-id",
    gold=Gold(label="unsafe", domain="gold-domain", class_="gold-class"),
    view={
        "request": "find {0} %s\nplease",
        "tools": [{"name": "find_file"}],
        "trace": [{"role": "agent", "content": {"name": "find_file", "arguments": {"é": None}}}],
    },
    cluster="cluster-id",
    meta={"strategy": "meta-value"},
)


def prompt(protocol: JudgeProtocol, sample: Sample = SAMPLE) -> str:
    (message,) = protocol.messages(sample)
    assert message["role"] == "user"
    return message["content"]


def sections(text: str) -> dict[str, object]:
    """Reads the fenced sections as Markdown (CommonMark) would."""
    found: dict[str, object] = {}
    lines = iter(text.split("\n"))
    name = ""
    for line in lines:
        if opening := re.fullmatch(r"(`{3,})json", line):
            body = []
            for inner in lines:
                closing = re.fullmatch(r" {0,3}(`{3,})\s*", inner)
                if closing and len(closing[1]) >= len(opening[1]):
                    break
                body.append(inner)
            found[name] = json.loads("\n".join(body))
        name = line.removesuffix(":")
    return found


@pytest.mark.parametrize("names", [TOOLS, FOOD], ids=["tools", "food"])
@pytest.mark.parametrize("kind", list(SETTINGS))
def test_what_each_protocol_shows(kind: str, names: Taxonomy) -> None:
    protocol = judge_protocol(SETTINGS[kind], names)
    domains = [d.category for d in names.domains]
    shown = {
        "binary": [],
        "schema": [*domains, *names.classes],
        "coarse": [*domains, names.benign],
        "fine": [*names.classes, names.benign],
    }[kind]
    for one in (*domains, *names.classes):
        assert (one.definition in protocol.rubric.split("\n", 1)[1]) == (one in shown)
    if kind == "schema":  # every class under its own domain
        places = [
            protocol.rubric.index(f"{c.name}: {c.definition}")
            for d in names.domains
            for c in (d.category, *d.classes)
        ]
        assert places == sorted(places)
    answers = {"coarse": domains, "fine": list(names.classes)}.get(kind)
    expected = ["Safe", "Unsafe"] if answers is None else ["Benign", *(c.name for c in answers)]
    assert list(protocol.labels.labels) == expected
    listed = ", ".join(json.dumps(label) for label in expected)
    assert protocol.rubric.endswith(f'"verdict" is one of: {listed}')


@pytest.mark.parametrize("kind", list(SETTINGS))
def test_the_rubric_comes_first_and_is_the_same_for_all_samples(kind: str) -> None:
    protocol = judge_protocol(SETTINGS[kind], TOOLS)
    other = dataclasses.replace(SAMPLE, view={"document": "something else"})
    for sample in (SAMPLE, other):
        text = prompt(protocol, sample)
        assert text.startswith(protocol.rubric + "\n\n")
        assert sections(text) == dict(sample.view)
        assert list(sections(text)) == list(sample.view)


def test_the_binary_rubric_is_short() -> None:
    assert len(judge_protocol(SETTINGS["binary"], TOOLS).rubric.split()) <= 90


@pytest.mark.parametrize("kind", list(SETTINGS))
def test_nothing_but_the_view_is_shown(kind: str) -> None:
    protocol = judge_protocol(SETTINGS[kind], TOOLS)
    blank = Sample(id="", gold=Gold(label="safe"), view=SAMPLE.view, cluster="")
    assert prompt(protocol) == prompt(protocol, blank)


@pytest.mark.parametrize("kind", list(SETTINGS))
def test_without_tools(kind: str) -> None:
    shown = judge_protocol(SETTINGS[kind], TOOLS)
    hidden = judge_protocol(
        Protocol(**{**dataclasses.asdict(SETTINGS[kind]), "tools": False}), TOOLS
    )
    assert list(sections(prompt(shown))) == ["request", "tools", "trace"]
    assert list(sections(prompt(hidden))) == ["request", "trace"]
    assert shown.rubric == hidden.rubric
    assert shown.prompt_hash != hidden.prompt_hash


def test_the_hash_tells_wordings_apart_and_nothing_else() -> None:
    hashes = {
        judge_protocol(s, names).prompt_hash for s in SETTINGS.values() for names in (TOOLS, FOOD)
    }
    assert len(hashes) == 7  # binary shows nothing of a taxonomy
    again = Protocol(name="other", definitions=False, answers="binary", answer="score")
    binary = judge_protocol(SETTINGS["binary"], TOOLS)
    assert judge_protocol(again, TOOLS).prompt_hash == binary.prompt_hash


@pytest.mark.parametrize("names", [TOOLS, FOOD], ids=["tools", "food"])
@pytest.mark.parametrize("kind", list(SETTINGS))
def test_label_strings_finish_the_prefix_and_none_begins_another(
    kind: str, names: Taxonomy
) -> None:
    protocol = judge_protocol(SETTINGS[kind], names)
    for label, string in zip(protocol.labels.labels, protocol.label_strings, strict=True):
        assert json.loads(protocol.answer_prefix + string + "}") == {"verdict": label}
        others = [s for s in protocol.label_strings if s != string]
        assert not any(other.startswith(string) for other in others)
        written = protocol.answer_prefix + string + ', "reasoning": "so"}'
        assert parse_verdict(written, protocol.labels).label == label


def test_scores_come_back_under_their_labels() -> None:
    protocol = judge_protocol(SETTINGS["fine"], FOOD)
    scores = {s: LabelScore(logprob=-i, tokens=1) for i, s in enumerate(protocol.label_strings)}
    named = protocol.by_label(dict(reversed(scores.items())))
    assert [(n, s.logprob) for n, s in named.items()] == [
        ("Benign", 0), ('"Best" before', -1), ("Mould", -2), ("Glass", -3), ("Glass ware", -4),
    ]  # fmt: skip
    with pytest.raises(KeyError):
        protocol.by_label({})


HOSTILE = st.text(st.sampled_from('`~\n\r\u2028 "\\{}:az\ud800'), max_size=20)
CONTENT = st.recursive(
    HOSTILE | st.none() | st.booleans() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HOSTILE, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["request", "tools", "trace"]), CONTENT))
def test_no_content_ends_its_fence_or_makes_a_section(view: dict[str, object]) -> None:
    sample = dataclasses.replace(SAMPLE, view=view)
    text = prompt(judge_protocol(SETTINGS["binary"], TOOLS), sample)
    assert sections(text) == view
    text.encode("utf-8")  # half a surrogate pair does not reach a tokenizer


def test_content_is_never_a_template_and_stays_readable() -> None:
    assert section("a", "{0} %s {x}") == 'a:\n```json\n"{0} %s {x}"\n```'
    assert section("a", {"é": [True, None]}) == 'a:\n```json\n{"é": [true, null]}\n```'
    assert section("a", "````") == 'a:\n`````json\n"````"\n`````'


def test_a_condition_changes_how_the_answer_is_asked_for_and_the_hash() -> None:
    settings = SETTINGS["fine"]
    plain = judge_protocol(settings, TOOLS)
    cot = judge_protocol(settings, TOOLS, Condition(name="cot", reason_first=True))
    shots = judge_protocol(settings, TOOLS, Condition(name="few_shot", examples=4))
    assert cot.rubric.index('"reasoning": "..."') < cot.rubric.index('"verdict": "..."')
    assert plain.rubric.index('"verdict": "..."') < plain.rubric.index('"reasoning": "..."')
    assert "Solved examples" in shots.rubric
    assert len({p.prompt_hash for p in (plain, cot, shots)}) == 3


@pytest.mark.parametrize("kind", list(SETTINGS))
def test_a_taxonomy_may_say_itself_what_is_judged(kind: str) -> None:
    own = dataclasses.replace(FOOD, task="You are a cook. Taste it.")
    usual = judge_protocol(SETTINGS[kind], FOOD)
    tasted = judge_protocol(SETTINGS[kind], own)
    assert usual.rubric.startswith("You are a safety judge.")
    assert tasted.rubric == usual.rubric.replace(FOOD.task, own.task)
    assert tasted.prompt_hash != usual.prompt_hash


PINNED = {
    ("binary", False): "1aac89d60c3ee094db90833f05a43045c1dea918375a1885fdea62cb82b0efa0",
    ("binary", True): "ca7f86a7e1ae6ffbb68a74c63360d176ed4fac38add38f211000ddda87d35844",
    ("schema", False): "999a7a907a576d6ac10c83734e3f1c8277e6c024546256de94a515b7f0ffc4ee",
    ("schema", True): "f5b8326cc1ab2129565725a9377d8ea1e8d93f1e7808facfac0cfcc7ec04385c",
    ("coarse", False): "306ce6392539c341727ad9b62fd3e00c874e1e8933cf02ca6581683afd57b5c6",
    ("coarse", True): "9feb2f0ae32103e56a8abc06429bee680dc9a185a3cbe20292d3388051912515",
    ("fine", False): "31d1e2a4e75893460c3105ca47fb460483be17952457bca221a316d98c1deab7",
    ("fine", True): "15ef821bdedbd7404b23c91c8cbfb391521e4f15e6074728bc316569b1dc616a",
}
"""Results that were made with these prompts stay comparable as long as they do not change."""

VARIANTS: tuple[Variant, ...] = get_args(Variant)


def asked(kind: str, variant: str, names: Taxonomy = TOOLS, **condition: int) -> JudgeProtocol:
    settings = dataclasses.replace(SETTINGS[kind], variant=variant)
    return judge_protocol(settings, names, Condition(**condition))


@pytest.mark.parametrize(("kind", "reasoned"), PINNED)
def test_the_plain_prompts_are_those_of_earlier_results(kind: str, reasoned: bool) -> None:
    made = judge_protocol(SETTINGS[kind], TAXONOMY, Condition(reason_first=reasoned))
    assert made.prompt_hash == PINNED[kind, reasoned]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", list(SETTINGS))
def test_a_variant_leaves_all_but_the_rubric_as_it_is(kind: str, variant: Variant) -> None:
    plain, other = asked(kind, "plain", FOOD), asked(kind, variant, FOOD)
    for field in dataclasses.fields(JudgeProtocol):
        if field.name not in ("rubric", "prompt_hash"):
            assert getattr(other, field.name) == getattr(plain, field.name)
    assert (other.rubric == plain.rubric) == (variant == "plain")
    assert prompt(other).removeprefix(other.rubric) == prompt(plain).removeprefix(plain.rubric)
    for one in (*FOOD.classes, *(d.category for d in FOOD.domains), FOOD.benign):
        assert other.rubric.count(one.definition) == plain.rubric.count(one.definition)
    for label in plain.labels.labels:
        assert json.dumps(label) in other.rubric.rsplit("\n", 1)[1]


@pytest.mark.parametrize("condition", [{}, {"reason_first": True}, {"examples": 4}])
@pytest.mark.parametrize("kind", list(SETTINGS))
def test_every_variant_has_a_prompt_of_its_own(kind: str, condition: dict[str, int]) -> None:
    made = [asked(kind, variant, **condition) for variant in VARIANTS]
    assert set(WORDINGS) == set(VARIANTS)
    assert len({one.prompt_hash for one in made}) == len(VARIANTS)
    for one in made:
        assert "{" not in re.sub(r'\{"(verdict|reasoning)": [^}]*\}', "", one.rubric)
        first = re.search('"(verdict|reasoning)": "', one.rubric)
        assert first
        assert (first[1] == "verdict") == ("reason_first" not in condition)


def test_reworded_sentences_are_all_other_ones_and_alike_in_length() -> None:
    reworded = [w for variant, w in WORDINGS.items() if variant.startswith("reworded")]
    for field in dataclasses.fields(reworded[0]):
        said = [getattr(w, field.name) for w in (WORDINGS["plain"], *reworded)]
        assert len(set(said)) == 5
        assert max(len(s.split()) for s in said) <= 2 * min(len(s.split()) for s in said)
        names = [sorted(re.findall(r"\{\w+\}", s)) for s in said]
        assert names.count(names[0]) == 5


@pytest.mark.parametrize("kind", list(SETTINGS))
def test_reversed_turns_the_lists_round_and_nothing_else(kind: str) -> None:
    plain, other = asked(kind, "plain").rubric, asked(kind, "reversed").rubric
    assert sorted(re.findall(r"\w+", plain)) == sorted(re.findall(r"\w+", other))
    last = [re.findall(r'"(\w+)"(?=,|$)', text.rsplit(": ", 1)[1]) for text in (plain, other)]
    assert last[0] == last[1][::-1] == list(asked(kind, "plain").labels.labels)
    if kind in ("coarse", "fine"):
        listed = [re.findall("^- .*", text, re.MULTILINE) for text in (plain, other)]
        assert listed[0] == listed[1][::-1] != []
    if kind == "schema":  # a class stays under its domain
        places = [other.index(f"{name}: ") for name in ("Ghosts", "GhostTool", "Leaks", "NameLeak",
                                                        "KeyLeak", "Safe")]  # fmt: skip
        assert places == sorted(places)
    if kind == "binary":
        assert "Is it Unsafe or Safe?" in other


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_task_that_a_taxonomy_says_itself_stays(variant: Variant) -> None:
    own = dataclasses.replace(FOOD, task="You are a cook. Taste it.")
    assert asked("fine", variant, own).rubric.startswith(own.task)


def quoting(kind: str, variant: str = "plain", **condition: int) -> JudgeProtocol:
    settings = dataclasses.replace(SETTINGS[kind], variant=variant, evidence=True)
    return judge_protocol(settings, TOOLS, Condition(**condition))


@pytest.mark.parametrize("reasoned", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", list(SETTINGS))
def test_evidence_is_asked_for_between_verdict_and_reasoning(
    kind: str, variant: Variant, reasoned: bool
) -> None:
    plain = asked(kind, variant, reason_first=reasoned).rubric
    rubric = quoting(kind, variant, reason_first=reasoned).rubric
    (shape,) = re.findall(r"\{\"[^{}]*\}", rubric)
    fields = ["verdict", "evidence", "reasoning"]
    if reasoned:
        fields = ["reasoning", "verdict", "evidence"]
    assert list(json.loads(shape)) == fields
    assert json.loads(shape)["evidence"] == ["..."]
    # Nothing else changes, and the list of labels is still the end.
    sentence = WORDINGS[variant].quotes
    assert rubric.replace(sentence, "").replace(', "evidence": ["..."]', "") == plain
    assert sentence.count('"evidence"') == 1
    assert not re.search(r"[{}]", sentence)


def test_a_protocol_with_evidence_has_a_prompt_of_its_own() -> None:
    hashes = {quoting(kind, variant).prompt_hash for kind in SETTINGS for variant in VARIANTS}
    hashes |= {asked(kind, variant).prompt_hash for kind in SETTINGS for variant in VARIANTS}
    assert len(hashes) == 2 * len(SETTINGS) * len(VARIANTS)
