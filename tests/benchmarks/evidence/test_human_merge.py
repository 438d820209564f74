"""People's decisions in a set: what they replace, close, and leave open."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tests.benchmarks.evidence.made_triples import PIECES, triple, write
from tests.benchmarks.evidence.test_freeze import annotated, said
from trace import config
from trace.annotation.decide import decided
from trace.annotation.item import Answer, Item
from trace.annotation.study import Merged
from trace.benchmarks.evidence import samples
from trace.benchmarks.evidence.human import item, waiting_item
from trace.benchmarks.evidence.human_form import NONE, OTHER, forms
from trace.benchmarks.evidence.human_merge import CONTRADICTIONS, UNLISTED, merged
from trace.benchmarks.evidence.taxonomy import ATTACK_NAMES, CATEGORY_NAMES
from trace.benchmarks.evidence.triple import COMPONENTS, Triple
from trace.benchmarks.evidence.waiting import Waiting
from trace.errors import DataError
from trace.records import Span

AT = "2026-11-30T10:00:00+00:00"
SAFE = {"attack": NONE, "category": NONE, **dict.fromkeys(COMPONENTS, "safe")}


def answer(
    about: Item, values: Mapping[str, str], *, annotator: str = "A1", comment: str = "",
    piece: str | None = None,
) -> Answer:  # fmt: skip
    """An annotator's answer, which differs from a wholly safe one by `values`."""
    said = SAFE | dict(values)
    spans = {}
    for component in COMPONENTS:
        if said[component] == "unsafe":
            text = about.texts[component]
            quote = piece or text[2:9]
            at = text.index(quote)
            spans[component] = (Span(start=at, end=at + len(quote), text=quote),)
    return Answer(item=about.id, annotator=annotator, standing="done", at=AT, values=said,
                  spans=spans, comment=comment)  # fmt: skip


def merge(
    triples: Sequence[Triple] = (), waiting: Sequence[Waiting] = (), *answers: Answer
) -> Merged:
    items = [*map(item, triples), *map(waiting_item, waiting)]
    asked = [one for one in items if one.id in {a.item for a in answers}]
    return merged(triples, waiting, answers, decided(asked, forms(), answers))


def lines(found: Merged, name: str = "dataset.jsonl") -> list[Any]:
    """A file, each line written and read again; triples have to pass their own reader."""
    read = [json.loads(json.dumps(line)) for line in found.files.get(name, ())]
    for line in read:
        if name == "dataset.jsonl":
            assert Triple.from_json(line, "merged").to_json() == line
        else:
            assert "queue" not in name or Waiting.from_json(line, "merged").to_json() == line
    return read


def queued(*votes: Any) -> Waiting:
    return Waiting.from_json(json.loads(json.dumps(annotated(*votes).question())), "q:1")


TIED = queued(*(said(response=r, category="Cybersecurity") for r in ("safe", "unsafe")))
"""Only the response is open."""
SPLIT = queued(*(said(prompt=p, category="Cybersecurity") for p in ("safe", "unsafe")))
"""The prompt is open; its category was voted."""


def test_without_work_nothing_changes() -> None:
    frozen = [triple(1, ["prompt"]), triple(2)]
    found = merge(frozen, [TIED])
    assert lines(found) == [t.to_json() for t in frozen]
    assert lines(found, "queue.jsonl") == [TIED.to_json()]
    assert found.counts == {"triples": 2, "waiting": 1}
    assert set(found.files) == {"dataset.jsonl", "queue.jsonl"}


def test_a_label_is_replaced_with_who_said_so() -> None:
    one = triple(1, ["prompt", "reasoning"], category="Cybersecurity")
    values = {"prompt": "unsafe", "category": "DataPrivacy", "response": "unsafe"}
    found = merge([one], [], answer(item(one), values))
    (line,) = lines(found)
    assert line["category"] == "DataPrivacy"
    assert [line["labels"][c]["safety"] for c in COMPONENTS] == ["unsafe", "safe", "unsafe"]
    assert line["labels"]["reasoning"]["evidence"] == []
    assert [e["text"] for e in line["labels"]["prompt"]["evidence"]] == [one.prompt[2:9]]
    human = line["provenance"]["human"]
    assert set(human) == {"attack", "category", *COMPONENTS}
    assert human["category"] == {
        "by": ["A1"], "at": AT, "how": "single", "replaced": "Cybersecurity",
    }  # fmt: skip
    assert [e["text"] for e in human["prompt"]["replaced"]["evidence"]] == list(PIECES["prompt"])
    assert line["provenance"]["category_by"] == line["provenance"]["attack_by"] == "human"
    assert found.counts == {"triples": 1, "waiting": 0, "confirmed": 2, "replaced": 3}


