from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace.annotation.decide import Decision, Label, decided, disagreements
from trace.annotation.form import Form, Marking, Option, Passage, Question
from trace.annotation.item import Answer, Item
from trace.records import Span

TEXT = "A👩‍🚀é 你好 word\r\nשלום"


def question(name: str, *values: str) -> Question:
    options = tuple(Option(value=v, shown=v) for v in values)
    return Question(name=name, title=name, options=options)


FORM = Form(
    study="s",
    name="f",
    title="t",
    language="en",
    passages=(
        Passage(
            name="text",
            title="Text",
            questions=(question("safety", "safe", "unsafe", "odd"), question("kind", "x", "y")),
            marking=Marking(shown="Evidence", question="safety", value="unsafe"),
        ),
    ),
)


def item(id_: str = "i", **labels: str) -> Item:
    spans = {"text": (span(0, 1),)} if labels.get("safety") == "unsafe" else {}
    return Item(
        id=id_, form="f", texts={"text": TEXT}, labels=labels, stratum="s", cluster="c", spans=spans
    )


def span(start: int, end: int) -> Span:
    return Span(start=start, end=end, text=TEXT[start:end])


def said(who: str, safety: str | None, *spans: tuple[int, int], **more: Any) -> Answer:
    given: dict[str, Any] = {
        "item": "i",
        "annotator": who,
        "standing": "done",
        "at": "2026-01-01T10:00:00Z",
        "values": {} if safety is None else {"safety": safety},
        "spans": {"text": tuple(span(*s) for s in spans)} if spans else {},
    }
    return Answer(**(given | more))


def safety(*answers: Answer, second: Sequence[Answer] = (), of: Item | None = None) -> Decision:
    found, other = decided([of or item()], {"f": FORM}, answers, second)
    assert (found.question, other.question) == ("safety", "kind")
    return found


@pytest.mark.parametrize(
    ("values", "how", "value", "by"),
    [
        (["safe"], "single", "safe", "A"),
        (["safe", "safe"], "agreed", "safe", "AB"),
        (["safe", "odd", "safe"], "majority", "safe", "AC"),
        (["safe", "odd"], "open", None, ""),
        (["safe", "odd", "unsafe"], "open", None, ""),
        (["safe", "safe", "odd", "odd"], "open", None, ""),
        (["safe", "safe", "odd", "x"], "open", None, ""),  # two of four are no majority
    ],
)
def test_who_wins(values: list[str], how: str, value: str | None, by: str) -> None:
    found = safety(*(said(who, v) for who, v in zip("ABCD", values, strict=False)))
    assert (found.how, found.label and found.label.value, "".join(found.by)) == (how, value, by)
    assert found.votes == dict(zip("ABCD", values, strict=False))
    assert (found.reason is None) == (found.at is not None) == (how != "open")


def test_why_it_is_open() -> None:
    assert safety(said("A", "safe"), said("B", "odd")).reason == "they differ: odd 1, safe 1"
    assert safety().reason == "nobody answered"


def test_silence_is_no_vote_and_is_told() -> None:
    found = safety(
        said("A", "odd", standing="skipped"),
        said("B", "odd", standing="draft"),
        said("C", "odd", problems={"safety": "two values"}),
        said("D", None),
        said("E", "safe"),
    )
    assert (found.how, found.by) == ("single", ("E",))
    assert found.silent == {"A": "skipped", "B": "draft", "C": "two values", "D": "no answer"}


def test_a_skipped_item_never_gets_a_label() -> None:
    found = safety(said("A", None, standing="skipped"), of=item(safety="safe"))
    assert (found.how, found.label, found.replaced) == ("open", None, None)


def test_spans_are_those_of_the_winners_and_united() -> None:
    found = safety(
        said("A", "unsafe", (1, 4), (9, 12)),
        said("B", "unsafe", (4, 6), (10, 11)),
        said("C", "safe", (13, 15)),
    )
    assert found.label == Label(value="unsafe", spans={"text": (span(1, 6), span(9, 12))})


def test_a_label_without_pieces_is_open_where_it_needs_some() -> None:
    bare = said("A", "unsafe")
    unusable = said("B", "unsafe", (1, 2), problems={"text": "not in the source"})
    found = safety(bare, unusable, of=item(safety="safe"))
    assert (found.how, found.label, found.replaced, found.by) == ("open", None, None, ())
    assert found.reason == "unsafe, and nothing usable is marked in text"
    helped = safety(bare, unusable, said("C", "unsafe", (2, 3)))
    assert helped.how == "agreed"
    assert helped.label is not None
    assert helped.label.spans == {"text": (span(2, 3),)}


def test_the_second_pass_decides_alone() -> None:
    first = [said("A", "safe"), said("B", "unsafe", (1, 2))]
    ruled = safety(*first, second=[said("X", "unsafe", (5, 7))])
    assert (ruled.how, ruled.by) == ("adjudicated", ("X",))
    assert ruled.label == Label(value="unsafe", spans={"text": (span(5, 7),)})
    assert (ruled.votes, ruled.second) == ({"A": "safe", "B": "unsafe"}, {"X": "unsafe"})

    skipped = safety(*first, second=[said("X", None, standing="skipped")])
    assert (skipped.how, skipped.silent) == ("open", {"X": "skipped"})

    agreed = [said("A", "safe"), said("B", "safe")]
    assert safety(*agreed, second=[said("X", "odd")]).label == Label(value="odd")
    split = safety(*agreed, second=[said("X", "odd"), said("Y", "safe")])
    assert (split.how, split.reason) == ("open", "they differ: odd 1, safe 1")


