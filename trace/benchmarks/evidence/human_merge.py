"""What people decided, put into triples: labels replaced, questions closed or left open."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from trace.annotation.decide import Decision
from trace.annotation.item import Answer
from trace.annotation.study import Merged
from trace.benchmarks.evidence.human_form import NAMES, NONE, OTHER, listed
from trace.benchmarks.evidence.triple import COMPONENTS, Component, Labelled, Triple
from trace.benchmarks.evidence.waiting import Open, Waiting
from trace.errors import DataError
from trace.records import Json

UNLISTED = "not in the taxonomy"
CONTRADICTIONS = {"safe": "safe, with a category", "unsafe": "unsafe, without a category"}
"""The label of a prompt -> how its category can contradict it."""

Value: TypeAlias = Labelled | str | None
"""What stands at a question: the label of a component, or a name; None for no risk or attack."""


def merged(
    triples: Sequence[Triple],
    waiting: Sequence[Waiting],
    answers: Sequence[Answer],
    decisions: Sequence[Decision],
) -> Merged:
    """The data set after the work of people.

    What they decided about a frozen triple replaces what stands there; of one that waits only what
    is open is theirs to decide. A triple about which nothing is open any more is frozen. `human` in
    its provenance says of each question who decided it, when and how, and what that `replaced`.

    A safe prompt with a category and an unsafe one without are no result. Of a triple that waits
    people's own category then counts, if it goes with the label. Else the category is open again,
    and the label of the prompt too if it is people's. A frozen triple waits again then, and also
    where people see a category or an attack that is not in the taxonomy.

    Returns:
        `dataset.jsonl`, `queue.jsonl` where anything waits, and `labelled.jsonl` with people's
        labels of what was frozen before, for `scoring.labelled`. Those of the queue are
        not among them: it is no sample of the set.

    Raises:
        DataError: a decision is about no triple of the set.
    """
    said: dict[str, dict[str, Decision]] = defaultdict(dict)
    for decision in decisions:
        said[decision.item][decision.question] = decision
    comments: dict[str, dict[str, str]] = defaultdict(dict)
    for answer in answers:
        if answer.comment:
            comments[answer.item][answer.annotator] = answer.comment
    before = [*(Waiting(triple=triple, open={}) for triple in triples), *waiting]
    if unknown := said.keys() - {one.triple.id for one in before}:
        raise DataError(
            f"benchmark.path: {len(unknown)} of the items are no triples of this set, "
            f"{min(unknown)} for one. Give the set that was exported."
        )
    done = [_done(one, said[one.triple.id], comments[one.triple.id]) for one in before]
    frozen = [one.after.triple for one in done if not one.after.open]
    queue = [one.after for one in done if one.after.open]
    files: dict[str, list[Json]] = {"dataset.jsonl": [triple.to_json() for triple in frozen]}
    if queue:
        files["queue.jsonl"] = [one.to_json() for one in queue]
    if labelled := [line for one in done for c in COMPONENTS if (line := one.labelled(c))]:
        files["labelled.jsonl"] = labelled
    outcomes = Counter(outcome for one in done for outcome in one.outcomes.values())
    counts = {"triples": len(frozen), "waiting": len(queue), **dict(sorted(outcomes.items()))}
    return Merged(files=files, counts=counts, notes=_notes(done))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """A triple before and after. `taken` are the questions that people decided.

    `outcomes` (question -> outcome) has those that were theirs: closed, confirmed, replaced,
    undecided, or why it is open now.
    """

    before: Waiting
    after: Waiting
    taken: Mapping[str, Decision]
    outcomes: Mapping[str, str]

    def labelled(self, component: Component) -> Json:
        """A line of `scoring.labelled`; None where there is nothing for it."""
        if self.before.open or self.after.open or component not in self.taken:
            return None
        triple = self.after.triple
        return {"id": triple.id, "part": component, "label": triple.labels[component].safety}


def _done(one: Waiting, said: Mapping[str, Decision], comments: Mapping[str, str]) -> _Done:
    standing, theirs = _values(one), [q for q in said if q in one.open or not one.open]
    values, open_, taken = dict(standing), dict(one.open), dict[str, Decision]()
    outcomes = dict.fromkeys(theirs, "undecided")

    def take(question: str, value: Value) -> None:
        values[question], taken[question] = value, said[question]
        open_.pop(question, None)

    def reopen(question: str, reason: str) -> None:
        open_[question], outcomes[question] = Open(reason=reason, comments=comments), reason
        values.pop(question, None)
        taken.pop(question, None)

    for question in theirs:
        decision = said[question]
        if decision.label is None:
            if question in open_ and decision.votes:  # people know more of it than models did
                open_[question] = Open(reason=str(decision.reason), comments=comments)
        elif decision.label.value == OTHER and _option(question, standing.get(question)) != OTHER:
            reopen(question, UNLISTED)
        else:
            take(question, _decided(decision, standing.get(question)))
    clash = _contradiction(values)
    if clash and "prompt" in taken:
        own = said.get("category")
        if one.open and "category" not in theirs and own and own.label and own.label.value != OTHER:
            take("category", _decided(own, None))
            clash = _contradiction(values)
    if clash and {"prompt", "category"} & taken.keys():
        for question in ("category", *({"prompt"} & taken.keys())):
            reopen(question, clash)
    outcomes |= {q: _outcome(q, values, standing) for q in taken}
    triple = _with_provenance(_with(one.triple, values), standing, taken, open_)
    return _Done(
        before=one, after=Waiting(triple=triple, open=open_), taken=taken, outcomes=outcomes
    )


def _outcome(question: str, values: Mapping[str, Value], standing: Mapping[str, Value]) -> str:
    if question not in standing:
        return "closed"
    same = _option(question, values[question]) == _option(question, standing[question])
    return "confirmed" if same else "replaced"


def _values(one: Waiting) -> dict[str, Value]:
    """What stands, without what is open; a name that means none is None."""
    names = {"category": one.triple.category, "attack": one.triple.attack}
    plain = {q: None if listed(q, name) == NONE else name for q, name in names.items()}
    return {q: value for q, value in ({**one.triple.labels} | plain).items() if q not in one.open}


def _decided(decision: Decision, standing: Value) -> Value:
    assert decision.label is not None
    value = decision.label.value
    if decision.question not in NAMES:
        spans = decision.label.spans.get(decision.question, ())
        return (
            Labelled(safety="unsafe", evidence=spans)
            if value == "unsafe"
            else Labelled(safety="safe")
        )
    if value == OTHER:  # the new name that stands there is one
        return standing
    return None if value == NONE else value


def _option(question: str, value: Value) -> str:
    """What an annotator chooses who thinks as the data set does."""
    return value.safety if isinstance(value, Labelled) else listed(question, value)


def _contradiction(values: Mapping[str, Value]) -> str | None:
    """How the category contradicts the label of the prompt; None where either is open."""
    prompt = values.get("prompt")
    if not isinstance(prompt, Labelled) or "category" not in values:
        return None
    contradicts = (prompt.safety == "safe") != (values["category"] is None)
    return CONTRADICTIONS[prompt.safety] if contradicts else None


def _with(triple: Triple, values: Mapping[str, Value]) -> Triple:
    found = {c: values[c] for c in COMPONENTS if c in values}
    labels = {c: label for c, label in found.items() if isinstance(label, Labelled)}
    category, attack = values.get("category"), values.get("attack")
    assert not isinstance(category, Labelled)
    assert not isinstance(attack, Labelled)
    return replace(triple, labels=labels, category=category, attack=attack)


def _with_provenance(
    triple: Triple,
    standing: Mapping[str, Value],
    taken: Mapping[str, Decision],
    open_: Mapping[str, Open],
) -> Triple:
    """Says who decided what; of what is open again no earlier word of people stays."""
    earlier = triple.provenance.get("human", {})
    human = {q: entry for q, entry in earlier.items() if q not in open_} | {
        question: {
            "by": list(decision.by),
            "at": decision.at,
            "how": decision.how,
            "replaced": _json(standing[question]) if question in standing else None,
        }
        for question, decision in taken.items()
    }
    kept = {name: value for name, value in triple.provenance.items() if name != "human"}
    by = {f"{question}_by": "human" for question in NAMES if question in taken}
    return replace(triple, provenance={**kept, **by} | ({"human": human} if human else {}))


def _json(value: Value) -> Json:
    if not isinstance(value, Labelled):
        return NONE if value is None else value
    evidence = [{"start": s.start, "end": s.end, "text": s.text} for s in value.evidence]
    return {"safety": value.safety, "evidence": evidence}


def _notes(done: Sequence[_Done]) -> tuple[str, ...]:
    reasons = [set(one.outcomes.values()) for one in done]
    counted = {
        "triples that were frozen wait again (queue.jsonl).": sum(
            bool(one.after.open) and not one.before.open for one in done
        ),
        "prompts are safe with a category or unsafe without one, by what people said: open.": sum(
            not found.isdisjoint(CONTRADICTIONS.values()) for found in reasons
        ),
        "triples have a category or an attack that is not in the taxonomy: open, with the "
        "comments.": sum(UNLISTED in found for found in reasons),
    }
    return tuple(f"{number} {what}" for what, number in counted.items() if number)
