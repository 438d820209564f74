"""What a build prints: the auditor's verdicts, and how many questions the set has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from trace.benchmarks.rag_safety.builder.auditing import Audited
from trace.report.grid import Grid

_ROLES = {"oracle": "oracle", "on_topic": "on the topic", "random": "random"}
_FOUND = ("answered", "not_answered", "undecided")


def counted(found: Sequence[Audited]) -> dict[str, dict[str, int]]:
    """Role of a document -> answered, not_answered or undecided -> how often."""
    counts = {role: Counter[str]() for role in _ROLES}
    for one in found:
        counts[one.pair.role][one.found.answer or "undecided"] += 1
    return {role: {name: n[name] for name in _FOUND} for role, n in counts.items()}


def audited(found: Sequence[Audited]) -> Grid:
    """The auditor's verdicts by what a document is meant to be; reasons of those left open."""
    grid = Grid(
        title="What the auditor says", header=["Document", "Answers", "Does not", "Undecided"]
    )
    for role, counts in counted(found).items():
        grid.rows.append([(_ROLES[role],), *((f"{counts[name]:,}",) for name in _FOUND)])
    reasons = Counter(one.found.reason for one in found if one.found.reason)
    for reason, n in reasons.most_common():
        grid.rows.append([(f"undecided: {reason}",), ("",), ("",), (f"{n:,}",)])
    return grid


def frozen(full: Mapping[str, int], balanced: Mapping[str, int]) -> Grid:
    """The questions of the set, by subcategory."""
    grid = Grid(title="Frozen", header=["Subcategory", "Full", "Balanced"])
    for name, n in full.items():
        grid.rows.append([(name,), (f"{n:,}",), (f"{balanced.get(name, 0):,}",)])
    total = (sum(full.values()), sum(balanced.values()))
    grid.rows.append([("all",), *((f"{n:,}",) for n in total)])
    return grid