def test_work_that_decides_nothing_keeps_the_label() -> None:
    one = triple(1, ["prompt"], category="Cybersecurity")
    two = [answer(item(one), {"prompt": p, "category": c}, annotator=a)
           for a, p, c in (("A1", "unsafe", "Cybersecurity"), ("A2", "safe", NONE))]  # fmt: skip
    found = merge([one], [], *two)
    (line,) = lines(found)
    assert line["labels"]["prompt"] == one.to_json()["labels"]["prompt"]
    assert line["category"] == "Cybersecurity"
    assert "prompt" not in line["provenance"]["human"]
    assert found.counts["undecided"] == 2


def test_a_queue_is_closed_by_what_is_open_alone() -> None:
    values = {"prompt": "safe", "category": NONE, "response": "unsafe"}  # the rest is not theirs
    found = merge([], [TIED], answer(waiting_item(TIED), values, piece="say"))
    (line,) = lines(found)
    assert "queue.jsonl" not in found.files
    assert [line["labels"][c]["safety"] for c in COMPONENTS] == ["unsafe", "unsafe", "unsafe"]
    assert [e["text"] for e in line["labels"]["response"]["evidence"]] == ["say"]
    assert line["category"] == "Cybersecurity"
    assert line["provenance"]["human"] == {
        "response": {"by": ["A1"], "at": AT, "how": "single", "replaced": None}
    }
    assert line["provenance"]["category_by"] == "vote"
    assert found.counts == {"triples": 1, "waiting": 0, "closed": 1}
    assert not [name for name in found.files if name.startswith("labelled")]


def test_what_people_leave_open_stays_in_the_queue_and_says_why() -> None:
    about = waiting_item(TIED)
    two = [answer(about, {"response": r}, annotator=a, comment=c)
           for a, r, c in (("A1", "safe", ""), ("A2", "unsafe", "see line 2"))]  # fmt: skip
    found = merge([], [TIED], *two)
    assert not lines(found)
    (line,) = lines(found, "queue.jsonl")
    (why,) = line["open"]
    assert why["item"] == "response"
    assert why["reason"].startswith("they differ")
    assert why["comments"] == {"A2": "see line 2"}
    skipped = Answer(item=about.id, annotator="A1", standing="skipped", at=AT)
    assert lines(merge([], [TIED], skipped), "queue.jsonl") == [TIED.to_json()]


def test_a_prompt_that_people_call_safe_takes_their_category_along() -> None:
    found = merge([], [SPLIT], answer(waiting_item(SPLIT), {"prompt": "safe", "category": NONE}))
    (line,) = lines(found)
    assert (line["labels"]["prompt"]["safety"], line["category"]) == ("safe", None)
    assert line["provenance"]["human"]["category"]["replaced"] == "Cybersecurity"


@pytest.mark.parametrize(
    ("safety", "category"), [("safe", "Cybersecurity"), ("unsafe", NONE), ("unsafe", OTHER)]
)
@pytest.mark.parametrize("frozen", [True, False])
def test_a_contradiction_is_no_result(safety: str, category: str, frozen: bool) -> None:
    one = triple(1, ["prompt", "reasoning"])
    open_ = queued(said(prompt="safe"), said(prompt="unsafe", category="Cybersecurity"))
    given_ = ([one], []) if frozen else ([], [open_])
    about = item(one) if frozen else waiting_item(open_)
    values = {"prompt": safety, "category": category}
    found = merge(*given_, answer(about, values, comment="a new one"))
    assert not lines(found)
    (line,) = lines(found, "queue.jsonl")
    reasons = {entry["item"]: entry["reason"] for entry in line["open"]}
    assert {"prompt", "category"} <= (reasons.keys() | line["labels"].keys())
    unlisted = category == OTHER
    assert reasons["category"] == (UNLISTED if unlisted else CONTRADICTIONS[safety])
    assert line["open"][0]["comments"] == {"A1": "a new one"}
    assert line["category"] is None
    assert "category" not in line["provenance"].get("human", {})
    assert found.notes
    assert set(found.files) == {"dataset.jsonl", "queue.jsonl"}  # no labels of what is open
    if not unlisted:
        assert reasons["prompt"] == CONTRADICTIONS[safety]
        assert "prompt" not in line["labels"]
        assert found.counts[CONTRADICTIONS[safety]] >= 1
    again = Waiting.from_json(line, "again")
    right = answer(waiting_item(again), {"prompt": "unsafe", "category": "DataPrivacy"})
    (closed,) = lines(merge([], [again], right))
    assert closed["category"] == "DataPrivacy"