def test_when_and_what_it_replaced() -> None:
    answers = [
        said("A", "safe", at="2026-01-01T23:30:00+00:00"),
        said("B", "safe", at="2026-01-02T00:15:00+02:00"),  # earlier
        said("C", "odd", at="2026-01-05T00:00:00Z"),  # not behind the label
    ]
    found = safety(*answers, of=item(safety="unsafe"))
    assert found.at == "2026-01-01T23:30:00+00:00"
    assert found.replaced == Label(value="unsafe", spans={"text": (span(0, 1),)})
    assert safety(*answers).replaced is None
    assert safety(*answers, of=item(safety="safe")).replaced == Label(value="safe")


def test_what_goes_to_a_second_pass() -> None:
    def disputed(*answers: Answer, second: Sequence[Answer] = (), **labels: str) -> list[str]:
        return disagreements(decided([item(**labels)], {"f": FORM}, answers, second))

    a, b = said("A", "safe"), said("B", "odd")
    assert disputed(a, b) == ["i"]
    assert disputed(a, b, said("C", "odd")) == ["i"]  # a majority is a dispute, too
    assert disputed(said("A", "unsafe")) == ["i"]  # answered, and open: nothing is marked
    assert disputed(said("A", None, values={"kind": "x"}), said("B", None, values={"kind": "y"}))
    assert not disputed(a, safety="unsafe")  # a result
    assert not disputed()
    assert not disputed(said("A", None, standing="skipped"))
    assert not disputed(a, b, second=[said("X", "odd")])
    assert disputed(a, b, second=[said("X", "odd"), said("Y", "safe")]) == ["i"]


def test_answers_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="A is about no item: other"):
        safety(said("A", "safe", item="other"))
    with pytest.raises(ValueError, match="A has two answers about i"):
        safety(said("A", "safe"), said("A", "odd"))


def spans_of(marks: Sequence[tuple[int, int]]) -> Mapping[str, tuple[Span, ...]]:
    return {"text": tuple(span(min(m), max(m)) for m in marks)}


MARKS = st.lists(
    st.lists(st.integers(0, len(TEXT)), min_size=2, max_size=2, unique=True).map(tuple), max_size=4
)
ANSWERS = st.lists(
    st.tuples(
        st.sampled_from("ABCD"),
        st.sampled_from(["i", "j"]),
        st.sampled_from(["done", "done", "done", "skipped", "draft"]),
        st.dictionaries(st.just("safety"), st.sampled_from(["safe", "unsafe", "odd"])),
        MARKS,
        st.dictionaries(st.sampled_from(["safety", "text"]), st.just("a problem")),
    ),
    unique_by=lambda row: row[:2],
    max_size=8,
).map(
    lambda rows: [
        Answer(
            item=id_, annotator=who, standing=standing, at=f"2026-01-0{1 + ord(who) % 7}T00:00:00Z",
            values=values, spans=spans_of(marks), problems=problems,
        )
        for who, id_, standing, values, marks, problems in rows
    ]
)  # fmt: skip


@settings(max_examples=60)
@given(ANSWERS, ANSWERS, st.randoms(use_true_random=False))
def test_decisions_of_any_answers(
    first: list[Answer], second: list[Answer], order: random.Random
) -> None:
    items = [item("i", safety="unsafe"), item("j", kind="x")]
    found = decided(items, {"f": FORM}, first, second)
    assert [(d.item, d.question) for d in found] == [
        (i, q) for i in ("i", "j") for q in ("safety", "kind")
    ]
    assert [Decision.from_json(json.loads(json.dumps(d.to_json()))) for d in found] == found
    for one in (first, second):
        order.shuffle(one)
    assert decided(items, {"f": FORM}, first, second) == found

    for d in found:
        assert (d.label is None) == (d.how == "open") == (d.reason is not None) == (not d.by)
        deciding = d.second or d.votes
        if d.label is None:
            continue
        assert 2 * sum(v == d.label.value for v in deciding.values()) > len(deciding)
        assert set(d.by) == {who for who, v in deciding.items() if v == d.label.value}
        assert (d.how == "adjudicated") == bool(d.second)
        behind = [
            a for a in (second if d.second else first) if a.item == d.item and a.annotator in d.by
        ]
        marked = {
            k for a in behind if "text" not in a.problems for s in a.spans["text"]
            for k in range(s.start, s.end)
        }  # fmt: skip
        got = d.label.spans.get("text", ())
        assert bool(got) == (d.label.value == "unsafe")
        if got:
            assert {k for s in got for k in range(s.start, s.end)} == marked
            assert all(TEXT[s.start : s.end] == s.text for s in got)
            assert all(a.end < b.start for a, b in itertools.pairwise(got))
