"""Case studies picked by rule: which triples to read, and why these. No texts, only their ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from trace.judging.labels import visible
from trace.records import Json, Verdict
from trace.report.compare.section import Section, missing
from trace.report.entry import number
from trace.report.evidence.guards import COMPONENTS, Guard
from trace.report.grid import Grid
from trace.report.runs import Observation
from trace.stats.token_f1 import token_f1, tokens

NAME, TITLE = "evidence_cases", "Case studies by rule"

Case: TypeAlias = Mapping[str, Observation]
"""Component -> sample, of one triple, or of the only component that a rule is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Cases that are alike: `unsafe` is their gold label, `called_unsafe` the verdict.

    They are `whole` triples, or single components. The one that is shown is the most certain of its
    error, or with `by_evidence` the one whose evidence is worst.
    """

    name: str
    title: str
    unsafe: bool
    called_unsafe: bool
    whole: bool = True
    by_evidence: bool = False

    def fits(self, case: Case, negative: str) -> bool:
        """Whether every sample of a case has the gold label and the verdict of the rule."""
        return all(
            (o.gold != negative) == self.unsafe
            and o.scored
            and (o.verdict.label != negative) == self.called_unsafe
            for o in case.values()
        )


RULES = (
    Rule(name="missed", title="all three unsafe, all called safe", unsafe=True,
         called_unsafe=False),
    Rule(name="right_wrong_evidence", title="all three rightly called unsafe, lowest TokenF1",
         unsafe=True, called_unsafe=True, by_evidence=True),
    Rule(name="over_refusal", title="all three safe, all called unsafe", unsafe=False,
         called_unsafe=True),
    Rule(name="under_refusal", title="one unsafe component called safe", unsafe=True,
         called_unsafe=False, whole=False),
)  # fmt: skip


def cases(guards: Sequence[Guard]) -> dict[str, Json]:
    """For each guard and rule how many cases fit, and the one that is shown.

    It is the one whose mean score is farthest on the wrong side; without scores the one with most
    characters; and for evidence the one with the lowest mean TokenF1. Ties go by id.

    Returns:
        Guard -> rule -> `fitting`, and `case` (triple, prompt_id, respondent, language, category,
        attack, `by`, `value`, and component -> gold, label, score), None with a `reason` if none
        fits; or a `reason`.
    """
    rows = {guard.name: {rule.name: _found(guard, rule) for rule in RULES} for guard in guards}
    return rows or {"reason": "no runs"}


def _found(guard: Guard, rule: Rule) -> dict[str, Json]:
    if rule.whole and (lacking := [c for c in COMPONENTS if c not in guard.runs]):
        return {"fitting": None, "case": None, "reason": f"not run on {', '.join(lacking)}"}
    fitting = [c for c in _cases(guard, rule.whole) if rule.fits(c, guard.run.negative)]
    if rule.by_evidence:
        if not any(_said(o.verdict) for run in guard.runs.values() for o in run.once):
            return {"fitting": len(fitting), "case": None, "reason": "it explains nothing"}
        fitting = [case for case in fitting if all(map(_has_gold, case.values()))]
    if not fitting:
        return {"fitting": 0, "case": None, "reason": "none fits"}
    by, value = _measure(fitting, rule)
    picked = min(fitting, key=lambda case: (value(case), *_id(case)))
    return {"fitting": len(fitting), "case": _shown(picked, by, abs(value(picked)))}


def _cases(guard: Guard, whole: bool) -> list[Case]:
    """The triples that were judged in all components; or each sample by itself."""
    if not whole:
        return [{c: o} for c, run in guard.runs.items() for o in run.once]
    tables = {c: {o.id: o for o in guard.runs[c].once} for c in COMPONENTS}
    shared = set.intersection(*(set(table) for table in tables.values()))
    return [{c: tables[c][triple] for c in COMPONENTS} for triple in sorted(shared)]


def _measure(fitting: Sequence[Case], rule: Rule) -> tuple[str, Callable[[Case], float]]:
    """What decides, and its value: the lowest is picked."""
    if rule.by_evidence:
        return "token_f1", lambda case: _mean([_token_f1(o) for o in case.values()])
    if all(o.verdict.score is not None for case in fitting for o in case.values()):
        sign = -1.0 if rule.called_unsafe else 1.0
        return "score", lambda case: sign * _mean([o.verdict.score or 0.0 for o in case.values()])
    return "chars", lambda case: -float(sum(int(o.sample.get("chars") or 0) for o in case.values()))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _id(case: Case) -> tuple[str, ...]:
    return (next(iter(case.values())).id, *case)


def _said(verdict: Verdict) -> tuple[str, ...]:
    return (*filter(None, [verdict.rationale]), *verdict.evidence)


def _has_gold(o: Observation) -> bool:
    return any(tokens(text, str(o.sample["language"])) for text in o.sample["evidence"])


def _token_f1(o: Observation) -> float:
    said, gold = (map(visible, texts) for texts in (_said(o.verdict), o.sample["evidence"]))
    return token_f1(said, gold, str(o.sample["language"])).f1


def _shown(case: Case, by: str, value: float) -> dict[str, Json]:
    first = next(iter(case.values()))
    facts = ("prompt_id", "respondent", "language", "category", "attack")
    return {
        "triple": first.id,
        **{fact: first.sample[fact] for fact in facts},
        "by": by,
        "value": number(value),
        "components": {
            component: {"gold": o.gold, "label": o.verdict.label, "score": number(o.verdict.score)}
            for component, o in case.items()
        },
    }


def section(guards: Sequence[Guard]) -> Section:
    """A table a rule."""
    found = cases(guards)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=tuple(_grid(rule, found) for rule in RULES),
    )


def _grid(rule: Rule, found: Mapping[str, Json]) -> Grid:
    grid = Grid(
        title=f"{rule.name.replace('_', ' ').capitalize()}: {rule.title}",
        header=["Guard", "Fit", "Triple", "Component", "Respondent", "Category", "Attack", "By"],
    )
    grid.notes[""] = (
        "The one that is shown has the score (P(unsafe), mean over its components) farthest on the "
        "wrong side; without scores the most characters. Its texts: that id in the data set, and "
        "in records.jsonl of the run what the guard said."
    )
    if rule.by_evidence:
        grid.notes[""] = "The one that is shown has the lowest mean TokenF1 over its components."
    for name, rows in found.items():
        row = rows[rule.name]
        fit = "–" if row["fitting"] is None else str(row["fitting"])
        case = row["case"]
        if case is None:
            grid.rows.append([(name,), (fit,), ("–" + grid.mark(row["reason"]),), *[()] * 5])
            continue
        parts = list(case["components"])
        texts = (
            name, fit, case["triple"], "all" if len(parts) > 1 else parts[0], case["respondent"],
            case["category"] or "–", case["attack"] or "–", f"{case['by']} {case['value']:.3g}",
        )  # fmt: skip
        grid.rows.append([(text,) for text in texts])
    return grid
