"""What people decided about each question of each item."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeAlias

from trace.annotation.form import Form
from trace.annotation.item import Answer, Item
from trace.annotation.label import Label, answered_label, benchmark_label, silence
from trace.records import Json, Span, united

How: TypeAlias = Literal["single", "agreed", "majority", "adjudicated", "open"]
"""One person alone; all of several; more than half; the second pass; or not decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What became of one question about one item.

    `label` is None while it is `open`, and `reason` says why. `by` are the pseudonyms behind the
    label, `at` when the last of them answered (ISO 8601). `votes` (pseudonym -> value) are those
    of the first pass, `second` those of the second. `silent` says why somebody with the item has
    no vote in one of them: `skipped`, `draft`, or the problem with the answer. `replaced` is what
    the benchmark said; None where it said nothing, or while the question is open.
    """

    item: str
    question: str
    how: How
    label: Label | None = None
    by: tuple[str, ...] = ()
    at: str | None = None
    reason: str | None = None
    votes: Mapping[str, str] = field(default_factory=dict)
    second: Mapping[str, str] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    replaced: Label | None = None

    def to_json(self) -> dict[str, Json]:
        """One line of decisions.jsonl."""
        return asdict(self)

    @classmethod
    def from_json(cls, line: Json) -> Decision:
        """Reads back what `to_json` wrote."""
        labels = {
            name: line[name] and Label.from_json(line[name]) for name in ("label", "replaced")
        }
        return cls(**(line | labels | {"by": tuple(line["by"])}))


def decided(
    items: Sequence[Item],
    forms: Mapping[str, Form],
    answers: Iterable[Answer],
    second: Iterable[Answer] = (),
) -> list[Decision]:
    """Decides every question about every item, in the order of items and questions.

    The label is that of all who answered, or of more than half of them; else the question stays
    open. Where anybody answered it in the second pass, that pass alone decides, by the same rule.
    Skipped and half-done work and answers with a problem are no votes. Where a label has pieces
    marked, they are the union over those behind it; a passage in which none of them marked
    anything that can be used leaves the question open.

    Args:
        items: what was given out.
        forms: name -> form.
        answers: those of the first pass, one an item and annotator.
        second: those of the adjudicators, likewise.

    Raises:
        ValueError: an answer is about none of the items, or an annotator has two about one.
    """
    known = {item.id for item in items}
    first, later = _by_item(answers, known), _by_item(second, known)
    return [
        _decision(item, forms[item.form], question.name, first[item.id], later[item.id])
        for item in items
        for question in forms[item.form].questions
    ]


def disagreements(decisions: Iterable[Decision]) -> list[str]:
    """The items that need a second pass, in their order.

    Some question of theirs was answered, and has different answers that no second pass settled, or
    is open for another reason. What nobody answered is left alone: skipping is allowed. A label
    that differs from the benchmark's is a result and no dispute.
    """
    disputed = (d.item for d in decisions if d.how != "adjudicated" and _disputed(d))
    return list(dict.fromkeys(disputed))


def _disputed(decision: Decision) -> bool:
    said = {*decision.votes.values(), *decision.second.values()}
    return len(said) > 1 or (bool(said) and decision.how == "open")


def _by_item(answers: Iterable[Answer], known: set[str]) -> Mapping[str, list[Answer]]:
    """The answers about each item, in the order of the pseudonyms."""
    found: dict[tuple[str, str], Answer] = {}
    for answer in answers:
        if answer.item not in known:
            raise ValueError(f"an answer of {answer.annotator} is about no item: {answer.item}")
        if (answer.annotator, answer.item) in found:
            raise ValueError(f"{answer.annotator} has two answers about {answer.item}")
        found[answer.annotator, answer.item] = answer
    grouped: dict[str, list[Answer]] = defaultdict(list)
    for _, answer in sorted(found.items(), key=lambda pair: pair[0]):
        grouped[answer.item].append(answer)
    return grouped


def _decision(
    item: Item, form: Form, question: str, first: list[Answer], second: list[Answer]
) -> Decision:
    votes, ruling = _votes(first, form, question), _votes(second, form, question)
    deciding, people = (ruling, second) if ruling else (votes, first)
    value, reason = _choice([label.value for label in deciding.values()])
    behind = [a for a in people if a.annotator in deciding and deciding[a.annotator].value == value]
    spans: dict[str, tuple[Span, ...]] = {}
    for passage in deciding[behind[0].annotator].spans if behind else ():
        marked = [s for a in behind for s in deciding[a.annotator].spans[passage]]
        spans[passage] = united(marked, item.texts[passage])
        if not marked:
            reason = f"{value}, and nothing usable is marked in {passage}"
    asked = Decision(
        item=item.id,
        question=question,
        how="open",
        reason=reason,
        votes={who: label.value for who, label in votes.items()},
        second={who: label.value for who, label in ruling.items()},
        silent={a.annotator: why for a in (*first, *second) if (why := silence(a, question))},
    )
    if value is None or reason is not None:
        return asked
    return replace(
        asked,
        how="adjudicated" if ruling else _how(asked.votes),
        label=Label(value=value, spans=spans),
        by=tuple(a.annotator for a in behind),
        at=max((a.at for a in behind), key=datetime.fromisoformat),
        replaced=benchmark_label(item, form, question),
    )


def _votes(answers: Iterable[Answer], form: Form, question: str) -> dict[str, Label]:
    labels = {a.annotator: answered_label(a, form, question) for a in answers}
    return {who: label for who, label in labels.items() if label is not None}


def _choice(votes: Sequence[str]) -> tuple[str | None, str | None]:
    """The value of more than half of the votes; or why there is none."""
    counts = Counter(votes).most_common()
    if not counts:
        return None, "nobody answered"
    value, most = counts[0]
    if 2 * most > len(votes):
        return value, None
    return None, "they differ: " + ", ".join(f"{v} {k}" for v, k in sorted(counts))


def _how(votes: Mapping[str, str]) -> How:
    if len(votes) == 1:
        return "single"
    return "agreed" if len(set(votes.values())) == 1 else "majority"
