"""Numbers of a set that is being built: what is open, how annotators agree, what they invent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from trace.benchmarks.evidence.freeze import Annotated
from trace.benchmarks.evidence.names import shown
from trace.benchmarks.evidence.triple import COMPONENTS, Triple
from trace.records import Json
from trace.stats.agreement import Votes, agreement, by_pair

NONE = "None"
"""The name of no category and of no attack, in tables."""


def groups(triples: Sequence[Triple]) -> Counter[tuple[str, str, str, str]]:
    """Triples by category, language, attack and respondent."""
    return Counter(
        (t.category or NONE, t.language, t.attack or NONE, t.respondent.name) for t in triples
    )


def counted(triples: Sequence[Triple]) -> dict[str, Json]:
    """Category -> language -> attack -> respondent -> number of triples, for the manifest."""
    found: dict[str, Json] = {}
    for (*place, name), n in sorted(groups(triples).items()):
        at = found
        for group in place:
            at = at.setdefault(group, {})
        at[name] = n
    return found


def queued(annotated: Sequence[Annotated]) -> dict[str, int]:
    """`triples`: how many are open to a human; and `item: reason` -> how many, commonest first."""
    found = Counter(f"{shown(q.item)}: {q.reason}" for one in annotated for q in one.open)
    waiting = sum(bool(one.open) for one in annotated)
    return {"triples": waiting} | dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def failures(annotated: Sequence[Annotated]) -> dict[str, dict[str, int]]:
    """Annotator -> why a component of a triple has no vote of it -> how often."""
    found: dict[str, Counter[str]] = {}
    for one in annotated:
        for name, said in one.decision.votes.items():
            reasons = found.setdefault(name, Counter())
            reasons.update(said[c]["failure"] for c in COMPONENTS if "failure" in said[c])
    return {name: dict(sorted(reasons.items())) for name, reasons in found.items()}


def invented(annotated: Sequence[Annotated]) -> dict[str, dict[str, dict[str, int]]]:
    """Annotator -> component -> how many pieces it quoted, and how many are not in the text."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for one in annotated:
        for name, said in one.decision.votes.items():
            components = found.setdefault(
                name, {component: {"quotes": 0, "invented": 0} for component in COMPONENTS}
            )
            for component in COMPONENTS:
                counts = components[component]
                counts["quotes"] += len(said[component].get("evidence", ()))
                counts["invented"] += one.decision.invented[name].get(component, 0)
    return found


def agreements(
    annotated: Sequence[Annotated], annotators: Sequence[str]
) -> dict[str, dict[str, Json]]:
    """How far annotators agree: item -> `all` or a pair -> percent and kappa.

    Kappa is Fleiss' for all of them together and Cohen's for a pair; both are over the triples on
    which at least two have a vote.
    """
    found: dict[str, dict[str, Json]] = {}
    for item in (*COMPONENTS, "category", "attack"):
        votes: Votes = [[_vote(one, name, item) for name in annotators] for one in annotated]
        rows = {"all": _agreed("fleiss", votes)}
        if len(annotators) > 2:
            pairs = by_pair(votes, annotators)
            rows |= {f"{a}, {b}": _agreed("cohen", pair) for (a, b), pair in pairs.items()}
        found[item] = rows
    return found


def _agreed(kind: str, votes: Votes) -> dict[str, Json]:
    kappa = agreement("cohen" if kind == "cohen" else "fleiss", votes)
    return {"percent": asdict(agreement("percent", votes)), "kappa": asdict(kappa)}


def _vote(one: Annotated, name: str, item: str) -> str | None:
    said: Mapping[str, Json] | None = one.decision.votes[name][item]
    if said is None:
        return None
    if item in COMPONENTS:
        return said.get("safety")
    return str(said["name"] or NONE)