def test_of_what_is_open_again_nobodys_word_stays() -> None:
    one = triple(1, ["prompt"])
    first = answer(item(one), {"prompt": "unsafe", "category": "Cybersecurity"})
    (line,) = lines(merge([one], [], first))
    once = Triple.from_json(line, "first")
    assert {"prompt", "category"} < once.provenance["human"].keys()
    second = answer(item(once), {"prompt": "safe", "category": "Cybersecurity"}, annotator="A2")
    (line,) = lines(merge([once], [], second), "queue.jsonl")
    assert set(line["provenance"]["human"]) == {"attack", "reasoning", "response"}
    assert line["provenance"]["human"]["attack"]["by"] == ["A2"]


def test_a_name_that_means_none_contradicts_no_safe_prompt() -> None:
    one = triple(1, category="无风险", attack="None")
    two = [answer(item(one), {"category": category}, annotator=annotator)
           for annotator, category in (("A1", NONE), ("A2", "DataPrivacy"))]  # fmt: skip
    found = merge([one], [], *two)
    assert found.counts == {"triples": 1, "waiting": 0, "confirmed": 4, "undecided": 1}
    assert lines(found)[0]["category"] is None


def test_a_new_name_that_people_also_see_stays() -> None:
    one = triple(1, ["prompt"], category="Salt Tax", attack="Humming")
    assert item(one).labels["category"] == OTHER
    values = {"prompt": "unsafe", "category": OTHER, "attack": OTHER}
    (line,) = lines(found := merge([one], [], answer(item(one), values)))
    assert (line["category"], line["attack"]) == ("Salt Tax", "Humming")
    assert found.counts == {"triples": 1, "waiting": 0, "confirmed": 5}


def test_labels_for_scoring_are_of_what_was_frozen(tmp_path: Path) -> None:
    frozen = [triple(n, ["reasoning"], category=None) for n in range(3)]
    said_ = [answer(item(t), {"reasoning": r}) for t, r in zip(frozen, ("safe", "unsafe"),
                                                               strict=False)]  # fmt: skip
    about = answer(waiting_item(TIED), {"response": "safe"})
    found = merge(frozen, [TIED], *said_, about)
    labelled = lines(found, "labelled.jsonl")
    assert [line for line in labelled if line["part"] == "reasoning"] == [
        {"id": frozen[0].id, "part": "reasoning", "label": "safe"},
        {"id": frozen[1].id, "part": "reasoning", "label": "unsafe"},
    ]
    path = write(tmp_path / "dataset.jsonl", map(json.dumps, found.files["dataset.jsonl"]))
    read = samples.load(config.Evidence(path=str(path)), part="reasoning", limit=None, seed=0)
    assert {line["id"] for line in labelled} < {sample.id for sample in read.samples}


def test_an_item_of_another_set_is_refused() -> None:
    other = triple(9)
    decisions = decided([item(other)], forms(), [answer(item(other), {})])
    with pytest.raises(DataError, match=f"1 of the items .*{other.id}"):
        merged([triple(1)], [], [], decisions)


safeties = st.sampled_from(["safe", "unsafe"])
categories = st.sampled_from([NONE, OTHER, *CATEGORY_NAMES[:2]])
attacks = st.sampled_from([NONE, OTHER, *ATTACK_NAMES[:2]])
answers_ = st.fixed_dictionaries(
    {"attack": attacks, "category": categories, **dict.fromkeys(COMPONENTS, safeties)}
)


@given(
    st.lists(safeties, min_size=3, max_size=3),
    st.sampled_from([None, "Salt Tax", "Cybersecurity"]),
    st.lists(answers_, min_size=1, max_size=3),
    st.sampled_from([None, TIED, SPLIT]),
)
@settings(max_examples=150)
def test_whatever_people_say_the_set_stays_one(
    labels: list[str], category: str | None, said_: list[dict[str, str]], open_: Waiting | None
) -> None:
    """No triple is lost or doubled, all pass the reader, and no contradiction is frozen."""
    unsafe = [c for c, safety in zip(COMPONENTS, labels, strict=True) if safety == "unsafe"]
    one = triple(1, unsafe, category=category if "prompt" in unsafe else None)
    waiting = [open_] if open_ else []
    texts = [item(one), *map(waiting_item, waiting)]
    given_ = [answer(about, values, annotator=f"A{n}")
              for about in texts for n, values in enumerate(said_)]  # fmt: skip
    found = merge([one], waiting, *given_)
    done, queue = lines(found), lines(found, "queue.jsonl")
    assert sorted(line["id"] for line in (*done, *queue)) == sorted(t.id for t in texts)
    consistent = not ("prompt" in unsafe and category is None)
    for line in done:
        if consistent or line["id"] != one.id or "human" in line["provenance"]:
            prompt, human = line["labels"]["prompt"]["safety"], line["provenance"].get("human", {})
            if {"prompt", "category"} & human.keys():
                assert (prompt == "safe") == (line["category"] is None)
    for line in queue:
        assert not {e["item"] for e in line["open"]} & line["provenance"].get("human", {}).keys()
